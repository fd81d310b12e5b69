//! The parts of the AdmissionReview wire format (`admission.k8s.io/v1`) that these webhooks need. Objects
//! stay raw JSON, because a defaulting webhook must handle objects that have not been validated.

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause, StatusDetails};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Validation;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub uid: String,
    /// Empty if the API server will generate the name.
    #[serde(default)]
    pub name: String,
    /// Empty for cluster-scoped objects.
    #[serde(default)]
    pub namespace: String,
    #[serde(default)]
    pub resource: RequestResource,
    /// Empty for the object itself.
    #[serde(default)]
    pub sub_resource: String,
    pub operation: Operation,
    /// The object to be stored; null on deletion.
    #[serde(default)]
    pub object: Value,
    /// The stored object; null on creation.
    #[serde(default)]
    pub old_object: Value,
}

#[derive(Debug, Default, Deserialize)]
pub struct RequestResource {
    /// The plural name, as in API paths.
    pub resource: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

#[derive(Debug, thiserror::Error)]
pub enum MalformedReview {
    #[error("not an AdmissionReview: {0}")]
    Json(#[from] serde_json::Error),
    #[error("expected an AdmissionReview of admission.k8s.io/v1, got {kind:?} of {api_version:?}")]
    Type { api_version: String, kind: String },
}

/// One operation of a JSON patch (RFC 6902).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PatchOperation {
    op: &'static str,
    path: String,
    value: Value,
}

impl PatchOperation {
    /// The operation `add` also replaces an existing member.
    pub fn add(path: impl Into<String>, value: Value) -> Self {
        Self { op: "add", path: path.into(), value }
    }
}

impl Request {
    pub fn from_body(body: &[u8]) -> Result<Self, MalformedReview> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Review {
            api_version: String,
            kind: String,
            request: Request,
        }
        let Review { api_version, kind, request } = serde_json::from_slice(body)?;
        if (api_version.as_str(), kind.as_str()) != ("admission.k8s.io/v1", "AdmissionReview") {
            return Err(MalformedReview::Type { api_version, kind });
        }
        Ok(request)
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<ByteString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Response {
    pub fn allowed() -> Self {
        Self { allowed: true, status: None, patch: None, patch_type: None, warnings: Vec::new() }
    }

    pub fn patched(patch: &[PatchOperation]) -> Self {
        if patch.is_empty() {
            return Self::allowed();
        }
        match serde_json::to_vec(patch) {
            Ok(bytes) => {
                Self { patch: Some(ByteString(bytes)), patch_type: Some("JSONPatch"), ..Self::allowed() }
            }
            Err(error) => Self::failed(format!("cannot write the patch: {error}")),
        }
    }

    #[must_use]
    pub fn warning(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// An error becomes a 422 `Invalid` with a cause per field.
    pub fn from_findings(group: &str, kind: &str, name: &str, findings: Validation) -> Self {
        if findings.admits() {
            return Self { warnings: findings.warnings, ..Self::allowed() };
        }
        let causes = findings.errors.iter().map(|error| StatusCause {
            field: Some(error.path.clone()),
            message: Some(format!("{}: {}", error.reason.as_text(), error.message)),
            reason: Some(error.reason.as_cause().to_owned()),
        });
        let details = StatusDetails {
            causes: Some(causes.collect()),
            group: Some(group.into()),
            kind: Some(kind.into()),
            name: Some(name.into()),
            ..StatusDetails::default()
        };
        let mut texts: Vec<_> = findings.errors.iter().map(ToString::to_string).collect();
        texts.dedup();
        let message =
            if let [text] = texts.as_slice() { text.clone() } else { format!("[{}]", texts.join(", ")) };
        let denied = Self::denied(422, "Invalid", message, Some(details));
        Self { warnings: findings.warnings, ..denied }
    }

    pub fn unreadable(error: &serde_json::Error) -> Self {
        Self::denied(400, "BadRequest", format!("cannot read the object: {error}"), None)
    }

    pub fn failed(message: String) -> Self {
        Self::denied(500, "InternalError", message, None)
    }

    fn denied(code: i32, reason: &str, message: String, details: Option<StatusDetails>) -> Self {
        let status = Status {
            code: Some(code),
            reason: Some(reason.into()),
            status: Some("Failure".into()),
            message: Some(message),
            details,
            ..Status::default()
        };
        Self { allowed: false, status: Some(status), ..Self::allowed() }
    }

    pub fn refusal(&self) -> Option<&str> {
        self.status.as_ref().and_then(|status| status.message.as_deref())
    }

    pub fn into_review(self, uid: &str) -> Value {
        let mut response = json!(self);
        response["uid"] = json!(uid);
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FieldError;

    fn refused(errors: Vec<FieldError>) -> Value {
        let findings = Validation { errors, warnings: vec!["a warning".into()] };
        Response::from_findings("grove.io", "PodCliqueSet", "demo", findings).into_review("u1")
    }

    #[test]
    fn a_refusal_is_a_status_with_a_cause_per_field() {
        let errors = vec![
            FieldError::invalid("spec.replicas", "-1: too few"),
            FieldError::required("spec.x", "needed"),
        ];
        insta::assert_snapshot!(serde_json::to_string_pretty(&refused(errors)).unwrap(), @r#"
        {
          "apiVersion": "admission.k8s.io/v1",
          "kind": "AdmissionReview",
          "response": {
            "allowed": false,
            "status": {
              "apiVersion": "v1",
              "code": 422,
              "details": {
                "causes": [
                  {
                    "field": "spec.replicas",
                    "message": "Invalid value: -1: too few",
                    "reason": "FieldValueInvalid"
                  },
                  {
                    "field": "spec.x",
                    "message": "Required value: needed",
                    "reason": "FieldValueRequired"
                  }
                ],
                "group": "grove.io",
                "kind": "PodCliqueSet",
                "name": "demo"
              },
              "kind": "Status",
              "message": "[spec.replicas: Invalid value: -1: too few, spec.x: Required value: needed]",
              "metadata": {},
              "reason": "Invalid",
              "status": "Failure"
            },
            "uid": "u1",
            "warnings": [
              "a warning"
            ]
          }
        }
        "#);
    }

    #[test]
    fn a_repeated_finding_is_reported_once() {
        let error = FieldError::forbidden("metadata.name", "no");
        let review = refused(vec![error.clone(), error]);
        assert_eq!(review["response"]["status"]["message"], "metadata.name: Forbidden: no");
    }

    fn body(api_version: &str, kind: &str, request: Value) -> String {
        json!({ "apiVersion": api_version, "kind": kind, "request": request }).to_string()
    }

    #[rstest::rstest]
    #[case::not_json("{".into())]
    #[case::empty(String::new())]
    #[case::no_request(body("admission.k8s.io/v1", "AdmissionReview", Value::Null))]
    #[case::old_version(body("admission.k8s.io/v1beta1", "AdmissionReview", request()))]
    #[case::other_kind(body("admission.k8s.io/v1", "Pod", request()))]
    #[case::no_uid(body("admission.k8s.io/v1", "AdmissionReview", json!({ "operation": "CREATE" })))]
    #[case::bad_operation(body("admission.k8s.io/v1", "AdmissionReview", json!({ "uid": "u", "operation": 1 })))]
    fn a_malformed_review_is_an_error(#[case] body: String) {
        assert!(Request::from_body(body.as_bytes()).is_err());
    }

    fn request() -> Value {
        json!({ "uid": "u", "operation": "CREATE" })
    }

    #[test]
    fn a_review_is_parsed() {
        let request =
            Request::from_body(body("admission.k8s.io/v1", "AdmissionReview", request()).as_bytes()).unwrap();
        assert_eq!((request.uid.as_str(), request.operation), ("u", Operation::Create));
    }

    #[test]
    fn an_empty_patch_is_omitted() {
        assert_eq!(
            Response::patched(&[]).into_review("u1")["response"],
            json!({ "uid": "u1", "allowed": true })
        );
    }
}
