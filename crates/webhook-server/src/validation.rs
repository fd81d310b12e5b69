//! The result of checking an object: errors that refuse it, and warnings that are returned with the admission.
//!
//! All rules of a program use these two types, so that one rejection can contain the findings of all of them. The
//! webhook turns them into an AdmissionReview.

use std::fmt;

/// The outcome of a check. It admits if there is no error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// Findings that refuse the object, in the order of its fields.
    pub errors: Vec<FieldError>,
    /// Findings that are only reported to the user, as AdmissionReview warnings.
    pub warnings: Vec<String>,
}

impl Validation {
    /// True if nothing refuses the object.
    pub fn admits(&self) -> bool {
        self.errors.is_empty()
    }

    /// Adds the findings of another check after this one's.
    pub fn extend(&mut self, other: Validation) {
        self.errors.extend(other.errors);
        self.warnings.extend(other.warnings);
    }
}

/// One refused field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// JSON path from the object's root, such as `spec.template.cliques[0].spec.replicas`.
    pub path: String,
    /// The class of the fault.
    pub reason: FieldErrorReason,
    /// What is wrong, for a person.
    pub message: String,
}

impl FieldError {
    /// A value that breaks a rule.
    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::Invalid, message)
    }

    /// A value that may not be set, or not be changed.
    pub fn forbidden(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::Forbidden, message)
    }

    /// A value that is missing.
    pub fn required(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::Required, message)
    }

    /// A value that occurs twice where it must be unique.
    pub fn duplicate(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::Duplicate, message)
    }

    /// A value outside its enumeration.
    pub fn not_supported(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldErrorReason::NotSupported, message)
    }

    /// A reference to something that does not exist.
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

/// The classes of field faults, as Kubernetes' `metav1.CauseType` knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorReason {
    /// `FieldValueInvalid`
    Invalid,
    /// `FieldValueForbidden`
    Forbidden,
    /// `FieldValueRequired`
    Required,
    /// `FieldValueDuplicate`
    Duplicate,
    /// `FieldValueNotSupported`
    NotSupported,
    /// `FieldValueNotFound`
    NotFound,
}

impl FieldErrorReason {
    /// The value of `reason` in a `metav1.StatusCause`.
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

    /// How Kubernetes spells the class in a message.
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
