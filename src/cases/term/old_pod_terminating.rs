//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs runs. One pod stays Terminating when the gang is terminated:
//! the new generation is one pod short until a node joins.

use conformance_facts::generations;

use super::{replica, requires_termination};
use crate::prelude::*;

marks! {
    SHORT = "one pod short while the old pod terminates";
    BOUND_ALONGSIDE = "bound while the old pod terminates";
    OLD_POD_DELETED = "the old pod deleted";
}

const SET: &str = "terminating";
const CLIQUE: &str = "terminating-0-worker";

pub(crate) const CASE: Case = case!("A recreated gang is never partially bound while an old pod terminates")
    .clauses(&[TERM_08])
    .nodes(&[nodes(3).gpus(8), nodes(1).gpus(8).joining(1)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_start(SET).await?;
    let old = test.pods_of(CLIQUE);
    let hanging = old.first().cloned().unwrap_or_default();
    test.hold_pod(&hanging).await?;
    test.set_pod_status(&hanging, Containers::Crashing).await?;
    let count_new = |live: &Live, matches: fn(&Pod<'_>) -> bool| {
        let pods = pods_of(live, CLIQUE);
        pods.filter(|pod| !old.iter().any(|name| name == pod.name()) && matches(pod)).count()
    };
    let recreated = Awaited::demanded_by(TERM_02, "new pods created while the old pod terminates");
    test.until(recreated, SCHEDULING, |live| count_new(live, |_| true) == 3).await?;
    let released = Awaited::demanded_by(TERM_08, "the new generation released while the old pod terminates");
    test.until(released, SCHEDULING, |live| count_new(live, |pod| pod.gates().is_empty()) == 3).await?;
    test.scheduler_passes().await?;
    test.mark(SHORT, Value::Null);
    test.add_nodes(1).await?;
    let bound = Awaited::demanded_by(TERM_08, "the new generation bound while the old pod terminates");
    test.until(bound, SCHEDULING, |live| count_new(live, |pod| pod.node().is_some()) == 3).await?;
    test.mark(BOUND_ALONGSIDE, json!({"hanging": hanging}));
    test.release_pod_and_wait(&hanging).await?;
    test.until_converged(SET).await?;
    test.mark(OLD_POD_DELETED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_08, || {
        let terminating = replica(history, SET, 0)?;
        let (scope, units) = (terminating.scope(), history.units(SET)?);
        history.at(SHORT, |short| {
            requires_termination(history, &terminating)?;
            binding::never(&generations::only_generation(&history.upto(short), &scope, 1), &units, None)
        })?;
        let meanwhile = history.upto(history.waited_for(BOUND_ALONGSIDE)?);
        precondition(TERM_06, termination::times(&meanwhile, &terminating, &scope, 1))?;
        binding::whole(&generations::only_generation(&meanwhile, &scope, 1).end(), &units)?;
        history.reached(OLD_POD_DELETED)?;
        precondition(TERM_22, termination::nothing_else_deleted(history, &terminating))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, one_clique};

    use super::super::tests::{pod_of, ruling_of};
    use super::*;

    fn pod(name: &str, node: Option<&str>) -> Value {
        pod_of(SET, CLIQUE, name, node)
    }

    /// Pod `a` stays Terminating, and `c` and `d` are new.
    fn terminated() -> Story {
        let running = Story::whole().submitted(one_clique(SET, 2));
        let running = running.all_added(["a", "b"].map(|name| pod(name, Some("n"))));
        let mut hanging = pod("a", Some("n"));
        hanging["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let deleted = running.later(2).modified(hanging).deleted(pod("b", Some("n")));
        deleted.all_added(["c", "d"].map(|name| pod(name, None)))
    }

    fn bound(story: Story, names: &[&str]) -> Story {
        names.iter().fold(story, |story, name| story.modified(pod(name, Some("n"))))
    }

    fn ruling(early: &[&str], alongside: &[&str], lost: &[&str]) -> Ruling {
        let short = bound(terminated(), early).mark(SHORT, Value::Null);
        let alongside = bound(short, alongside).mark(BOUND_ALONGSIDE, Value::Null);
        let ended = alongside.deleted(pod("a", Some("n")));
        let ended = lost.iter().fold(ended, |story, name| story.deleted(pod(name, Some("n"))));
        ruling_of(&check(&ended.mark(OLD_POD_DELETED, Value::Null).end()), TERM_08)
    }

    #[test]
    fn new_pods_must_be_bound_whole_alongside_the_old_pod() {
        assert_eq!(ruling(&[], &["c", "d"], &[]), Ok(()));
        assert_eq!(codes(ruling(&["c"], &["d"], &[])), ["bound-in-part"]);
        assert_eq!(codes(ruling(&[], &["c"], &[])), ["not-bound-whole"]);
    }

    #[test]
    fn other_deletions_are_violations_of_other_clauses() {
        let later = ruling(&[], &["c", "d"], &["c"]);
        assert!(matches!(later, Err(Broken::Precondition { clause: TERM_22, .. })), "{later:?}");
        let again = ["c", "d"].into_iter().fold(terminated(), |story, name| story.deleted(pod(name, None)));
        let again = again.all_added(["e", "f"].map(|name| pod(name, None))).mark(SHORT, Value::Null);
        let again = ruling_of(&check(&again.mark(BOUND_ALONGSIDE, Value::Null).end()), TERM_08);
        assert!(matches!(again, Err(Broken::Precondition { clause: TERM_06, .. })), "{again:?}");
    }
}
