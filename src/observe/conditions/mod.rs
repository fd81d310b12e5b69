//! Whether the status of a gang resource follows its gang.

pub(crate) mod claim_after_pods_gone;
pub(crate) mod refusal_after_binding;
pub(crate) mod refusal_for_surplus_pod;
