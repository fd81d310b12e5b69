use conformance_expect::Unit;
use conformance_history::{Live, counted_pods};

use crate::cliques::pods_of;
use crate::deviation::Deviation;

pub fn bound_pods(live: &Live, clique: &str) -> usize {
    pods_of(live, clique).filter(|pod| pod.node().is_some()).count()
}

pub fn not_fully_bound<'a>(live: &'a Live, units: &'a [Unit]) -> impl Iterator<Item = Deviation<'a>> {
    let minimums = units.iter().flat_map(|unit| unit.minimums.iter().map(move |minimum| (unit, minimum)));
    minimums.filter_map(move |(unit, (clique, minimum))| {
        let bound = bound_pods(live, clique);
        (bound < *minimum).then(|| {
            let bound = counted_pods(bound);
            let message =
                format!("{unit} is not fully bound: PodClique {clique} has {bound} bound, want {minimum}");
            let short = Deviation::new((), message);
            let unbound = live.pods().find(|pod| pod.pod_clique() == Some(clique) && pod.node().is_none());
            match unbound {
                Some(pod) => short.shown_by("not bound", pod.0),
                None => short,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, worker};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_unit_is_fully_bound_with_its_minimum_of_bound_pods() {
        let units = [Unit { gang: "w-0".into(), minimums: vec![("w-0-worker".into(), 2)] }];
        let messages = |story: Story| -> Vec<_> {
            let live = story.end().end();
            not_fully_bound(&live, &units).map(|short| (short.message, short.objects.len())).collect()
        };
        let short = "the unit of PodGang w-0 (2 pods of w-0-worker) is not fully bound: PodClique w-0-worker \
                     has 1 pod bound, want 2";
        assert_eq!(messages(Story::flat().workers("w", 3, 2)), []);
        assert_eq!(messages(Story::flat().workers("w", 3, 1)), [(short.to_owned(), 1)]);
        let mut terminating = worker("w", 1, Some("n"));
        terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let left = Story::flat().workers("w", 2, 2).modified(terminating);
        assert_eq!(messages(left), [(short.to_owned(), 0)]);
    }
}
