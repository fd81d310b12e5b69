//! A bound gang that loses pods or its gang resource, or whose minimum changes.

pub(crate) mod all_pods_lost;
pub(crate) mod gang_resource_deleted;
pub(crate) mod gang_resource_recreated;
pub(crate) mod gate_on_replacement;
pub(crate) mod left_below_minimum;
pub(crate) mod lost_pod_replaced;
pub(crate) mod minimum_lowered;
pub(crate) mod minimum_raised;
pub(crate) mod place_of_lost_pod;
