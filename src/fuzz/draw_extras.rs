//! Creates workloads with features of user manifests: sidecars, priorities, claims, queues, labels, names
//! that almost collide, and nodes of several sizes. They have their own range of seeds, so the workloads of
//! other seeds do not change. Any placement leaves room for the other pods, so the result can be calculated.

use std::ops::Range;

use conformance_contract::names::GPU;
use conformance_history::{list, text};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::draw::{clique, one_in, small_pcs, with_operations};
use crate::nodes::{ACCELERATOR, FABRIC};
use crate::surroundings::{QUEUES, Surroundings};
use crate::workload::{GeneratedWorkload, cliques_mut, one_rack};

/// Consecutive seeds get consecutive extras, and each other extra with a probability of a quarter.
pub(crate) const SEEDS: Range<u64> = 2_000_000..3_000_000;

const IMAGE: &str = "registry.k8s.io/pause:3.10";
/// Priority classes that exist in every cluster. The class of a clique differs from that of its PodCliqueSet.
const CLASS: &str = "system-cluster-critical";
const CLASS_OF_CLIQUE: &str = "system-node-critical";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extra {
    Accelerators,
    /// Pods mount a PersistentVolumeClaim of the manifest, an ephemeral claim and a ConfigMap.
    Claims,
    Rack,
    NodeSizes,
    /// Restartable init containers request a GPU.
    Sidecars,
    /// Cliques and groups have names that are similar to those of other objects.
    SimilarNames,
    /// Another PodCliqueSet in the namespace has a name that is similar to that of an object.
    Neighbor,
    /// Two cliques lead to PodCliques of the same name, so admission refuses the PodCliqueSet.
    SameNames,
    /// A name has a dot, so admission refuses the PodCliqueSet.
    Dot,
    /// The PodCliqueSet has a system class. Some targets refuse this.
    Priority,
    /// A clique has another priority class than its PodCliqueSet. Some targets refuse this.
    PriorityOfClique,
    /// Labels that Grove overwrites, and others that it keeps.
    Labels,
    Queue,
}

impl Extra {
    pub(crate) const ALL: [Self; 13] = [
        Self::Accelerators,
        Self::Claims,
        Self::Rack,
        Self::NodeSizes,
        Self::Sidecars,
        Self::SimilarNames,
        Self::Neighbor,
        Self::SameNames,
        Self::Dot,
        Self::Priority,
        Self::PriorityOfClique,
        Self::Labels,
        Self::Queue,
    ];

    fn is_refused(self) -> bool {
        matches!(self, Self::SameNames | Self::Dot)
    }

    /// Adds the extra. Returns false if the PodCliqueSet lacks the parts for it.
    fn add(self, rng: &mut Rng, pcs: &mut Value, surroundings: &mut Surroundings) -> bool {
        match self {
            Self::Accelerators => some_pods(rng, pcs, |pod| {
                pod["containers"][0]["resources"]["limits"][FABRIC] = 1.into();
                pod["nodeSelector"] = json!({(ACCELERATOR.0): ACCELERATOR.1});
            }),
            Self::Claims => claims(rng, pcs, surroundings),
            Self::Rack => {
                let template = &mut pcs["spec"]["template"];
                let parts = ["cliques", "podCliqueScalingGroups"].map(|key| list(&template[key]));
                // Add no second constraint, because not every target declares those of cliques and groups.
                if parts.concat().iter().any(|part| part["topologyConstraint"].is_object()) {
                    return false;
                }
                template["topologyConstraint"] = one_rack();
            }
            Self::NodeSizes => {
                let mut sizes = vec![8, 4, 1];
                rng.shuffle(&mut sizes);
                sizes.truncate(rng.usize(2..=3));
                surroundings.node_sizes = sizes;
            }
            Self::Sidecars => some_pods(rng, pcs, |pod| {
                let resources = json!({"limits": {(GPU): 1}});
                pod["initContainers"] = json!([
                    {"name": "proxy", "image": IMAGE, "restartPolicy": "Always", "resources": resources},
                ]);
            }),
            Self::SimilarNames => return similar_names(rng, pcs),
            Self::Neighbor => {
                let name = format!("{}-{}", text(&pcs["metadata"]["name"]), rng.u32(0..=1));
                let template = json!({"cliques": [clique(rng, "a")]});
                surroundings.neighbors.push(json!({
                    "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": name},
                    "spec": {"replicas": 1, "template": template},
                }));
            }
            Self::SameNames => {
                let Some((group, member, standalone)) = parts(pcs) else { return false };
                rename_clique(pcs, &standalone, &format!("{group}-{}-{member}", rng.u32(0..=5)));
            }
            Self::Dot => {
                let first = text(&pcs["spec"]["template"]["cliques"][0]["name"]).to_owned();
                rename_clique(pcs, &first, &format!("{first}.b"));
            }
            Self::Priority => pcs["spec"]["template"]["priorityClassName"] = CLASS.into(),
            Self::PriorityOfClique => {
                some_pods(rng, pcs, |pod| pod["priorityClassName"] = CLASS_OF_CLIQUE.into());
            }
            Self::Labels => {
                pcs["metadata"]["labels"]["app.kubernetes.io/name"] = "mine".into();
                for clique in cliques_mut(pcs) {
                    clique["labels"] = json!({
                        "app.kubernetes.io/name": "mine", "app.kubernetes.io/component": "server",
                        "app.kubernetes.io/part-of": "platform", "app.kubernetes.io/version": "1",
                    });
                }
            }
            Self::Queue => {
                for (_, place, key) in QUEUES {
                    pcs["metadata"][place][key] = "team".into();
                }
            }
        }
        true
    }
}

pub(crate) fn workload(seed: u64) -> GeneratedWorkload {
    let number = seed - SEEDS.start;
    let first = Extra::ALL[usize::try_from(number).unwrap_or_default() % Extra::ALL.len()];
    let mut rng = Rng::with_seed(seed);
    loop {
        let mut pcs = small_pcs(&mut rng, &format!("f{number}"));
        let mut surroundings = Surroundings::default();
        if !first.add(&mut rng, &mut pcs, &mut surroundings) {
            continue;
        }
        if first.is_refused() {
            return GeneratedWorkload { pcs, begins_short: false, operations: Vec::new(), surroundings };
        }
        let mut has_several_priorities = first == Extra::PriorityOfClique;
        for extra in Extra::ALL {
            if extra != first && !extra.is_refused() && one_in(&mut rng, 4) {
                extra.add(&mut rng, &mut pcs, &mut surroundings);
                has_several_priorities |= extra == Extra::PriorityOfClique;
            }
        }
        let drawn = with_operations(&mut rng, pcs);
        // While capacity is short, a scheduler may evict pods of one clique for pods of another.
        let begins_short = drawn.begins_short && !has_several_priorities;
        return GeneratedWorkload { begins_short, surroundings, ..drawn };
    }
}

fn some_pods(rng: &mut Rng, pcs: &mut Value, change: impl Fn(&mut Value)) {
    let count = if rng.bool() { 1 } else { usize::MAX };
    for clique in cliques_mut(pcs).take(count) {
        change(&mut clique["spec"]["podSpec"]);
    }
}

fn claims(rng: &mut Rng, pcs: &mut Value, surroundings: &mut Surroundings) {
    let set = text(&pcs["metadata"]["name"]).to_owned();
    let (data, settings) = (format!("{set}-data"), format!("{set}-settings"));
    let storage = json!({"requests": {"storage": "1Gi"}});
    let claim = json!({"accessModes": ["ReadWriteMany"], "storageClassName": "", "resources": storage});
    let of_pod = json!({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}});
    let shared = json!({"name": "data", "persistentVolumeClaim": {"claimName": data}});
    let config = json!({"name": "settings", "configMap": {"name": settings}});
    some_pods(rng, pcs, |pod| pod["volumes"] = json!([of_pod, shared, config]));
    let companion =
        |kind: &str, name: String| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
    let mut claim_of_all = companion("PersistentVolumeClaim", data);
    claim_of_all["spec"] = claim;
    surroundings.companions.extend([claim_of_all, companion("ConfigMap", settings)]);
}

/// The first scaling group, its first member, and the first standalone clique.
fn parts(pcs: &Value) -> Option<(String, String, String)> {
    let template = &pcs["spec"]["template"];
    let groups = list(&template["podCliqueScalingGroups"]);
    let is_member = |name: &Value| groups.iter().any(|group| list(&group["cliqueNames"]).contains(name));
    let mut names = list(&template["cliques"]).iter().map(|clique| &clique["name"]);
    let standalone = names.find(|&name| !is_member(name))?;
    let group = groups.first()?;
    let [group, member] =
        [&group["name"], list(&group["cliqueNames"]).first()?].map(|name| text(name).to_owned());
    Some((group, member, text(standalone).to_owned()))
}

/// Names the first group `w` and a second group `w-w`. A standalone clique gets the name of the group, or a
/// name that is similar to a member or a replica of the group.
fn similar_names(rng: &mut Rng, pcs: &mut Value) -> bool {
    let Some((_, member, standalone)) = parts(pcs) else { return false };
    let groups = pcs["spec"]["template"].get_mut("podCliqueScalingGroups").and_then(Value::as_array_mut);
    for (group, name) in groups.into_iter().flatten().zip(["w", "w-w"]) {
        group["name"] = name.into();
    }
    let names = [
        "w",
        "w-0",
        "w-1",
        &format!("w-{member}"),
        &format!("w-00-{member}"),
        &format!("w-0-{member}-{member}"),
    ];
    let name = names[rng.usize(0..names.len())].to_owned();
    rename_clique(pcs, &standalone, &name);
    true
}

fn rename_clique(pcs: &mut Value, old: &str, new: &str) {
    for clique in cliques_mut(pcs).filter(|clique| clique["name"] == old) {
        clique["name"] = new.into();
        clique["spec"]["roleName"] = new.into();
    }
    let groups = pcs["spec"]["template"].get_mut("podCliqueScalingGroups").and_then(Value::as_array_mut);
    for name in groups.into_iter().flatten().filter_map(|group| group["cliqueNames"].as_array_mut()).flatten()
    {
        if *name == old {
            *name = new.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conformance_expect::refusals::{Refusal, has_several_priorities, refused_name};

    use super::*;
    use crate::surroundings::has_volumes;

    fn extras(workload: &GeneratedWorkload) -> BTreeSet<Extra> {
        let template = &workload.pcs["spec"]["template"];
        let has =
            |pointer: &str| list(&template["cliques"]).iter().any(|clique| clique.pointer(pointer).is_some());
        let names = || list(&template["cliques"]).iter().map(|clique| text(&clique["name"]));
        let refused = refused_name(&workload.pcs);
        let all = [
            (Extra::Accelerators, has("/spec/podSpec/nodeSelector/accelerator")),
            (Extra::Claims, has_volumes(&workload.pcs) && workload.surroundings.companions.len() == 2),
            (Extra::Rack, template["topologyConstraint"].is_object()),
            (Extra::NodeSizes, workload.surroundings.node_sizes.len() > 1),
            (Extra::Sidecars, has("/spec/podSpec/initContainers/0/resources/limits/nvidia.com~1gpu")),
            (
                Extra::SimilarNames,
                refused.is_none() && names().any(|name| name == "w" || name.starts_with("w-")),
            ),
            (Extra::Neighbor, !workload.surroundings.neighbors.is_empty()),
            (Extra::SameNames, matches!(refused, Some(Refusal::SameName(_)))),
            (Extra::Dot, matches!(refused, Some(Refusal::Dot(_)))),
            (Extra::Priority, template["priorityClassName"] == CLASS),
            (Extra::PriorityOfClique, has_several_priorities(&workload.pcs)),
            (Extra::Labels, has("/labels/app.kubernetes.io~1component")),
            (Extra::Queue, workload.pcs["metadata"]["labels"]["kai.scheduler/queue"] == "team"),
        ];
        all.into_iter().filter(|(_, is_drawn)| *is_drawn).map(|(extra, _)| extra).collect()
    }

    #[test]
    fn consecutive_seeds_draw_each_extra_also_together_with_others() {
        for (seed, number) in SEEDS.zip(0..13 * 20) {
            let wanted = Extra::ALL[number % Extra::ALL.len()];
            let found = extras(&GeneratedWorkload::of_seed(seed));
            assert!(found.contains(&wanted), "{seed}: {wanted:?} is not in {found:?}");
            let is_alone = found.iter().all(|extra| [wanted, Extra::Rack].contains(extra));
            assert!(!wanted.is_refused() || is_alone, "{seed}: {found:?}");
        }
        let together = SEEDS.take(260).map(workload).filter(|workload| extras(workload).len() > 2);
        assert!(together.count() > 50);
    }

    #[test]
    fn a_workload_with_several_priorities_has_room_from_the_start() {
        let workloads = SEEDS.take(300).map(workload);
        let several: Vec<_> = workloads.filter(|workload| has_several_priorities(&workload.pcs)).collect();
        assert!(several.len() > 20 && several.iter().all(|workload| !workload.begins_short));
    }
}
