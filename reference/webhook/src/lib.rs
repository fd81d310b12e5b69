mod answer;
pub mod certificates;
mod review;
mod serve;
mod validation;

pub use answer::{REVIEW_LIMIT, answer};
pub use review::{MalformedReview, Operation, PatchOperation, Request, RequestResource, Response};
pub use serve::{ServerError, serve, serve_tls, shutdown_signal};
pub use validation::{FieldError, FieldErrorReason, Validation};
