//! Updates: which old pods are replaced next, and from which template a lost pod is created again.
//!
//! `rolling_update` selects the pods, and `update_view` reads the state for it from the caches. `reconcile`
//! deletes the pods, and `status` stores the steps.

pub(crate) mod previous_template;
pub(crate) mod rolling_update;
pub(crate) mod update_view;
