//! Startup order.

pub(crate) mod bound_first;
pub(crate) mod containers_wait;
pub(crate) mod init_rights;
pub(crate) mod updated_in_order;
pub(crate) mod waiting_pods;
