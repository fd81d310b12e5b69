//! Two racks, 1 node x 8 GPUs in each at first, then 2, then 3. One gang has 1 pod x 8 GPUs in rack `left` and 2
//! in rack `right`; the other has 2 in `left` and 1 in `right`. Each gang binds its single pod, so that the
//! other one lacks a node. Neither gang is breached. The termination delay is 20 s, so that both gangs are
//! partially bound even on a busy machine.

use conformance_driver::limits::RETRIES;
use conformance_expect::scopes::SetReplica;
use conformance_facts::binding::bound_pods;
use conformance_facts::generations::terminations;

use super::{not_recycled_early, one_per_delay, releases_capacity, replica};
use crate::prelude::*;

marks! {
    HALVES = "two half gangs";
    ONE = "one of them whole";
    BOTH = "both whole";
}

const SETS: [&str; 2] = ["wide-right", "wide-left"];
const SINGLE: [&str; 2] = ["wide-right-0-left", "wide-left-0-right"];
/// Seconds, as in the manifest.
const DELAY: u32 = 20;

pub(crate) const CASE: Case =
    case!("Of two partially bound gangs that block each other, one releases its capacity")
        .clauses(&[TERM_17, TERM_33])
        .nodes(&[
            nodes(1),
            nodes(1).gpus(8).rack("left").joining(1),
            nodes(1).gpus(8).rack("right").joining(1),
            nodes(1).gpus(8).rack("left").joining(2),
            nodes(1).gpus(8).rack("right").joining(2),
            nodes(1).gpus(8).rack("left").joining(3),
            nodes(1).gpus(8).rack("right").joining(3),
        ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut gangs = submit(test, SETS[0]).await?;
    gangs.extend(submit(test, SETS[1]).await?);
    for gang in &gangs {
        test.until_released(gang).await?;
    }
    // Both gangs are partially bound at about the same time, so their delays end together.
    test.add_nodes(1).await?;
    let single = Awaited::demanded_by(AON_01, "one pod of each gang bound");
    test.until(single, SCHEDULING, |live| SINGLE.iter().all(|clique| bound_pods(live, clique) == 1)).await?;
    test.add_nodes(2).await?;
    test.mark(HALVES, Value::Null);
    // A scheduler that binds each podgroup for itself need not bind either gang whole (TERM-09).
    let one = Awaited::demanded_by(TERM_33, "one of the two gangs bound whole");
    test.until(one, RETRIES, |live| SETS.iter().any(|set| is_whole(live, set))).await?;
    test.mark(ONE, Value::Null);
    test.add_nodes(3).await?;
    let both = Awaited::demanded_by(AON_03, "both gangs bound whole");
    test.until(both, RETRIES, |live| SETS.iter().all(|set| is_whole(live, set))).await?;
    test.mark(BOTH, Value::Null);
    Ok(())
}

async fn submit(test: &mut TestContext, name: &str) -> Result<Vec<Gang>, Stop> {
    let mut pcs = test.manifest(name)?;
    for index in 0..2 {
        let clique = &mut pcs["spec"]["template"]["cliques"][index];
        let rack = test.domain(clique["name"].as_str().unwrap_or_default());
        clique["spec"]["podSpec"]["nodeSelector"][RACK] = json!(rack);
    }
    test.submit_value(pcs).await
}

fn is_whole(live: &Live, set: &str) -> bool {
    let (left, right) = if set == SETS[0] { (1, 2) } else { (2, 1) };
    bound_pods(live, &format!("{set}-0-left")) == left && bound_pods(live, &format!("{set}-0-right")) == right
}

fn blocked(history: &History) -> Ruling {
    let (halves, _) = history.reached(HALVES)?;
    let before = history.before(halves);
    if SETS.iter().any(|set| is_whole(&before, set)) {
        return Err(Broken::NotReached("the gangs did not block each other".into()));
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_17, || {
            blocked(history)?;
            let one = history.waited_for(ONE)?;
            let [right, left] = SETS.map(|set| replica(history, set, 0));
            let (right, left) = (right?, left?);
            for half in [&right, &left] {
                let found = terminations(history, &half.scope());
                all(found.iter().map(|termination| not_recycled_early(history, termination, DELAY)))?;
                termination::recreated(history, half, &half.scope())?;
            }
            // Once one of the gangs has released its capacity, the other one may become whole.
            let releases = |half: &SetReplica| releases_capacity(history, &half.scope(), one, 1, DELAY);
            releases(&right).or_else(|_| releases(&left))?;
            history.reached(BOTH).map(drop)
        }),
        finding(TERM_33, || {
            blocked(history)?;
            let [first, second] = SETS.map(|set| replica(history, set, 0));
            let scopes = [first?.scope(), second?.scope()];
            one_per_delay(&history.upto(history.waited_for(ONE)?), &scopes, DELAY)?;
            history.reached(ONE).map(drop)
        }),
    ]
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
            pod(SETS[1], "left", "b", None),
            pod(SETS[1], "right", "c", Some("r")),
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
