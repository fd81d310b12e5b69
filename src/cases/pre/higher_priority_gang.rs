//! 3 nodes x 8 GPUs; a gang of low priority with 1 + 2 pods x 8 GPUs runs. Then two gangs of 2 pods x 8 GPUs
//! arrive. One has the same priority, and waits. The other has high priority, and the low gang is evicted
//! whole. While the low gang waits for 3 nodes, its termination delay would expire twice. A fourth node
//! joins, which leaves it one node short, and then a fifth.

use conformance_check::preemption::EVICTED_FOR_EQUAL;
use conformance_expect::resolver::resolved;
use conformance_facts::preemption::report_of_eviction;

use super::{HIGH, LOW, begin, submit, submit_and_bind, submit_and_wait, until_whole, victim};
use crate::prelude::*;

marks! {
    RUNNING = "the low gang runs";
    EQUAL_WAITED = "the equal gang has waited";
    ARRIVED = "the high gang arrives";
    BOUND = "the high gang is bound";
    REPLACED = "the evicted pods are replaced";
    PASSED = "the scheduler has tried the replacements";
    DELAYED = "the termination delay has expired again and again";
    ONE_SHORT = "one node is missing";
    BOUND_AGAIN = "the low gang is bound again";
    REPORT_ENDED = "no status reports an eviction";
}

const VICTIM: &str = "preempted";
const EQUAL: &str = "equal";
const PREEMPTOR: &str = "preemptor";
const CLIQUES: [(&str, usize); 2] = [("preempted-0-leader", 1), ("preempted-0-worker", 2)];

pub(crate) const CASE: Case =
    case!("A gang of higher priority is bound, and the evicted gang returns whole", restored)
        .clauses(&[PRE_01, PRE_02, PRE_06, PRE_10, PRE_11, PRE_12, PRE_13])
        .nodes(&[nodes(3).gpus(8), nodes(1).gpus(8).joining(1), nodes(1).gpus(8).joining(2)])
        .isolation(Isolation::Dedicated)
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    begin(test).await?;
    let running = submit(test, VICTIM, &LOW).await?;
    test.until_converged(VICTIM).await?;
    let old: Vec<String> = CLIQUES.iter().flat_map(|(clique, _)| test.pods_of(clique)).collect();
    test.mark(RUNNING, Value::Null);

    submit_and_wait(test, EQUAL, &LOW).await?;
    test.mark(EQUAL_WAITED, Value::Null);
    test.remove_set(EQUAL).await?;

    test.mark(ARRIVED, Value::Null);
    submit_and_bind(test, PREEMPTOR, &HIGH).await?;
    test.mark(BOUND, Value::Null);
    let evicted = Awaited::demanded_by(PRE_02, "all pods of the low gang evicted");
    test.until(evicted, REACTION, |live| !has_any(live, &old)).await?;
    let replaced = Awaited::demanded_by(PRE_10, "the evicted pods replaced");
    test.until(replaced, REACTION, |live| !has_any(live, &old) && is_complete(live)).await?;
    test.mark(REPLACED, Value::Null);
    test.scheduler_passes_over(&running).await?;
    test.mark(PASSED, Value::Null);

    let clock = test.start_clock("2s").await?;
    test.run_clock(&clock, 2, DELAYED).await?;
    test.add_nodes(1).await?;
    test.scheduler_passes().await?;
    test.mark(ONE_SHORT, Value::Null);
    test.add_nodes(2).await?;
    let whole = Awaited::demanded_by(PRE_11, "the replaced gang bound");
    until_whole(test, whole, &running).await?;
    test.mark(BOUND_AGAIN, Value::Null);
    let ended = Awaited::demanded_by(PRE_13, "no status that reports an eviction");
    let is_unreported = |live: &Live| {
        let gangs = resolved(live, vec![running.clone()]);
        let units: Vec<_> = gangs.iter().flat_map(|gang| gang.units(test.target)).collect();
        report_of_eviction(live, VICTIM, &units).is_none()
    };
    test.until(ended, REACTION, is_unreported).await?;
    test.mark(REPORT_ENDED, Value::Null);
    Ok(())
}

fn has_any(live: &Live, old: &[String]) -> bool {
    live.pods().any(|pod| old.iter().any(|name| name == pod.name()))
}

fn is_complete(live: &Live) -> bool {
    CLIQUES.iter().all(|(clique, count)| pods_of(live, clique).count() == *count)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(PRE_01, || {
            victim(history, VICTIM, ARRIVED)?;
            let units = history.units(PREEMPTOR)?;
            history.at(BOUND, |bound| binding::whole(&history.before(bound), &units))
        }),
        finding(PRE_02, || {
            let victim = victim(history, VICTIM, ARRIVED)?;
            history.reached(BOUND)?;
            history.at(PASSED, |passed| victim.is_not_in_part(passed))?;
            history.at(ONE_SHORT, |short| victim.is_not_in_part(short))
        }),
        finding(PRE_06, || {
            let running = victim(history, VICTIM, RUNNING)?;
            history.at(EQUAL_WAITED, |waited| running.stays(waited, &EVICTED_FOR_EQUAL))?;
            // The eviction for the high gang proves that this scheduler preempts.
            history.reached(BOUND).map(drop)
        }),
        finding(PRE_10, || {
            let victim = victim(history, VICTIM, ARRIVED)?;
            history.reached(BOUND)?;
            history.at(REPLACED, |replaced| victim.is_replaced(replaced))
        }),
        finding(PRE_11, || {
            let victim = victim(history, VICTIM, ARRIVED)?;
            history.reached(REPLACED)?;
            history.at(ONE_SHORT, |short| victim.waits(short))?;
            let units = history.units(VICTIM)?;
            history.at(BOUND_AGAIN, |again| binding::whole(&history.before(again), &units))
        }),
        finding(PRE_12, || {
            let victim = victim(history, VICTIM, ARRIVED)?;
            history.reached(REPLACED)?;
            history.at(DELAYED, |delayed| victim.replacements_stay(delayed))
        }),
        finding(PRE_13, || {
            let victim = victim(history, VICTIM, ARRIVED)?;
            history.reached(REPLACED)?;
            history.at(DELAYED, |delayed| victim.is_reported(VICTIM, delayed))?;
            history.at(ONE_SHORT, |short| victim.is_reported(VICTIM, short))?;
            history.reached(BOUND_AGAIN)?;
            history.at(REPORT_ENDED, |ended| victim.is_not_reported(VICTIM, ended))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, one_clique, one_clique_gang, worker};

    use super::*;

    fn gang(status: &str) -> Value {
        let mut gang = one_clique_gang(VICTIM, 1);
        gang["status"] = json!({"conditions": [{"type": "DisruptionTarget", "status": status}]});
        gang
    }

    /// The ruling of PRE-13. The status has these values while the gang waits, one pod short, and at the end.
    fn ruling(reported: [&str; 3]) -> Ruling {
        let [waiting, short, end] = reported.map(gang);
        let running =
            Story::whole().submitted(one_clique(VICTIM, 1)).added(gang("False")).workers(VICTIM, 1, 1);
        let evicted = running.mark(ARRIVED, Value::Null).deleted(worker(VICTIM, 0, Some("n")));
        let replaced = evicted.added(worker(VICTIM, 1, None)).modified(waiting).mark(REPLACED, Value::Null);
        let story = replaced.mark(DELAYED, Value::Null).modified(short).mark(ONE_SHORT, Value::Null);
        let story = story.mark(BOUND_AGAIN, Value::Null).modified(end).mark(REPORT_ENDED, Value::Null);
        let found = check(&story.end()).into_iter().find(|finding| finding.clause == PRE_13);
        found.expect("a finding of the clause").ruling
    }

    #[rstest::rstest]
    #[case::until_bound(["True", "True", "False"], &[])]
    #[case::never(["False", "False", "False"], &["eviction-not-reported"])]
    #[case::taken_back(["True", "False", "False"], &["eviction-not-reported"])]
    #[case::too_long(["True", "True", "True"], &["eviction-wrongly-reported"])]
    fn an_eviction_is_reported_until_the_gang_is_bound(#[case] reported: [&str; 3], #[case] wanted: &[&str]) {
        assert_eq!(codes(ruling(reported)), wanted);
    }
}
