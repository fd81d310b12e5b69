//! Admission webhooks of the programs that run in a cluster: what the controller and the trainer's KAI plugin share.
//!
//! - `review`: the AdmissionReview wire format; `answer`: from a body to the answer, whatever the rules do;
//! - `validation`: findings, as one of Kubernetes' own validations would spell them;
//! - `serve`: the servers, with and without TLS;
//! - [`certificates`]: a certificate of files, or one that the program makes and renews itself.
//!
//! Which rules there are is their program's.

mod answer;
pub mod certificates;
mod review;
mod serve;
mod validation;

pub use answer::{REVIEW_LIMIT, answer};
pub use review::{MalformedReview, Operation, PatchOperation, Request, RequestResource, Response};
pub use serve::{ServerError, serve, serve_tls, told, told_to_end};
pub use validation::{FieldError, FieldErrorReason, Validation};
