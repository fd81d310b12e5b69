//! Pairs for `dev feasibility`: nodes with room for exactly the pods of a manifest, or for all but one.
//!
//! The result does not depend on the order in which a scheduler places the pods. Pods that differ need
//! different scarce resources, so any placement of some of them leaves the same room for the others.
//!
//! - `draw`: one function for each kind of pair. `pods`: resources and containers. `nodes`: nodes with room
//!   for a number of pods. `rules`: selectors, affinity and tolerations.

#[cfg(test)]
mod brute_force;
mod draw;
mod nodes;
mod pods;
mod rules;

use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

use self::draw::Drawn;

pub const NAME: &str = "w";

macro_rules! shapes {
    ($($shape:ident = $name:literal,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Shape {
            $($shape,)+
        }

        impl Shape {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$shape),+];
        }

        impl fmt::Display for Shape {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$shape => $name,)+ })
            }
        }
    };
}

shapes! {
    Gpus = "GPUs",
    Cpu = "CPU",
    Memory = "memory",
    ExtendedResource = "an extended resource",
    SeveralResources = "several resources",
    PodsPerNode = "pods per node",
    NodeSelector = "nodeSelector",
    NodeAffinity = "required node affinity",
    Taints = "taints",
    InitContainers = "init containers",
    Sidecars = "sidecars",
    Block = "one block",
    Rack = "one rack",
    Host = "one host",
    Cliques = "several cliques",
    ScalingGroups = "scaling groups",
    Priorities = "a priority class",
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub shape: Shape,
    /// Whether the pair was drawn so that all pods fit.
    pub fits: bool,
    pub manifest: String,
    pub nodes: String,
}

/// Returns the pair with this number, which is always the same for one version of this suite. Two pairs of
/// each shape follow each other: one that fits, and one that does not.
pub fn pair(seed: u32, number: u32) -> Pair {
    let shape = Shape::ALL[number as usize / 2 % Shape::ALL.len()];
    let fits = number.is_multiple_of(2);
    let mut rng = Rng::with_seed((u64::from(seed) << 32) | u64::from(number));
    let Drawn { template, replicas, mut nodes } = draw::draw(&mut rng, shape, fits);
    rng.shuffle(&mut nodes);
    let set = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": NAME},
        "spec": {"replicas": replicas, "template": template},
    });
    let text = |object: &Value| grove_yaml::write(object).unwrap_or_default();
    let nodes: Vec<_> = nodes.iter().enumerate().map(|(index, node)| text(&node.object(index))).collect();
    Pair { shape, fits, manifest: text(&set), nodes: nodes.join("---\n") }
}
