//! PodCliqueSets of mixed shapes for any number of pods. Four shapes alternate, each with five replicas:
//!
//! - one clique;
//! - two cliques, one with surplus;
//! - a clique and a scaling group with a scaled replica;
//! - three cliques.
//!
//! About three of four pods request a GPU. The last PodCliqueSets have fewer replicas or a single clique.

use serde_json::{Value, json};

/// Replicas of a PodCliqueSet, so that an operator handles several of its PodGangs at once.
const REPLICAS: u32 = 5;

/// A clique: name, pods, minimum, and whether a pod requests a GPU.
type Clique = (&'static str, u32, u32, bool);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Workers,
    Routed,
    Grouped,
    Wide,
    /// One clique with this many pods, for the pods that fit no other shape.
    Rest(u32),
}

impl Shape {
    const ALTERNATING: [Self; 4] = [Self::Workers, Self::Routed, Self::Grouped, Self::Wide];

    fn cliques(self) -> Vec<Clique> {
        match self {
            Self::Workers => vec![("worker", 8, 8, true)],
            Self::Routed => vec![("router", 2, 2, false), ("worker", 6, 4, true)],
            Self::Grouped => {
                vec![("front", 4, 2, false), ("prefill", 2, 2, true), ("decode", 4, 4, true)]
            }
            Self::Wide => vec![("head", 8, 8, false), ("prefill", 8, 8, true), ("decode", 8, 6, true)],
            Self::Rest(pods) => vec![("worker", pods, pods, true)],
        }
    }

    fn group(self) -> (&'static [&'static str], u32) {
        match self {
            Self::Grouped => (&["prefill", "decode"], 2),
            _ => (&[], 1),
        }
    }

    fn sum(self, number: impl Fn(Clique) -> u32) -> u32 {
        let (members, replicas) = self.group();
        let copies = |clique: Clique| if members.contains(&clique.0) { replicas } else { 1 };
        self.cliques().into_iter().map(|clique| number(clique) * copies(clique)).sum()
    }

    fn pods(self) -> u32 {
        self.sum(|(_, pods, ..)| pods)
    }

    fn gpus(self) -> u32 {
        self.sum(|(_, pods, _, has_gpu)| if has_gpu { pods } else { 0 })
    }

    fn template(self) -> Value {
        let clique = |(name, replicas, min, has_gpu): Clique| {
            let mut container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10"});
            if has_gpu {
                container["resources"] = json!({"limits": {"nvidia.com/gpu": 1}});
            }
            json!({"name": name, "spec": {
                "roleName": name, "replicas": replicas, "minAvailable": min, "podSpec": {"containers": [container]},
            }})
        };
        let cliques: Vec<_> = self.cliques().into_iter().map(clique).collect();
        let mut template = json!({"cliques": cliques});
        let (members, replicas) = self.group();
        if !members.is_empty() {
            template["podCliqueScalingGroups"] =
                json!([{"name": "model", "cliqueNames": members, "replicas": replicas, "minAvailable": 1}]);
        }
        template
    }
}

fn pod_clique_sets(pods: u32) -> Vec<(Shape, u32)> {
    let mut left = pods;
    let mut all = Vec::new();
    let smallest = Shape::ALTERNATING.into_iter().map(Shape::pods).min().unwrap_or(1);
    for shape in Shape::ALTERNATING.into_iter().cycle() {
        if left < smallest {
            break;
        }
        let replicas = (left / shape.pods()).min(REPLICAS);
        if replicas > 0 {
            left -= replicas * shape.pods();
            all.push((shape, replicas));
        }
    }
    if left > 0 {
        all.push((Shape::Rest(left), 1));
    }
    all
}

pub(super) fn gpus(pods: u32) -> u64 {
    let gpus = |(shape, replicas): (Shape, u32)| u64::from(shape.gpus()) * u64::from(replicas);
    pod_clique_sets(pods).into_iter().map(gpus).sum()
}

pub(super) fn manifest(pods: u32) -> String {
    let document = |(number, (shape, replicas)): (usize, (Shape, u32))| {
        let pcs = json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
            "metadata": {"name": format!("s{number}")},
            "spec": {"replicas": replicas, "template": shape.template()},
        });
        grove_yaml::write(&pcs).unwrap_or_default()
    };
    pod_clique_sets(pods).into_iter().enumerate().map(document).collect::<Vec<_>>().join("---\n")
}

pub(super) const GANG: usize = 8;
/// The priority classes of these gangs, without the namespace.
pub(super) const LOW: &str = "low";
pub(super) const HIGH: &str = "high";

/// Returns the number of gangs of each priority class. `pods` is the number of pods of low priority.
pub(super) fn contenders(pods: u32) -> [(&'static str, u32); 2] {
    let low = pods / Shape::Workers.pods();
    [(LOW, low), (HIGH, low.div_ceil(10))]
}

pub(super) fn manifest_of_contenders(pods: u32) -> String {
    let mut documents = Vec::new();
    for (class, gangs) in contenders(pods) {
        let mut left = gangs;
        while left > 0 {
            let replicas = left.min(REPLICAS);
            let mut template = Shape::Workers.template();
            template["priorityClassName"] = class.into();
            let pcs = json!({
                "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
                "metadata": {"name": format!("s{}", documents.len())},
                "spec": {"replicas": replicas, "template": template},
            });
            documents.push(grove_yaml::write(&pcs).unwrap_or_default());
            left -= replicas;
        }
    }
    documents.join("---\n")
}

/// The PodCliqueSet of an object, by the object's name: Grove's names start with that of the PodCliqueSet.
pub(super) fn pcs_of(object: &Value) -> Option<&str> {
    let name = object["metadata"]["name"].as_str()?;
    let pcs = name.split('-').next()?;
    let number = pcs.strip_prefix('s')?;
    (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())).then_some(pcs)
}

#[cfg(test)]
mod tests {
    use conformance_expect::{Gang, gangs};

    use super::*;

    fn documents(pods: u32) -> Vec<Value> {
        grove_yaml::documents(&manifest(pods)).unwrap()
    }

    #[rstest::rstest]
    #[case(1)]
    #[case(7)]
    #[case(61)]
    #[case(300)]
    #[case(10_000)]
    fn the_manifest_has_the_requested_number_of_pods(#[case] pods: u32) {
        let all: Vec<Gang> = documents(pods).iter().flat_map(gangs).collect();
        assert_eq!(all.iter().map(Gang::pods).sum::<usize>(), pods as usize);
    }

    #[test]
    fn a_tenth_as_many_gangs_have_high_priority() {
        let sets = grove_yaml::documents(&manifest_of_contenders(8_000)).unwrap();
        let gangs_of = |class: &str| -> Vec<Gang> {
            let of_class = sets.iter().filter(|pcs| pcs["spec"]["template"]["priorityClassName"] == class);
            of_class.flat_map(gangs).collect()
        };
        assert_eq!((gangs_of(LOW).len(), gangs_of(HIGH).len()), (1_000, 100));
        assert!(gangs_of(HIGH).iter().all(|gang| (gang.pods(), gang.minimum()) == (GANG, GANG)));
    }

    #[test]
    fn ten_thousand_pods_have_surplus_and_scaled_gangs() {
        let sets = documents(10_000);
        let all: Vec<Gang> = sets.iter().flat_map(gangs).collect();
        let surplus = all.iter().filter(|gang| gang.minimum() < gang.pods()).count();
        let scaled = all.iter().filter(|gang| !gang.is_base).count();
        assert_eq!((sets.len(), all.len(), surplus, scaled), (145, 898, 536, 180));
        assert_eq!(gpus(10_000), 7512);
        assert_eq!(sets[144]["metadata"]["name"], "s144");
    }

    #[test]
    fn the_remaining_pods_form_smaller_pod_clique_sets() {
        use Shape::{Grouped, Rest, Routed, Workers};
        assert_eq!(pod_clique_sets(280 + 40 + 17), {
            let mut whole = pod_clique_sets(280);
            whole.extend([(Workers, 5), (Routed, 2), (Rest(1), 1)]);
            whole
        });
        assert_eq!(pod_clique_sets(280)[2], (Grouped, 5));
    }

    #[rstest::rstest]
    #[case("s12-0-worker-x7k2p", Some("s12"))]
    #[case("s3", Some("s3"))]
    #[case("scale-1-x", None)]
    #[case("s-1", None)]
    fn an_object_name_shows_its_pod_clique_set(#[case] name: &str, #[case] pcs: Option<&str>) {
        assert_eq!(pcs_of(&json!({"metadata": {"name": name}})), pcs);
    }
}
