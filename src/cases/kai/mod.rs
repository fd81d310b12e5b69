pub(crate) mod admission;
pub(crate) mod managed_fields;
pub(crate) mod no_topology_name;
pub(crate) mod node_pool;
pub(crate) mod pod_group;
pub(crate) mod podgrouper;
pub(crate) mod queues;
pub(crate) mod topology;
