//! PodCliqueSets of mixed shapes for any number of pods.
//!
//! Four shapes alternate, each with five replicas. They are one clique, two cliques (one with surplus), a
//! clique and a scaling group with a scaled replica, and three cliques. Three of four pods request one GPU;
//! the others request none, as routers do. The remaining pods form a PodCliqueSet with fewer replicas, and a
//! gang that is only part of a shape.

use serde_json::{Value, json};

/// Replicas of a PodCliqueSet, so that an operator handles several of its PodGangs at once.
const REPLICAS: u32 = 5;

/// A clique: name, pods, minimum, and whether a pod requests a GPU.
type Clique = (&'static str, u32, u32, bool);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One clique without surplus.
    Workers,
    /// Two cliques, one with surplus.
    Routed,
    /// A clique and a scaling group of two replicas, and therefore one scaled PodGang.
    Grouped,
    Wide,
    /// One clique with this many pods.
    Rest(u32),
}

impl Shape {
    const IN_TURN: [Self; 4] = [Self::Workers, Self::Routed, Self::Grouped, Self::Wide];

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

    fn sum(self, of: impl Fn(Clique) -> u32) -> u32 {
        let (members, replicas) = self.group();
        let times = |clique: Clique| if members.contains(&clique.0) { replicas } else { 1 };
        self.cliques().into_iter().map(|clique| of(clique) * times(clique)).sum()
    }

    fn pods(self) -> u32 {
        self.sum(|(_, pods, ..)| pods)
    }

    fn gpus(self) -> u32 {
        self.sum(|(_, pods, _, asks)| if asks { pods } else { 0 })
    }

    fn template(self) -> Value {
        let clique = |(name, replicas, min, asks): Clique| {
            let mut container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10"});
            if asks {
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

/// Shapes and replicas of PodCliqueSets that have this many pods in total.
fn sets(pods: u32) -> Vec<(Shape, u32)> {
    let mut left = pods;
    let mut sets = Vec::new();
    let least = Shape::IN_TURN.into_iter().map(Shape::pods).min().unwrap_or(1);
    for shape in Shape::IN_TURN.into_iter().cycle() {
        if left < least {
            break;
        }
        let replicas = (left / shape.pods()).min(REPLICAS);
        if replicas > 0 {
            left -= replicas * shape.pods();
            sets.push((shape, replicas));
        }
    }
    if left > 0 {
        sets.push((Shape::Rest(left), 1));
    }
    sets
}

pub(super) fn gpus(pods: u32) -> u64 {
    sets(pods).into_iter().map(|(shape, replicas)| u64::from(shape.gpus()) * u64::from(replicas)).sum()
}

/// PodCliqueSets with this many pods in total, one document each.
pub(super) fn manifest(pods: u32) -> String {
    let document = |(number, (shape, replicas)): (usize, (Shape, u32))| {
        let set = json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
            "metadata": {"name": format!("s{number}")},
            "spec": {"replicas": replicas, "template": shape.template()},
        });
        grove_yaml::write(&set).unwrap_or_default()
    };
    sets(pods).into_iter().enumerate().map(document).collect::<Vec<_>>().join("---\n")
}

/// The PodCliqueSet of an object, according to Grove's names: that of the PodCliqueSet, then a dash and more.
pub(super) fn set_of(object: &Value) -> Option<&str> {
    let name = object["metadata"]["name"].as_str()?;
    let set = name.split('-').next()?;
    let number = set.strip_prefix('s')?;
    (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())).then_some(set)
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
    fn there_are_as_many_pods_as_are_asked_for(#[case] pods: u32) {
        let all: Vec<Gang> = documents(pods).iter().flat_map(gangs).collect();
        assert_eq!(all.iter().map(Gang::pods).sum::<usize>(), pods as usize);
    }

    #[test]
    fn ten_thousand_pods() {
        let sets = documents(10_000);
        let all: Vec<Gang> = sets.iter().flat_map(gangs).collect();
        let surplus = all.iter().filter(|gang| gang.minimum() < gang.pods()).count();
        let scaled = all.iter().filter(|gang| !gang.is_base).count();
        assert_eq!((sets.len(), all.len(), surplus, scaled), (145, 898, 536, 180));
        assert_eq!(gpus(10_000), 7512);
        assert_eq!(sets[144]["metadata"]["name"], "s144");
    }

    #[test]
    fn what_is_left_is_fewer_replicas_and_a_gang_of_its_own() {
        use Shape::{Grouped, Rest, Routed, Workers};
        assert_eq!(sets(280 + 40 + 17), {
            let mut whole = sets(280);
            whole.extend([(Workers, 5), (Routed, 2), (Rest(1), 1)]);
            whole
        });
        assert_eq!(sets(280)[2], (Grouped, 5));
    }

    #[rstest::rstest]
    #[case("s12-0-worker-x7k2p", Some("s12"))]
    #[case("s3", Some("s3"))]
    #[case("scale-1-x", None)]
    #[case("s-1", None)]
    fn whose_an_object_is(#[case] name: &str, #[case] set: Option<&str>) {
        assert_eq!(set_of(&json!({"metadata": {"name": name}})), set);
    }
}
