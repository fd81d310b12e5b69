//! How many pods of a PodClique, and replicas of a scaling group, have to be there: none of what is idle, whatever its
//! `minAvailable` (AUTO-06).

use grove_api::{PodClique, PodCliqueScalingGroup};

/// Of a PodClique.
pub(super) fn of_clique(pclq: &PodClique) -> i32 {
    match pclq.spec.replicas {
        0 => 0,
        replicas => pclq.spec.min_available.unwrap_or(replicas),
    }
}

/// Of a PodCliqueScalingGroup.
pub(super) fn of_group(pcsg: &PodCliqueScalingGroup) -> i32 {
    match pcsg.spec.replicas {
        0 => 0,
        _ => pcsg.spec.min_available.unwrap_or(1),
    }
}
