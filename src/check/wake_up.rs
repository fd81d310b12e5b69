use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::Unit;
use conformance_facts::binding::not_fully_bound;
use conformance_history::{History, Live, Pod};
use jiff::SignedDuration;

use super::{deviates, none, violation};

pub const BOUND_TOO_LATE: Code = Code::new("bound-too-late");

/// The default maximum backoff of a pod in kube-scheduler.
const LIMIT: SignedDuration = SignedDuration::from_secs(10);

/// Time for the operator, the watches and the bindings, in addition to two cycles of the scheduler. In 61
/// measured cases of Volcano and KAI, it was at most 0.6 s after division by the slowness.
const REACTION: SignedDuration = SignedDuration::from_secs(3);

/// Half of the time after which kube-scheduler retries all pods. A later binding may not be due to the event.
const LONGEST: SignedDuration = SignedDuration::from_secs(150);

/// Requires that these units are bound whole within the wake-up time after the entry `ended`.
pub fn is_bound_soon(history: &History, units: &[Unit], ended: usize) -> Ruling {
    let live = within_limit(history, ended)?;
    none(not_fully_bound(&live, units).map(|short| deviates(BOUND_TOO_LATE, short)))
}

pub fn are_bound_soon(history: &History, pods: &[&str], ended: usize) -> Ruling {
    let live = within_limit(history, ended)?;
    let late = pods.iter().filter(|name| live.get("Pod", name).is_none_or(|pod| Pod(pod).node().is_none()));
    none(late.map(|name| violation(BOUND_TOO_LATE, format!("Pod {name} is not bound"))))
}

fn wake_up_time(history: &History) -> SignedDuration {
    let Some(cycle) = history.header.cycle_millis else { return LIMIT };
    LIMIT.min(REACTION + SignedDuration::from_millis(i64::from(cycle)) * 2)
}

fn within_limit(history: &History, ended: usize) -> Result<Live, Broken> {
    let limit = history.allowed(wake_up_time(history));
    let Some(entry) = history.entries.get(ended).filter(|_| limit <= LONGEST) else {
        let why = "the machine was so slow that the scheduler may have retried all pods";
        return Err(Broken::NotReached(why.into()));
    };
    let last = entry.at + limit;
    let until = history.entries.iter().position(|entry| entry.at > last);
    Ok(history.before(until.unwrap_or(history.entries.len())))
}

#[cfg(test)]
mod tests {
    use conformance_history::MarkName;
    use conformance_history::testing::{Story, worker};
    use serde_json::Value;

    use super::*;
    use crate::codes;

    const ENDED: MarkName = MarkName::of_case("ended");

    fn bound_after(seconds: i64) -> History {
        let ended = Story::flat().workers("w", 2, 1).later(100).mark(ENDED, Value::Null);
        ended.later(seconds).modified(worker("w", 1, Some("n"))).end()
    }

    fn ruling(history: &History) -> Ruling {
        let units = [Unit { gang: "w-0".into(), minimums: vec![("w-0-worker".into(), 2)] }];
        let (ended, _) = history.reached(ENDED).expect("the mark");
        is_bound_soon(history, &units, ended)
    }

    #[rstest::rstest]
    #[case::at_once(0, None, &[])]
    #[case::in_time(10, None, &[])]
    #[case::late(11, None, &["bound-too-late"])]
    #[case::late_on_a_slow_machine(29, Some(3.0), &[])]
    #[case::too_late_on_a_slow_machine(31, Some(3.0), &["bound-too-late"])]
    fn a_gang_is_bound_soon(#[case] seconds: i64, #[case] slowness: Option<f64>, #[case] wanted: &[&str]) {
        let mut history = bound_after(seconds);
        history.header.slowness = slowness;
        assert_eq!(codes(ruling(&history)), wanted);
    }

    #[rstest::rstest]
    #[case::two_cycles(200, 3, None, &[])]
    #[case::more_cycles(200, 4, None, &["bound-too-late"])]
    #[case::two_long_cycles(1000, 5, None, &[])]
    #[case::after_two_long_cycles(1000, 6, None, &["bound-too-late"])]
    #[case::cycles_of_a_minute(60_000, 11, None, &["bound-too-late"])]
    #[case::on_a_slow_machine(200, 10, Some(3.0), &[])]
    #[case::too_late_on_a_slow_machine(200, 11, Some(3.0), &["bound-too-late"])]
    fn a_scheduler_with_cycles_binds_within_two_of_them(
        #[case] cycle: u32,
        #[case] seconds: i64,
        #[case] slowness: Option<f64>,
        #[case] wanted: &[&str],
    ) {
        let mut history = bound_after(seconds);
        history.header.cycle_millis = Some(cycle);
        history.header.slowness = slowness;
        assert_eq!(codes(ruling(&history)), wanted);
    }

    #[rstest::rstest]
    #[case::in_time(10, &[])]
    #[case::late(11, &["bound-too-late"])]
    fn pods_without_an_operator_are_bound_soon(#[case] seconds: i64, #[case] wanted: &[&str]) {
        let history = bound_after(seconds);
        let (ended, _) = history.reached(ENDED).expect("the mark");
        let pods: Vec<_> = history.names("Pod").into_iter().collect();
        assert_eq!(codes(are_bound_soon(&history, &pods, ended)), wanted);
    }

    #[test]
    fn a_gang_that_is_never_bound_is_not_bound_soon() {
        let history = Story::flat().workers("w", 2, 1).mark(ENDED, Value::Null).end();
        assert_eq!(codes(ruling(&history)), ["bound-too-late"]);
    }

    #[test]
    fn a_very_slow_machine_decides_nothing() {
        let mut history = bound_after(1);
        history.header.slowness = Some(16.0);
        assert!(matches!(ruling(&history), Err(Broken::NotReached(_))));
    }
}
