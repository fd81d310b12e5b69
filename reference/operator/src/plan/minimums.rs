//! Minimums of PodCliques and scaling groups: 0 while the object is scaled to 0 (AUTO-06).

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
