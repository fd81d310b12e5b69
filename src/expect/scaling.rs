//! Applies every `scaled` mark of a history to the manifest. Cliques and scaling groups that are scaled to 0
//! are in no PodGang (AUTO-06). A recreated object takes the replicas of the template.

use std::collections::BTreeMap;

use conformance_history::{History, SharedMark, What, text};
use serde_json::{Value, json};

use crate::Gang;
use crate::resolver::resolved_in;

/// The PodGangs that a PodCliqueSet should have after the first `until` entries, with their final names.
pub fn gangs(history: &History, pcs: &Value, until: usize) -> Vec<Gang> {
    let mut sizes = Sizes::of(pcs);
    for entry in history.entries.iter().take(until) {
        let What::Mark(mark) = &entry.what else { continue };
        let (kind, name) = (text(&mark.detail["kind"]), text(&mark.detail["name"]));
        if mark.name == SharedMark::Scaled.as_str() {
            sizes.scale(kind, name, mark.detail["replicas"].as_u64().unwrap_or(0));
        } else if mark.name == SharedMark::Submitted.as_str() && name == sizes.set {
            sizes = Sizes::of(pcs);
        }
    }
    resolved_in(history, sizes.gangs())
}

#[derive(Debug, Clone)]
pub struct Sizes<'a> {
    pcs: &'a Value,
    set: &'a str,
    pub replicas: u64,
    own: OwnReplicas,
}

/// Replicas that were set directly. A PodClique and a scaling group may share a name, hence two maps.
#[derive(Debug, Clone, Default)]
struct OwnReplicas {
    cliques: BTreeMap<String, u64>,
    groups: BTreeMap<String, u64>,
}

impl<'a> Sizes<'a> {
    pub fn of(pcs: &'a Value) -> Self {
        let replicas = pcs["spec"]["replicas"].as_u64().unwrap_or(0);
        Self { pcs, set: text(&pcs["metadata"]["name"]), replicas, own: OwnReplicas::default() }
    }

    pub fn scale(&mut self, kind: &str, name: &str, to: u64) {
        let OwnReplicas { cliques, groups } = &mut self.own;
        match kind {
            "PodCliqueSet" if name == self.set => {
                self.replicas = to;
                for own in [cliques, groups] {
                    own.retain(|name, _| index_in(self.set, name).is_some_and(|index| index < to));
                }
            }
            "PodCliqueSet" => {}
            "PodCliqueScalingGroup" => drop(groups.insert(name.to_owned(), to)),
            _ => drop(cliques.insert(name.to_owned(), to)),
        }
    }

    pub fn gangs(&self) -> Vec<Gang> {
        (0..self.replicas).flat_map(|index| replica(self.pcs, self.set, index, &self.own)).collect()
    }
}

/// Returns the PodGangs that should exist at the start of the history but not at the end.
pub fn removed_gangs(history: &History, set: &str) -> Vec<Gang> {
    let Some(pcs) = history.header.submitted.get(set) else { return Vec::new() };
    let left = gangs(history, pcs, history.entries.len());
    let mut removed = gangs(history, pcs, 0);
    removed.retain(|gang| !left.iter().any(|other| other.is_same(gang)));
    removed
}

fn replica(pcs: &Value, set: &str, index: u64, own: &OwnReplicas) -> Vec<Gang> {
    let base = format!("{set}-{index}");
    let size = |own: &BTreeMap<String, u64>, template: &Value| {
        own.get(&format!("{base}-{}", text(&template["name"]))).copied()
    };
    let mut pcs = pcs.clone();
    pcs["spec"]["replicas"] = json!(index + 1);
    for clique in pcs["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
        if let Some(size) = size(&own.cliques, clique) {
            let spec = &mut clique["spec"];
            if spec["minAvailable"].is_null() {
                // The minimum stays as it was at creation (GANG-02).
                spec["minAvailable"] = json!(spec["replicas"].as_u64().unwrap_or(1).max(1));
            }
            spec["replicas"] = json!(size);
        }
    }
    for group in pcs["spec"]["template"]["podCliqueScalingGroups"].as_array_mut().into_iter().flatten() {
        if let Some(size) = size(&own.groups, group) {
            group["replicas"] = json!(size);
        }
    }
    let mut gangs = crate::gangs(&pcs);
    gangs.retain(|gang| gang.replica as u64 == index);
    for gang in &mut gangs {
        gang.remove_idle(|group| own.cliques.get(&group.clique) == Some(&0));
    }
    gangs
}

/// Returns the replica index of an object named `<set>-<index>-…`.
pub fn index_in(set: &str, name: &str) -> Option<u64> {
    let index = name.strip_prefix(set)?.strip_prefix('-')?.split('-').next()?;
    index.parse().ok().filter(|_| is_index(index))
}

/// Whether this part of a name can be a replica's index. `00` cannot: a clique may be called `<group>-00-a`.
pub fn is_index(part: &str) -> bool {
    part.parse::<u64>().is_ok_and(|index| index.to_string() == part)
}

/// Returns the template name of an object named `<set>-<index>-<name>`, or `""` for any other object.
pub fn template_name<'a>(set: &str, name: &'a str) -> &'a str {
    let of_replica = name.strip_prefix(set).and_then(|rest| rest.strip_prefix('-'));
    of_replica.and_then(|rest| rest.split_once('-')).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_history::testing::Story;

    #[rstest::rstest]
    #[case("g-0-w", "w")]
    #[case("g-12-w-w", "w-w")]
    #[case("other-0-w", "")]
    fn a_group_is_not_taken_for_one_with_a_similar_name(#[case] full: &str, #[case] name: &str) {
        assert_eq!(template_name("g", full), name);
    }

    #[test]
    fn a_group_and_a_clique_of_one_name_are_scaled_separately() {
        let pcs = json!({"metadata": {"name": "s"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "w", "spec": {"replicas": 1}}, {"name": "m", "spec": {"replicas": 1}}],
            "podCliqueScalingGroups": [{"name": "w", "replicas": 1, "cliqueNames": ["m"]}],
        }}});
        let pods_after = |kind: &str| {
            let mut sizes = Sizes::of(&pcs);
            sizes.scale(kind, "s-0-w", 3);
            sizes.gangs().iter().map(|gang| (gang.is_base, gang.pods())).collect::<Vec<_>>()
        };
        assert_eq!(pods_after("PodClique"), [(true, 4)]);
        assert_eq!(pods_after("PodCliqueScalingGroup"), [(true, 2), (false, 1), (false, 1)]);
    }

    #[rstest::rstest]
    #[case("w-12-a", Some(12))]
    #[case("w-07-a", None)]
    #[case("w-x-a", None)]
    #[case("w2-0-a", None)]
    #[case("v-0-a", None)]
    fn the_index_of_a_replica_follows_the_name_of_its_set(#[case] name: &str, #[case] index: Option<u64>) {
        assert_eq!(index_in("w", name), index);
    }

    fn workload() -> Value {
        json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 2}}, {"name": "b", "spec": {"replicas": 1}}],
            "podCliqueScalingGroups": [{"name": "sg", "cliqueNames": ["b"]}],
        }}})
    }

    fn after(scales: &[(&str, &str, u64)]) -> Vec<(usize, usize, usize)> {
        let story = scales.iter().fold(Story::flat(), |story, (kind, name, replicas)| {
            story.mark(SharedMark::Scaled, json!({"kind": kind, "name": name, "replicas": replicas}))
        });
        let gangs = gangs(&story.end(), &workload(), usize::MAX);
        gangs.into_iter().map(|gang| (gang.replica, gang.minimum(), gang.pods())).collect()
    }

    #[test]
    fn scaling_a_clique_does_not_change_its_minimum() {
        assert_eq!(after(&[("PodClique", "w-0-a", 5)]), [(0, 3, 6)]);
    }

    #[test]
    fn a_clique_or_group_scaled_to_0_is_in_no_gang() {
        let (clique, group) = (("PodClique", "w-0-a", 0), ("PodCliqueScalingGroup", "w-0-sg", 0));
        assert_eq!(after(&[clique]), [(0, 1, 1)]);
        assert_eq!(after(&[group]), [(0, 2, 2)]);
        assert_eq!(after(&[clique, ("PodClique", "w-0-a", 2)]), [(0, 3, 3)]);
        assert_eq!(after(&[group, ("PodCliqueScalingGroup", "w-0-sg", 2)]), [(0, 3, 3), (0, 1, 1)]);
    }

    #[test]
    fn scaling_a_group_affects_one_replica_of_the_set() {
        let scales = [("PodCliqueSet", "w", 2), ("PodCliqueScalingGroup", "w-1-sg", 2)];
        assert_eq!(after(&scales), [(0, 3, 3), (1, 3, 3), (1, 1, 1)]);
        assert_eq!(after(&[("PodCliqueSet", "v", 2)]), [(0, 3, 3)], "another PodCliqueSet was scaled");
    }

    #[test]
    fn a_pod_clique_set_submitted_again_has_the_size_of_its_manifest() {
        let scaled = json!({"kind": "PodClique", "name": "w-0-a", "replicas": 5});
        let story = Story::flat().mark(SharedMark::Scaled, scaled);
        let again = story.mark(SharedMark::Submitted, json!({"name": "w"})).end();
        let pods = |until| gangs(&again, &workload(), until).iter().map(Gang::pods).collect::<Vec<_>>();
        assert_eq!((pods(1), pods(2)), (vec![6], vec![3]));
        let scaled = json!({"kind": "PodClique", "name": "w-0-a", "replicas": 5});
        let story = Story::flat().mark(SharedMark::Scaled, scaled);
        let other = story.mark(SharedMark::Submitted, json!({"name": "v"})).end();
        assert_eq!(gangs(&other, &workload(), 2)[0].pods(), 6, "another PodCliqueSet was submitted");
    }

    #[test]
    fn a_scale_in_removes_the_gangs_of_the_last_replica() {
        let mut pcs = workload();
        pcs["spec"]["replicas"] = json!(2);
        let story = Story::flat()
            .submitted(pcs)
            .mark(SharedMark::Scaled, json!({"kind": "PodCliqueSet", "name": "w", "replicas": 1}));
        let removed_gangs: Vec<_> =
            removed_gangs(&story.end(), "w").into_iter().map(|gang| (gang.replica, gang.is_base)).collect();
        assert_eq!(removed_gangs, [(1, true)]);
    }

    #[test]
    fn a_group_created_again_has_the_size_of_the_template() {
        let to = |replicas| ("PodCliqueSet", "w", replicas);
        let scales = [to(2), ("PodCliqueScalingGroup", "w-1-sg", 3), to(1), to(2)];
        assert_eq!(after(&scales), [(0, 3, 3), (1, 3, 3)]);
    }
}
