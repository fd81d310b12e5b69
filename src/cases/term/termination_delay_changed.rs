//! 1 node; 2 replicas of a gang of two cliques, with a termination delay of an hour. The delay is cut to 2 s
//! while the first replica is breached. Later, the PodCliqueSet is deleted while a delay runs. One of its
//! pods stays Terminating until this delay would have expired.

use conformance_expect::scopes::Scope;
use conformance_history::{Change, Version, count};
use jiff::SignedDuration;

use super::{replica, requires_recreation};
use crate::prelude::*;

const RECYCLED_BEFORE_THE_CHANGE: Code = Code::new("gang-terminated-before-change");
const RECYCLED_LATE: Code = Code::new("gang-terminated-late-after-change");
const CREATED_AFTER_DELETION: Code = Code::new("created-after-deletion");
const OTHER_REPLICAS: Code = Code::new("recreated-with-other-replicas");

marks! {
    CUT = "delay cut";
    SCALED_IN = "replica scaled in while its delay ran";
    BY_HAND = "clique deleted by hand";
    BACK = "clique recreated";
    SET_DELETED = "PodCliqueSet deleted while a delay runs";
    OUTLASTED = "a deletion longer than the delay";
}

const SET: &str = "revised";
const WORKER: &str = "revised-0-worker";
const SIDE: &str = "revised-0-side";

/// The delay that runs when the PodCliqueSet is deleted. It is long enough that the deletion comes first.
const LONG: &str = "8s";
const SHORT: SignedDuration = SignedDuration::from_secs(2);

pub(crate) const CASE: Case =
    case!("Changing terminationDelay affects running delays; scale-in and deletion end them")
        .clauses(&[TERM_15, TERM_29, TERM_30])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    test.submit_and_start(SET).await?;
    test.scale("PodClique", WORKER, 3).await?;
    test.until_converged(SET).await?;
    let old: Vec<_> = [WORKER, SIDE].iter().flat_map(|clique| test.pods_of(clique)).collect();
    test.set_first_pod_status(SIDE, Containers::Crashing).await?;
    test.until_breach_is("True", SIDE).await?;
    test.mark(CUT, Value::Null);
    test.delay_termination(SET, "2s").await?;
    test.until_recreated("replica 0 of PodCliqueSet revised", TERM_15, &[WORKER, SIDE], &old, true).await?;
    test.until_converged(SET).await?;
    // The delay is long enough to scale in before it expires.
    test.delay_termination(SET, "20s").await?;
    test.set_first_pod_status("revised-1-side", Containers::Crashing).await?;
    test.until_breach_is("True", "revised-1-side").await?;
    test.scale("PodCliqueSet", SET, 1).await?;
    test.until_converged(SET).await.map_err(|stop| stop.owed_by(TERM_29))?;
    test.mark(SCALED_IN, Value::Null);
    test.mark(BY_HAND, Value::Null);
    let old = test.pods_of(WORKER);
    test.delete("PodClique", WORKER).await?;
    let back = Awaited::demanded_by(TERM_30, "the PodClique recreated with its replicas");
    test.until(back, REACTION, |live| {
        let new: Vec<_> =
            pods_of(live, WORKER).filter(|pod| !old.iter().any(|name| name == pod.name())).collect();
        new.len() == 3 && new.iter().all(|pod| pod.node().is_some())
    })
    .await?;
    test.mark(BACK, Value::Null);
    test.delay_termination(SET, LONG).await?;
    let clock = test.start_clock(LONG).await?;
    let hanging = test.pods_of(WORKER).into_iter().next().unwrap_or_default();
    test.hold_pod(&hanging).await?;
    test.set_first_pod_status(SIDE, Containers::Crashing).await?;
    test.until_breach_is("True", SIDE).await?;
    test.mark(SET_DELETED, Value::Null);
    test.delete("PodCliqueSet", SET).await?;
    test.run_clock(&clock, 1, OUTLASTED).await?;
    test.release_pod(&hanging).await?;
    test.stop_clock(clock).await?;
    test.until_nothing_left().await
}

/// The first termination must follow the change of the delay, within the time that a new delay would take.
fn follows_the_change(history: &History) -> Ruling {
    let scope = replica(history, SET, 0)?.scope();
    let (cut, _) = history.reached(CUT)?;
    for termination in generations::terminations(history, &scope).iter().take(1) {
        let after = termination.started.at.duration_since(history.entries[cut].at);
        ensure(termination.started.index > cut, || {
            violation(
                RECYCLED_BEFORE_THE_CHANGE,
                format!("{scope} was terminated while its terminationDelay was one hour"),
            )
            .shown_by("first deletion", termination.started)
        })?;
        ensure(after <= SHORT + termination::patience(history), || {
            let message = format!(
                "{scope} was terminated {} s after terminationDelay was cut to 2 s, want at most {} s",
                after.as_secs(),
                (SHORT + termination::patience(history)).as_secs()
            );
            violation(RECYCLED_LATE, message).shown_by("first deletion", termination.started)
        })?;
    }
    Ok(())
}

fn recycled_once(history: &History) -> Ruling {
    let first = replica(history, SET, 0)?;
    requires_recreation(history, &first)?;
    termination::times(history, &first, &first.scope(), 1)
}

fn deleted_at(history: &History, scope: &Scope, from: usize) -> Result<u64, Broken> {
    let not_reached = |why: &str| Broken::NotReached(why.into());
    let is_deleted = |version: &Version<'_>| {
        version.change == Change::Deleted || version.object["metadata"]["deletionTimestamp"].is_string()
    };
    let deletion =
        history.named("PodCliqueSet", SET).find(|version| version.index > from && is_deleted(version));
    let deletion =
        deletion.ok_or_else(|| not_reached("the deletion of the PodCliqueSet was not observed"))?;
    let last = generations::terminations(history, scope).pop();
    let had_expired = last.is_some_and(|termination| {
        termination.started.index > from && termination.started.revision() < deletion.revision()
    });
    if had_expired {
        Err(not_reached("the terminationDelay had expired before the PodCliqueSet was deleted"))
    } else {
        Ok(deletion.revision())
    }
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_15, || {
            follows_the_change(history)?;
            history.at(BY_HAND, |place| recycled_once(&history.upto(place)))
        }),
        finding(TERM_29, || {
            let (first, second) = (replica(history, SET, 0)?, replica(history, SET, 1)?);
            precondition(TERM_15, recycled_once(&history.upto(history.waited_for(BY_HAND)?)))?;
            termination::times(history, &second, &second.scope(), 0)?;
            history.reached(SCALED_IN)?;
            let (deleted, _) = history.reached(SET_DELETED)?;
            let deletion = deleted_at(history, &first.scope(), deleted)?;
            history.at(OUTLASTED, |_| {
                let created =
                    history.pods().filter(|pod| pod.revision() > deletion && pod.change == Change::Added);
                none(created.map(|created| {
                    let message =
                        format!("Pod {} was created after the PodCliqueSet was deleted", created.name());
                    violation(CREATED_AFTER_DELETION, message).shown_by("created", created)
                }))
            })?;
            cleanup::nothing_left(history)
        }),
        finding(TERM_30, || {
            let (by_hand, _) = history.reached(BY_HAND)?;
            let back = history.waited_for(BACK)?;
            let live = history.before(back);
            let replicas = live.get("PodClique", WORKER).and_then(|found| count(&found["spec"]["replicas"]));
            ensure(replicas == Some(3), || {
                violation(
                    OTHER_REPLICAS,
                    format!("PodClique {WORKER}: recreated with {replicas:?} replicas, want 3"),
                )
            })?;
            let old_pods: Vec<_> = history
                .before(by_hand)
                .pods()
                .filter(|pod| pod.pod_clique() == Some(WORKER))
                .map(|pod| pod.name().to_owned())
                .collect();
            let old_pods: Vec<_> = old_pods.iter().map(String::as_str).collect();
            history.reached(BACK)?;
            let (deleted, _) = history.reached(SET_DELETED)?;
            binding::others_untouched(&history.upto(deleted), by_hand, &old_pods)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_facts::testing::deleting;

    use super::*;

    fn pod(name: &str, node: Option<&str>) -> Value {
        let mut pod = object("Pod", name);
        pod["metadata"]["labels"] =
            json!({names::PART_OF: SET, names::REPLICA_INDEX: "0", names::POD_CLIQUE: SIDE});
        pod["spec"]["nodeName"] = json!(node);
        pod
    }

    fn bound() -> Story {
        let manifests =
            grove_yaml::documents(crate::manifest("term/termination-delay-changed")).expect("the manifest");
        manifests.into_iter().fold(Story::flat(), Story::submitted).added(pod("a", Some("n")))
    }

    fn cut(story: Story) -> Story {
        story.mark(CUT, Value::Null)
    }

    fn recycled(story: Story) -> Story {
        let deletion = story.modified(deleting(pod("a", Some("n"))));
        deletion.added(pod("b", None)).modified(pod("b", Some("n")))
    }

    #[test]
    fn a_termination_before_or_late_after_the_change_is_a_violation() {
        let ruling = |story: Story| check(&story.mark(BY_HAND, Value::Null).end()).remove(0).ruling;
        assert_eq!(ruling(recycled(cut(bound()).later(12))), Ok(()));
        assert_eq!(codes(ruling(cut(recycled(bound())))), ["gang-terminated-before-change"]);
        let late = recycled(cut(bound()).later(13));
        assert_eq!(codes(ruling(late)), ["gang-terminated-late-after-change"]);
    }

    #[test]
    fn a_pod_created_after_the_deletion_is_a_violation() {
        let ruling = |before: Option<Value>, after: Option<Value>| {
            let story = recycled(cut(bound())).mark(SCALED_IN, Value::Null).mark(BY_HAND, Value::Null);
            let story = story.mark(SET_DELETED, Value::Null).all_added(before);
            let story = story.modified(deleting(object("PodCliqueSet", SET))).all_added(after);
            let history = story.mark(OUTLASTED, Value::Null).mark(SharedMark::LeftOver, json!([])).end();
            check(&history).remove(1).ruling
        };
        let new = || Some(pod("c", None));
        assert_eq!(ruling(new(), None), Ok(()));
        assert_eq!(codes(ruling(None, new())), ["created-after-deletion"]);
    }
}
