pub(crate) mod admission;
pub(crate) mod network_topology;
pub(crate) mod own_fields;
pub(crate) mod queues;
