use std::fmt;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    pub errors: Vec<FieldError>,
    pub warnings: Vec<String>,
}

impl Validation {
    pub fn admits(&self) -> bool {
        self.errors.is_empty()
    }

    pub fn extend(&mut self, other: Validation) {
        self.errors.extend(other.errors);
        self.warnings.extend(other.warnings);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub path: String,
    pub reason: FieldErrorReason,
    pub message: String,
}

impl FieldError {
    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::Invalid, message)
    }

    pub fn forbidden(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::Forbidden, message)
    }

    pub fn required(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::Required, message)
    }

    pub fn duplicate(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::Duplicate, message)
    }

    pub fn not_supported(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::NotSupported, message)
    }

    pub fn not_found(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::NotFound, message)
    }

    fn new(path: impl Into<String>, reason: FieldErrorReason, message: impl Into<String>) -> Self {
        Self { path: path.into(), reason, message: message.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.path, self.reason.as_text(), self.message)
    }
}

/// The `metav1.CauseType` of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorReason {
    Invalid,
    Forbidden,
    Required,
    Duplicate,
    NotSupported,
    NotFound,
}

impl FieldErrorReason {
    pub fn as_cause(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Forbidden => "FieldValueForbidden",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::NotFound => "FieldValueNotFound",
        }
    }

    pub fn as_text(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid value",
            Self::Forbidden => "Forbidden",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::NotFound => "Not found",
        }
    }
}
