//! How many pods of a PodClique, and replicas of a scaling group, are required: 0 if idle, regardless of
//! `minAvailable` (AUTO-06).

use grove_api::{PodClique, PodCliqueScalingGroup};

pub(crate) fn of_clique(pclq: &PodClique) -> i32 {
    match pclq.spec.replicas {
        0 => 0,
        replicas => pclq.spec.min_available.unwrap_or(replicas),
    }
}

pub(crate) fn of_group(pcsg: &PodCliqueScalingGroup) -> i32 {
    match pcsg.spec.replicas {
        0 => 0,
        _ => pcsg.spec.min_available.unwrap_or(1),
    }
}
