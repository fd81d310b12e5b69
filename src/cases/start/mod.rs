pub(crate) mod bound_first;
pub(crate) mod containers_wait;
pub(crate) mod init_container_dependencies;
pub(crate) mod init_container_permissions;
pub(crate) mod updated_in_order;
