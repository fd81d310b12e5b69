//! Finds the existing PodGang for each expected one. The operator chooses names, so a PodGang is identified
//! by its PodCliqueSet and its podgroups, even if some are missing or superfluous (GANG-02, GANG-03). A gang
//! resource that several PodGangs may share is identified by their pods.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use conformance_contract::target::Target;
use conformance_history::{Change, History, Live, Pod, controller, list, name};
use serde_json::Value;

use crate::{Gang, schedulers};

/// More common podgroups count first, then fewer other podgroups.
type Similarity = (usize, Reverse<usize>);

impl Gang {
    fn similarity(&self, pod_gang: &Value) -> Option<Similarity> {
        let has_other_owner = controller(pod_gang)
            .is_some_and(|owner| owner["kind"] != "PodCliqueSet" || owner["name"] != self.set.as_str());
        let podgroups = list(&pod_gang["spec"]["podgroups"]);
        let is_expected =
            |podgroup: &&Value| self.groups.iter().any(|group| podgroup["name"] == group.clique.as_str());
        let shared = podgroups.iter().filter(is_expected).count();
        (shared > 0 && !has_other_owner).then(|| (shared, Reverse(podgroups.len() - shared)))
    }

    pub fn is(&self, pod_gang: &Value) -> bool {
        self.similarity(pod_gang).is_some()
    }

    pub fn find<'a>(&self, live: &'a Live) -> Option<&'a Value> {
        live.of("PodGang")
            .filter_map(|found| Some((self.similarity(found)?, found)))
            .max_by_key(|(l, _)| *l)
            .map(|(_, found)| found)
    }

    fn with_names(self, name: Option<&str>, joined: Option<&str>) -> Self {
        let name = name.map_or(self.name, str::to_owned);
        Self { name, joined: joined.map(str::to_owned), ..self }
    }

    /// The existing gang resource that the gang's pods name. The last one counts.
    fn joins<'a>(
        &self,
        pods: impl Iterator<Item = Pod<'a>>,
        exists: impl Fn(&str, &str) -> bool,
    ) -> Option<&'a str> {
        let of_gang = |pod: &Pod<'a>| self.groups.iter().any(|group| pod.pod_clique() == Some(&group.clique));
        pods.filter(of_gang).filter_map(|pod| schedulers::joined(pod, &exists)).last()
    }
}

pub fn resolved(live: &Live, gangs: Vec<Gang>) -> Vec<Gang> {
    let named = |gang: Gang| {
        let found = gang.find(live).map(name);
        let joined = gang.joins(live.pods(), |kind, name| live.get(kind, name).is_some());
        gang.with_names(found, joined)
    };
    gangs.into_iter().map(named).collect()
}

/// Returns the expected PodGangs with their names at the end of a history, or with their last names.
pub fn resolved_in(history: &History, gangs: Vec<Gang>) -> Vec<Gang> {
    let named = |gang: Gang| {
        let found = last_name(history, &gang);
        let existed = |kind: &str, name: &str| history.named(kind, name).next().is_some();
        let joined = gang.joins(history.pods().map(|version| version.pod()), existed);
        gang.with_names(found, joined)
    };
    gangs.into_iter().map(named).collect()
}

/// Returns the gang resource of this kind for an expected PodGang, or the first one if there are several.
pub fn gang_resource<'a>(target: Target, live: &'a Live, gang: &Gang, kind: &'a str) -> Option<&'a Value> {
    let gang = resolved(live, vec![gang.clone()]).pop()?;
    let wanted = schedulers::resources_of(target, &gang).into_iter().find(|wanted| wanted.kind == kind)?;
    live.of(kind).find(|found| wanted.is_of(&gang, found))
}

fn last_name<'a>(history: &'a History, gang: &Gang) -> Option<&'a str> {
    let mut known: BTreeMap<&str, (bool, Similarity, usize, &str)> = BTreeMap::new();
    for version in history.of("PodGang") {
        let exists = version.change != Change::Deleted;
        let similarity = gang.similarity(version.object);
        if let Some(known) = known.get_mut(version.uid()) {
            known.0 = exists;
            known.1 = similarity.map_or(known.1, |similarity| known.1.max(similarity));
        } else if let Some(similarity) = similarity {
            known.insert(version.uid(), (exists, similarity, version.index, version.name()));
        }
    }
    known.into_values().max().map(|(.., name)| name)
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object, owned};
    use serde_json::json;

    use super::*;

    fn expected() -> Vec<Gang> {
        crate::gangs(&json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 1}}, {"name": "b", "spec": {"replicas": 1}}],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "cliqueNames": ["b"]}],
        }}}))
    }

    fn pod_gang(name: &str, set: &str, podgroups: &[&str]) -> Value {
        let mut found = owned(object("PodGang", name), "PodCliqueSet", set);
        found["spec"]["podgroups"] = podgroups.iter().map(|name| json!({"name": name})).collect();
        found
    }

    fn names(story: Story) -> Vec<String> {
        let history = story.end();
        let at_end: Vec<_> = resolved(&history.end(), expected()).into_iter().map(|gang| gang.name).collect();
        let ever = resolved_in(&history, expected()).into_iter().map(|gang| gang.name).collect();
        assert!(at_end == ever || at_end.iter().any(|name| name.starts_with('<')), "{at_end:?} {ever:?}");
        ever
    }

    const BASE: &[&str] = &["w-0-a", "w-0-sg-0-b"];
    const SCALED: &[&str] = &["w-0-sg-1-b"];

    #[rstest::rstest]
    #[case::by_replica_and_index("w-0", "w-0-sg-0")]
    #[case::by_epoch("w-0-1755000000000000001", "w-0-1755000000000000001-sg-1")]
    fn gangs_are_found_under_any_name(#[case] base: &str, #[case] scaled: &str) {
        let story = Story::flat().added(pod_gang(scaled, "w", SCALED)).added(pod_gang(base, "w", BASE));
        assert_eq!(names(story), [base, scaled]);
    }

    #[rstest::rstest]
    #[case::too_few(&["w-0-a"], "w-0")]
    #[case::too_many(&["w-0-a", "w-0-sg-0-b", "w-0-c"], "w-0")]
    #[case::of_other_podgroups(&["w-1-a"], "<of w-0-a, w-0-sg-0-b>")]
    fn a_gang_with_some_of_the_podgroups_is_found(#[case] podgroups: &[&str], #[case] name: &str) {
        assert_eq!(names(Story::flat().added(pod_gang("w-0", "w", podgroups)))[0], name);
    }

    #[rstest::rstest]
    #[case::with_fewer_podgroups(&["w-0-a"])]
    #[case::with_others(&["w-0-a", "w-0-sg-0-b", "w-0-c"])]
    fn the_most_similar_gang_is_found(#[case] podgroups: &[&str]) {
        let (other, base) = (pod_gang("w-0-9", "w", podgroups), pod_gang("w-0-1", "w", BASE));
        assert_eq!(names(Story::flat().added(base.clone()).added(other.clone()))[0], "w-0-1");
        assert_eq!(names(Story::flat().added(other).added(base))[0], "w-0-1");
    }

    #[test]
    fn a_gang_of_another_pod_clique_set_is_not_found() {
        let of_another = pod_gang("v-0", "v", BASE);
        let mut of_none = pod_gang("w-0", "w", BASE);
        of_none["metadata"]["ownerReferences"] = Value::Null;
        assert_eq!(names(Story::flat().added(of_another.clone()))[0], "<of w-0-a, w-0-sg-0-b>");
        assert_eq!(names(Story::flat().added(of_another).added(of_none))[0], "w-0");
    }

    #[test]
    fn a_freely_named_gang_resource_is_the_one_that_pods_name() {
        const POD_GROUP: &str = schedulers::kai::POD_GROUP;
        let pod = |clique: &str, group: &str| {
            let mut pod = object("Pod", clique);
            pod["metadata"]["labels"] = json!({"grove.io/podclique": clique});
            pod["metadata"]["annotations"] = json!({"pod-group-name": group});
            pod
        };
        let joined = |existing: &[&str], pods: &[Value]| {
            let existing = existing.iter().map(|name| object(POD_GROUP, name));
            let history = Story::on(Target::KAI).all_added(existing).all_added(pods.iter().cloned()).end();
            let (at_end, ever) = (resolved(&history.end(), expected()), resolved_in(&history, expected()));
            assert_eq!(at_end, ever);
            ever[0].joined.clone()
        };
        assert_eq!(joined(&["grove-w-0"], &[pod("w-0-a", "grove-w-0")]).as_deref(), Some("grove-w-0"));
        assert_eq!(joined(&["w-0"], &[pod("w-0-a", "grove-w-0")]), None, "no gang resource has that name");
        assert_eq!(joined(&["grove-w-0"], &[pod("v-0-a", "grove-w-0")]), None, "a pod of another set");
    }

    #[test]
    fn a_recreated_gang_has_its_new_name() {
        let (first, second) = (pod_gang("w-0-1", "w", BASE), pod_gang("w-0-2", "w", BASE));
        let deleted = || Story::flat().added(first.clone()).deleted(first.clone());
        assert_eq!(names(deleted())[0], "w-0-1");
        assert_eq!(names(deleted().added(second))[0], "w-0-2");
    }
}
