use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_history::{Change, History, Live, Pod, Version, list};
use serde_json::Value;

use crate::health::is_live;

pub fn versions<'a>(history: &'a History, name: &'a str) -> impl Iterator<Item = Version<'a>> {
    history.named("PodGang", name).filter(|version| version.change != Change::Deleted)
}

/// Returns the first version of a PodGang with podgroups, and each podgroup with its `minReplicas`.
pub fn as_created<'a>(history: &'a History, name: &'a str) -> Option<(Version<'a>, Vec<(String, usize)>)> {
    versions(history, name)
        .map(|version| (version, podgroups_in(version.object)))
        .find(|(_, found)| !found.is_empty())
}

pub fn podgroups_in(pod_gang: &Value) -> Vec<(String, usize)> {
    let podgroup = |podgroup: &Value| {
        let min = podgroup["minReplicas"].as_u64().and_then(|min| usize::try_from(min).ok());
        (podgroup["name"].as_str().unwrap_or_default().to_owned(), min.unwrap_or(0))
    };
    pod_gang["spec"]["podgroups"].as_array().into_iter().flatten().map(podgroup).collect()
}

pub fn reference_mismatch(live: &Live, set: &str) -> Option<String> {
    let of_set = |object: &&Value| object["metadata"]["labels"][names::PART_OF] == set;
    let named: BTreeSet<_> = live.of("PodGang").filter(of_set).flat_map(referred_pods).collect();
    let pods = live.pods().filter(|pod| pod.label(names::PART_OF) == Some(set) && is_live(*pod));
    let existing: BTreeSet<_> = pods.map(Pod::name).collect();
    let stale = named
        .difference(&existing)
        .next()
        .map(|name| format!("a PodGang refers to Pod {name}, which does not exist"));
    stale
        .or_else(|| existing.difference(&named).next().map(|name| format!("no PodGang refers to Pod {name}")))
}

pub fn referred_pods(gang: &Value) -> impl Iterator<Item = &str> {
    let podgroups = list(&gang["spec"]["podgroups"]).iter();
    let references = podgroups.flat_map(|podgroup| list(&podgroup["podReferences"]));
    references.filter_map(|reference| reference["name"].as_str())
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object, one_clique_gang};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_version_with_podgroups_counts() {
        let story = Story::flat().added(object("PodGang", "w-0")).modified(one_clique_gang("w", 2));
        let history = story.modified(one_clique_gang("w", 1)).deleted(one_clique_gang("w", 1)).end();
        let (created, podgroups) = as_created(&history, "w-0").unwrap();
        assert_eq!((created.index, podgroups), (1, vec![("w-0-worker".to_owned(), 2)]));
        assert_eq!(versions(&history, "w-0").count(), 3);
        assert!(as_created(&history, "v-0").is_none());
    }

    #[rstest::rstest]
    #[case::matching(&["w-0-worker-0", "w-0-worker-1"], None)]
    #[case::missing(&["w-0-worker-0"], Some("no PodGang refers to Pod w-0-worker-1"))]
    #[case::stale(
        &["w-0-worker-0", "w-0-worker-1", "w-0-worker-2"],
        Some("a PodGang refers to Pod w-0-worker-2, which does not exist")
    )]
    fn a_mismatch_of_references_and_pods_is_described(
        #[case] referred: &[&str],
        #[case] wanted: Option<&str>,
    ) {
        let mut gang = one_clique_gang("w", 2);
        gang["metadata"]["labels"] = json!({names::PART_OF: "w"});
        gang["spec"]["podgroups"][0]["podReferences"] =
            referred.iter().map(|name| json!({"name": name})).collect();
        let live = Story::flat().workers("w", 2, 0).added(gang).end().end();
        assert_eq!(reference_mismatch(&live, "w").as_deref(), wanted);
    }
}
