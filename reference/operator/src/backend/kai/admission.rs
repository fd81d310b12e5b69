//! Checks whether KAI can serve a PodCliqueSet: it must name one queue and at most one node pool. Neither may
//! change while gangs exist (KAI-04, KAI-09).
//!
//! Topology needs no rule: KAI honours constraints at all three levels, required and preferred (KAI-06).

use grove_api::PodCliqueSet;

use super::{node_pool, queue};
use crate::backend::Validation;

/// Why a gang cannot move to another queue.
const KEPT: &str = ": KAI keeps the queue that a PodGroup was created with";

pub(super) fn validate(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
    let error = match queue::of_pcs(pcs) {
        Ok(queue) => old.and_then(|old| queue.refuse_move(queue::of_pcs(old).ok()?.name, old, KEPT)),
        Err(error) => Some(error),
    };
    Validation { errors: error.into_iter().chain(node_pool::check(pcs, old)).collect(), warnings: Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::kai::api::KEY_QUEUE;

    fn pcs(replicas: i32, queue: &str) -> PodCliqueSet {
        let labels = if queue.is_empty() { json!({}) } else { json!({KEY_QUEUE: queue}) };
        let clique = json!({"name": "a", "spec": {"replicas": 1, "podSpec": {}}});
        let spec = json!({"replicas": replicas, "template": {"cliques": [clique]}});
        serde_json::from_value(json!({"metadata": {"name": "wl", "labels": labels}, "spec": spec})).unwrap()
    }

    #[rstest::rstest]
    #[case::new_with_queue(pcs(1, "q"), None, true)]
    #[case::new_without_queue(pcs(1, ""), None, false)]
    #[case::kept(pcs(2, "q"), Some(pcs(1, "q")), true)]
    #[case::changed(pcs(1, "r"), Some(pcs(1, "q")), false)]
    #[case::changed_while_scaling_in(pcs(0, "r"), Some(pcs(1, "q")), false)]
    #[case::removed(pcs(1, ""), Some(pcs(1, "q")), false)]
    #[case::changed_before_there_is_a_gang(pcs(1, "r"), Some(pcs(0, "q")), true)]
    #[case::queue_added(pcs(1, "q"), Some(pcs(1, "")), true)]
    fn a_queue_is_required_and_fixed_while_gangs_exist(
        #[case] new: PodCliqueSet,
        #[case] old: Option<PodCliqueSet>,
        #[case] admitted: bool,
    ) {
        let found = validate(&new, old.as_ref());
        assert_eq!(found.admits(), admitted, "{found:?}");
    }

    #[test]
    fn a_moved_queue_is_named() {
        let found = validate(&pcs(1, "r"), Some(&pcs(1, "q")));
        insta::assert_snapshot!(found.errors[0], @r#"metadata.labels[kai.scheduler/queue]: Forbidden: the queue is "q" and cannot become "r" while there are gangs: KAI keeps the queue that a PodGroup was created with"#);
    }
}
