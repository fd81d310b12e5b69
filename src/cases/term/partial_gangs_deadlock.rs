//! Rack `left` has one node x 8 GPUs; rack `right` has 2 nodes x 8 GPUs, which join one by one. One gang has
//! 1 pod in `left` and 2 pods in `right`, the other has a pod in each rack. Each gang is partially bound and
//! needs the node that the other gang holds. Neither gang is breached. The termination delay is 20 s, so that
//! both gangs are partially bound even on a busy machine.

use conformance_driver::limits::RETRIES;
use conformance_expect::scopes::SetReplica;
use conformance_facts::binding::bound_pods;
use conformance_facts::generations::terminations;

use super::{not_recycled_early, releases_capacity, replica};
use crate::prelude::*;

marks! {
    HALVES = "two half gangs";
    ONE = "one of them whole";
    BOTH = "both whole";
}

const SETS: [&str; 2] = ["half-trio", "half-pair"];
/// Seconds, as in the manifest.
const DELAY: u32 = 20;

pub(crate) const CASE: Case =
    case!("Of two partially bound gangs that block each other, one releases its capacity")
        .clauses(&[TERM_17])
        .nodes(&[
            nodes(1).gpus(8).rack("left"),
            nodes(1).gpus(8).rack("right").joining(1),
            nodes(1).gpus(8).rack("right").joining(2),
            nodes(1).gpus(8).rack("left").joining(3),
            nodes(2).gpus(8).rack("right").joining(3),
        ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    submit(test, SETS[0]).await?;
    until_bound(test, "half-trio-0-left", 1).await?;
    submit(test, SETS[1]).await?;
    test.add_nodes(1).await?;
    until_bound(test, "half-pair-0-right", 1).await?;
    test.add_nodes(2).await?;
    test.mark(HALVES, Value::Null);
    let one = Awaited::demanded_by(TERM_09, "one of the two gangs bound whole");
    test.until(one, RETRIES, |live| SETS.iter().any(|set| is_whole(live, set))).await?;
    test.mark(ONE, Value::Null);
    test.add_nodes(3).await?;
    let both = Awaited::demanded_by(AON_03, "both gangs bound whole");
    test.until(both, RETRIES, |live| SETS.iter().all(|set| is_whole(live, set))).await?;
    test.mark(BOTH, Value::Null);
    Ok(())
}

async fn submit(test: &mut TestContext, name: &str) -> Result<(), Stop> {
    let mut pcs = test.manifest(name)?;
    for index in 0..2 {
        let clique = &mut pcs["spec"]["template"]["cliques"][index];
        let rack = test.domain(clique["name"].as_str().unwrap_or_default());
        clique["spec"]["podSpec"]["nodeSelector"][RACK] = json!(rack);
    }
    test.submit_value(pcs).await.map(drop)
}

async fn until_bound(test: &TestContext, clique: &str, count: usize) -> Result<(), Stop> {
    let bound = Awaited::demanded_by(AON_01, format!("{count} pods of PodClique {clique} bound"));
    test.until(bound, SCHEDULING, |live| bound_pods(live, clique) == count).await
}

fn is_whole(live: &Live, set: &str) -> bool {
    let right = if set == SETS[0] { 2 } else { 1 };
    bound_pods(live, &format!("{set}-0-left")) == 1 && bound_pods(live, &format!("{set}-0-right")) == right
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_17, || {
        let (halves, _) = history.reached(HALVES)?;
        let before = history.before(halves);
        if SETS.iter().any(|set| is_whole(&before, set)) {
            return Err(Broken::NotReached("the gangs did not block each other".into()));
        }
        let one = history.waited_for(ONE)?;
        let [trio, pair] = SETS.map(|set| replica(history, set, 0));
        let (trio, pair) = (trio?, pair?);
        for half in [&trio, &pair] {
            let found = terminations(history, &half.scope());
            all(found.iter().map(|termination| not_recycled_early(history, termination, DELAY)))?;
            termination::recreated(history, half, &half.scope())?;
        }
        // Once one of the gangs has released its capacity, the other one may become whole.
        let releases = |half: &SetReplica| releases_capacity(history, &half.scope(), one, 1, DELAY);
        releases(&trio).or_else(|_| releases(&pair))?;
        history.reached(BOTH).map(drop)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::Story;

    use super::super::tests::pod_of;
    use super::*;

    /// Half of each gang is bound. The first one is terminated after these seconds.
    fn ruling(terminated: Option<i64>) -> Ruling {
        let manifest = crate::manifest("term/partial-gangs-deadlock");
        let sets = grove_yaml::documents(manifest).unwrap();
        let pod = |set: &str, side: &str, name: &str, node| {
            pod_of(set, &format!("{set}-0-{side}"), &format!("{set}-{name}"), node)
        };
        let halves = sets.into_iter().fold(Story::flat(), Story::submitted).all_added([
            pod(SETS[0], "left", "a", Some("l")),
            pod(SETS[0], "right", "b", None),
            pod(SETS[0], "right", "c", None),
            pod(SETS[1], "left", "a", None),
            pod(SETS[1], "right", "b", Some("r")),
        ]);
        let halves = halves.mark(HALVES, Value::Null);
        let released = match terminated {
            None => halves.later(60),
            Some(seconds) => {
                let old = [("left", "a", Some("l")), ("right", "b", None), ("right", "c", None)];
                let deleted = old.into_iter().fold(halves.later(seconds), |story, (side, name, node)| {
                    story.deleted(pod(SETS[0], side, name, node))
                });
                let new = [("left", "d"), ("right", "e"), ("right", "f")];
                deleted.all_added(new.map(|(side, name)| pod(SETS[0], side, name, None)))
            }
        };
        check(&released.mark(ONE, Value::Null).mark(BOTH, Value::Null).end()).remove(0).ruling
    }

    #[rstest::rstest]
    #[case::after_the_delay(Some(20), &[])]
    #[case::early(Some(10), &["gang-with-bound-pods-terminated-early"])]
    #[case::never(None, &["capacity-not-released"])]
    fn one_of_two_gangs_that_block_each_other_is_terminated(
        #[case] terminated: Option<i64>,
        #[case] wanted: &[&str],
    ) {
        assert_eq!(codes(ruling(terminated)), wanted);
    }
}
