//! 1 node; a scaling group of 2 replicas of one pod (minimum 1), with a termination delay of 6 s. The pod of
//! the last replica crashes, and the group is scaled in while that replica's delay runs. After the delay
//! would have expired, the group is scaled out again, and another delay passes.

use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::pod_health::Containers;
use conformance_expect::scaling;
use conformance_expect::scopes::Scope;
use conformance_history::{History, MarkName, SharedMark};
use conformance_judge::life::{generations, termination};
use conformance_judge::{all, binding, cleanup, finding};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::replica;

const CRASHED: MarkName = MarkName::of_case("the last replica crashes");
/// Mark: the delay would have expired since the group was scaled in.
const OUTLASTED: MarkName = MarkName::of_case("scaled in for longer than the delay");
/// Mark: another delay has passed since the group was scaled out again.
const OUT_AGAIN: MarkName = MarkName::of_case("scaled out again for longer than the delay");

const SET: &str = "flotilla";
const GROUP: &str = "flotilla-0-wing";
const UNITS: [&str; 2] = ["flotilla-0-wing-0-unit", "flotilla-0-wing-1-unit"];

/// The termination delay: long enough to scale in before it expires.
const DELAY: &str = "6s";
const DELAY_LASTS: SignedDuration = SignedDuration::from_secs(6);

pub(crate) const CASE: Case = Case::new(
    "Scaling in a breached scaling group replica ends its termination delay",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TERM-29"])
.nodes(&[nodes(1)])
.needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_started(SET).await?;
    let clock = test.clock(DELAY).await?;
    test.mark(CRASHED, Value::Null);
    test.first_pod_becomes(UNITS[1], Containers::Crashing).await?;
    test.until_breach_is("True", UNITS[1]).await?;
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 1).await?;
    let gone = scaling::lost(&test.history(), SET);
    test.until_gone(&gone).await.map_err(|stop| stop.owed_by("TERM-29"))?;
    test.clock_runs(&clock, 1, OUTLASTED).await?;
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 2).await?;
    test.until_converged(SET).await.map_err(|stop| stop.owed_by("TERM-29"))?;
    test.clock_runs(&clock, 1, OUT_AGAIN).await?;
    test.stop_clock(clock).await
}

/// Nothing of the PodCliqueSet is terminated and created again.
fn never_recycled(history: &History) -> Ruling {
    let replica = replica(history, SET, 0)?;
    let wings = [0, 1].map(|index| Scope::GroupReplica { group: GROUP.into(), index });
    all(wings
        .into_iter()
        .chain([replica.scope()])
        .map(|scope| termination::times(history, &replica, &scope, 0)))
}

/// Nothing is terminated while the delay of the last replica runs. Undecided (`NotReached`) if the group was
/// scaled in after the delay.
fn scaled_in_time(history: &History) -> Ruling {
    let (crashed, _) = history.reached(CRASHED)?;
    let since = history.entries[crashed].at;
    let is_over = |at: Timestamp| at.duration_since(since) >= DELAY_LASTS;
    let over = history.entries.iter().position(|entry| is_over(entry.at)).unwrap_or(history.entries.len());
    never_recycled(&history.upto(over))?;
    let (scaled, _) = history.reached(SharedMark::Scaled)?;
    match scaled < over {
        true => Ok(()),
        false => Err(Broken::NotReached(
            "the terminationDelay had expired before the scaling group was scaled in".into(),
        )),
    }
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TERM-29", || {
        scaled_in_time(history)?;
        let outlasted = history.waited_for(OUTLASTED)?;
        let before = history.upto(outlasted);
        all([never_recycled(&before), cleanup::removed(&before, &scaling::lost(&before, SET))])?;
        history.reached(OUTLASTED)?;
        let again = history.waited_for(OUT_AGAIN)?;
        // Scaling in and out again looks like a termination.
        let last = Scope::GroupReplica { group: GROUP.into(), index: 1 };
        never_recycled(&generations::made_since(history, &last, outlasted))?;
        all(UNITS.map(|unit| binding::exactly(&history.before(again), unit, 1)))?;
        history.reached(OUT_AGAIN).map(drop)
    })]
}
