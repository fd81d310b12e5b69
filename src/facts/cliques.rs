use std::collections::BTreeMap;

use conformance_expect::Gang;
use conformance_history::{Live, Pod, counted_pods, list};
use serde_json::Value;

use crate::deviation::Deviation;

pub fn pods_of<'a>(live: &'a Live, clique: &'a str) -> impl Iterator<Item = Pod<'a>> {
    live.pods().filter(move |pod| pod.pod_clique() == Some(clique) && !pod.is_terminating())
}

pub fn wrong_number_of_pods<'a>(live: &'a Live, gangs: &'a [Gang]) -> impl Iterator<Item = Deviation<'a>> {
    gangs.iter().flat_map(|gang| &gang.groups).filter_map(move |group| {
        let pods = pods_of(live, &group.clique).count();
        let message =
            || format!("PodClique {} has {}, want {}", group.clique, counted_pods(pods), group.replicas);
        (pods != group.replicas).then(|| Deviation::new((), message()))
    })
}

pub fn cliques_lacking_pods(live: &Live, gangs: &[Gang]) -> Vec<String> {
    let mut wanted: BTreeMap<&str, usize> = BTreeMap::new();
    for group in gangs.iter().flat_map(|gang| &gang.groups) {
        *wanted.entry(&group.clique).or_default() += group.replicas;
    }
    let lacking = wanted.into_iter().filter_map(|(clique, wanted)| {
        let pods = pods_of(live, clique).count();
        (pods < wanted).then(|| format!("PodClique {clique} has {}, want {wanted}", counted_pods(pods)))
    });
    lacking.collect()
}

pub fn have_left(live: &Live, cliques: &[&str]) -> bool {
    let lists_one = |pod_gang: &Value| {
        let podgroups = list(&pod_gang["spec"]["podgroups"]);
        podgroups.iter().any(|podgroup| cliques.iter().any(|clique| podgroup["name"] == *clique))
    };
    !live.pods().any(|pod| pod.pod_clique().is_some_and(|clique| cliques.contains(&clique)))
        && !live.of("PodGang").any(lists_one)
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, one_clique, one_clique_gang, worker};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_terminating_pod_is_not_counted() {
        let mut terminating = worker("w", 0, Some("n"));
        terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let live = Story::flat().workers("w", 2, 2).modified(terminating).end().end();
        let names: Vec<_> = pods_of(&live, "w-0-worker").map(Pod::name).collect();
        assert_eq!(names, ["w-0-worker-1"]);
    }

    #[test]
    fn two_podgroups_of_one_name_need_the_pods_of_both() {
        let live = Story::flat().workers("w", 2, 0).end().end();
        let gangs = conformance_expect::gangs(&one_clique("w", 2));
        assert!(cliques_lacking_pods(&live, &gangs).is_empty());
        let twice = [gangs.clone(), gangs].concat();
        assert_eq!(cliques_lacking_pods(&live, &twice), ["PodClique w-0-worker has 2 pods, want 4"]);
    }

    #[rstest::rstest]
    #[case::deleted_and_not_listed(Story::flat(), true)]
    #[case::listed(Story::flat().added(one_clique_gang("w", 2)), false)]
    #[case::with_a_pod(Story::flat().workers("w", 1, 0), false)]
    fn a_clique_leaves_its_gang(#[case] story: Story, #[case] left: bool) {
        let live = story.workers("v", 1, 0).added(one_clique_gang("v", 1)).end().end();
        assert_eq!(have_left(&live, &["w-0-worker"]), left);
    }
}
