//! Updates: which old pods are replaced next, and from which template a lost pod is created again.

pub(crate) mod previous_template;
pub(crate) mod rolling_update;
pub(crate) mod update_view;
