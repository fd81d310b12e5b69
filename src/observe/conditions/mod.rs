//! Whether the status of a gang resource follows its gang.

pub(crate) mod claim_after_pods_gone;
pub(crate) mod refusal_after_binding;
