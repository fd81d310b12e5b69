//! A clique of 3 pods (minimum 1) is scaled to 2. Meanwhile, a finalizer keeps a deleted pod terminating.

use std::collections::BTreeSet;

use conformance_history::Change;

use crate::prelude::*;

const TOO_FEW_LEFT: Code = Code::new("too-few-left");

pub(crate) const CASE: Case = case!("Scaling a clique in does not count a pod that is already terminating")
    .clauses(&[GANG_25])
    .nodes(&[nodes(1)]);

const SET: &str = "leaving";
const CLIQUE: &str = "leaving-0-worker";
const LEFT: usize = 2;
const FINALIZER: &str = "example.com/hold";

marks! {
    SMALLER = "smaller";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let first = test.look(|live| live.pods().map(|pod| pod.name().to_owned()).min());
    let Some(held) = first else { return Ok(()) };
    test.patch("Pod", &held, json!({"metadata": {"finalizers": [FINALIZER]}})).await?;
    let outcome = scale_in_while_terminating(test, &held).await;
    // Nothing else removes the finalizer, so the case does it even after a failure.
    test.attempt(http::Method::PATCH, "Pod", &held, &json!({"metadata": {"finalizers": null}})).await?;
    outcome?;
    test.until_converged(SET).await
}

async fn scale_in_while_terminating(test: &TestContext, held: &str) -> Result<(), Stop> {
    test.delete("Pod", held).await?;
    test.until(Awaited::of_harness("the deleted pod terminating"), REACTION, |live| {
        live.get("Pod", held).is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_string())
    })
    .await?;
    test.scale("PodClique", CLIQUE, 2).await?;
    let is_smaller = |live: &Live| pods_of(live, CLIQUE).count() == LEFT;
    // The clique may have 2 other pods before the scaling is handled, so the case waits for a quiet period.
    test.until_settled(|_| false).await;
    test.until("the wanted number of pods, not counting the terminating one", REACTION, is_smaller).await?;
    test.mark(SMALLER, Value::Null);
    Ok(())
}

fn enough_pods_remain(history: &History) -> Ruling {
    let (scaled, _) = history.reached(SharedMark::Scaled)?;
    let until = history.reached(SMALLER).map_or(history.entries.len(), |(place, _)| place);
    let mut remaining: BTreeSet<&str> = BTreeSet::new();
    let mut violations = Vec::new();
    for version in history.pods().filter(|version| version.pod().pod_clique() == Some(CLIQUE)) {
        let is_terminating = version.change == Change::Deleted || version.pod().is_terminating();
        if !is_terminating {
            remaining.insert(version.uid());
        } else if remaining.remove(version.uid())
            && (scaled..until).contains(&version.index)
            && remaining.len() < LEFT
        {
            let message = format!(
                "Pod {} was deleted, but only {} other pods of PodClique {CLIQUE} remained, want {LEFT}",
                version.name(),
                remaining.len()
            );
            violations.push(violation(TOO_FEW_LEFT, message).shown_by("terminating", version));
        }
    }
    none(violations)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(GANG_25, || {
        enough_pods_remain(history)?;
        history.reached(SMALLER)?;
        let converged = history.marks(SharedMark::Converged).count();
        match converged {
            2.. => Ok(()),
            _ => {
                Err(Broken::NotReached("the PodCliqueSet did not converge after the pod was deleted".into()))
            }
        }
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, is_terminating: bool) -> Value {
        let mut pod = object("Pod", name);
        pod["metadata"]["labels"] = json!({"grove.io/podclique": CLIQUE});
        if is_terminating {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        pod
    }

    fn scaled() -> Story {
        let all = ["a", "b", "c"].map(|name| pod(name, false));
        Story::flat().all_added(all).modified(pod("a", true)).mark(SharedMark::Scaled, Value::Null)
    }

    #[rstest]
    #[case::no_pod_deleted(|story: Story| story, true)]
    #[case::replacement_deleted(|story: Story| story.added(pod("d", false)).modified(pod("d", true)), true)]
    #[case::another_pod_deleted(|story: Story| story.modified(pod("b", true)), false)]
    #[case::another_pod_recreated(|story: Story| story.deleted(pod("b", false)).added(pod("d", false)), false)]
    fn fewer_than_two_remaining_pods_are_a_violation(#[case] then: fn(Story) -> Story, #[case] passes: bool) {
        let ruling = enough_pods_remain(&then(scaled()).mark(SMALLER, Value::Null).end());
        assert_eq!(ruling.is_ok(), passes, "{ruling:?}");
    }

    #[test]
    fn deletions_before_the_scale_in_do_not_count() {
        let all = ["a", "b"].map(|name| pod(name, false));
        let story = Story::flat().all_added(all).modified(pod("a", true));
        assert_eq!(enough_pods_remain(&story.mark(SharedMark::Scaled, Value::Null).end()), Ok(()));
        assert!(matches!(enough_pods_remain(&Story::flat().end()), Err(Broken::NotReached(_))));
    }
}
