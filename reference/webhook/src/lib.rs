//! Admission webhooks that the controller and the trainer's KAI plugin share.
//!
//! - `review`: the AdmissionReview wire format; `answer`: answers a review, even if a rule fails;
//! - `validation`: errors and warnings in the form of Kubernetes' own validation;
//! - `serve`: the servers, with and without TLS;
//! - [`certificates`]: a certificate from files, or one that the program creates and renews.
//!
//! Each program defines its own rules.

mod answer;
pub mod certificates;
mod review;
mod serve;
mod validation;

pub use answer::{REVIEW_LIMIT, answer};
pub use review::{MalformedReview, Operation, PatchOperation, Request, RequestResource, Response};
pub use serve::{ServerError, serve, serve_tls, shutdown_signal};
pub use validation::{FieldError, FieldErrorReason, Validation};
