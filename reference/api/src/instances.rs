//! No code calls these functions. They make Rust compile the generic parsers in this crate, which is
//! optimised in every profile. The unoptimised crates above it reuse them.

use k8s_openapi::api::core::v1::Pod;
use kube::core::DynamicObject;
use serde_json::Result;

use crate::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};

macro_rules! parsers {
    ($($name:ident: $kind:ty, $what:literal;)*) => {
        $(
            #[doc = $what]
            pub fn $name(json: &str) -> Result<$kind> {
                serde_json::from_str(json)
            }
        )*
    };
}

parsers! {
    pod: Pod, "A Pod.";
    pod_clique: PodClique, "A PodClique.";
    pod_clique_scaling_group: PodCliqueScalingGroup, "A PodCliqueScalingGroup.";
    pod_clique_set: PodCliqueSet, "A PodCliqueSet.";
    pod_gang: PodGang, "A PodGang.";
    object: DynamicObject, "An object of any kind.";
}
