//! A clique 2 -> 3, a scaling group 1 -> 3 (two scaled PodGangs of 3 pods), the set 1 -> 2; then all of it back.

use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_expect::scaling;
use conformance_history::{History, Live, MarkName, SharedMark};
use conformance_judge::idle_writes::{self, Concern};
use conformance_judge::{finding, gang_resources, gangs};
use serde_json::Value;

/// GANG-10.
pub(crate) const CASE: Case = Case::new(
    "Scaling a clique, a scaling group and a set, out and in, changes what it concerns and nothing else",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["GANG-10"])
.nodes(&[nodes(1)]);

const SET: &str = "scaled";
const CLIQUE: (&str, &str) = ("PodClique", "scaled-0-router");
const GROUP: (&str, &str) = ("PodCliqueScalingGroup", "scaled-0-model");
const WHOLE: (&str, &str) = ("PodCliqueSet", SET);
const STEPS: [((&str, &str), u32); 6] =
    [(CLIQUE, 3), (GROUP, 3), (WHOLE, 2), (WHOLE, 1), (GROUP, 1), (CLIQUE, 2)];

/// Mark: after each step, that the set has converged and its gang resources have followed.
const FOLLOWED: MarkName = MarkName::of_case("followed");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    for ((kind, name), replicas) in STEPS {
        test.scale(kind, name, replicas).await?;
        test.until_converged(SET).await?;
        until_followed(test).await?;
    }
    Ok(())
}

/// A gang resource that says how many pods there are may follow after everything else has converged.
async fn until_followed(test: &TestContext) -> Result<(), Stop> {
    let history = test.history();
    let set = history.header.submitted.get(SET);
    let gangs = set.map(|set| scaling::gangs(&history, set, history.entries.len())).unwrap_or_default();
    let follow = |live: &Live| gang_resources::as_the_pod_gangs_say(&history, live, &gangs).is_ok();
    test.until("the gang resources as they should be", REACTION, follow).await?;
    test.mark(FOLLOWED, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("GANG-10", || {
        for (number, (scaled, _)) in history.marks(SharedMark::Scaled).enumerate() {
            let followed = history.marks(FOLLOWED).nth(number).map(|(index, _)| index);
            step(history, scaled, followed.unwrap_or(history.entries.len()))?;
            if followed.is_none() {
                return Err(Broken::NotReached(format!("it did not converge after step {}", number + 1)));
            }
        }
        match history.marks(SharedMark::Scaled).count() == STEPS.len() {
            true => Ok(()),
            false => Err(Broken::NotReached("not every step was taken".into())),
        }
    })]
}

/// One scaling, from its mark to the state after it.
fn step(history: &History, scaled: usize, until: usize) -> Ruling {
    let pcs = history.submitted(SET)?;
    let (before, after) = (scaling::gangs(history, pcs, scaled), scaling::gangs(history, pcs, scaled + 1));
    let live = history.before(until);
    gangs::base(&live, SET, &after)?;
    gangs::scaled(history, &live, &after)?;
    gangs::references_are_the_pods(&live, &after)?;
    gang_resources::owned(history, &live, &after)?;
    gang_resources::as_the_pod_gangs_say(history, &live, &after)?;
    idle_writes::others_untouched(
        history,
        scaled,
        until,
        &Concern::of(history.header.target, SET, &before, &after),
    )
}
