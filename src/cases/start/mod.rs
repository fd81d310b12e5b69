//! Startup order.

pub(crate) mod bound_first;
pub(crate) mod init_rights;
pub(crate) mod waiting_pods;
