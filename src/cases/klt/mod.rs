pub(crate) mod containers_run;
pub(crate) mod controller_rolled;
pub(crate) mod gpus_allocated_once;
pub(crate) mod gpus_unhealthy;
pub(crate) mod image_missing;
pub(crate) mod kubelet_restarted;
pub(crate) mod node_lost;
