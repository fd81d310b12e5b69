//! Objects from JSON, as a controller reads them by the thousand: every change of a pod is a whole pod.
//!
//! Generic code is compiled where it is used first. Here that is a crate that is optimised in every profile; a crate that is not
//! takes the instances of the crates below it instead of making its own, and reads a pod in a fraction of the time. Nobody has
//! to call these functions.

use k8s_openapi::api::core::v1::Pod;
use kube::core::DynamicObject;
use serde_json::Result;

use crate::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};

macro_rules! reads {
    ($($name:ident: $kind:ty, $what:literal;)*) => {
        $(
            #[doc = $what]
            ///
            /// # Errors
            /// It is none.
            pub fn $name(json: &str) -> Result<$kind> {
                serde_json::from_str(json)
            }
        )*
    };
}

reads! {
    pod: Pod, "A Pod.";
    pod_clique: PodClique, "A PodClique.";
    pod_clique_scaling_group: PodCliqueScalingGroup, "A PodCliqueScalingGroup.";
    pod_clique_set: PodCliqueSet, "A PodCliqueSet.";
    pod_gang: PodGang, "A PodGang.";
    object: DynamicObject, "An object of any kind.";
}
