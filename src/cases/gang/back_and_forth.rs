//! A PodCliqueSet of 2 replicas, each with 2 replicas of a scaling group; the names share prefixes and
//! suffixes. A scaling group is scaled 2 -> 1 -> 2 and the PodCliqueSet 2 -> 1 -> 2 without a pause. Objects
//! are created while earlier ones of the same name terminate.

use conformance_contract::ruling::{Finding, Ruling};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_history::{History, Live, MarkName};
use conformance_judge::{finding, gang_resources};
use serde_json::Value;

pub(crate) const CASE: Case = Case::new(
    "Scaling in and out again at once ends in the original state",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["GANG-10"])
.nodes(&[nodes(1)]);

const SET: &str = "p";
const STEPS: [(&str, &str, [u32; 2]); 2] =
    [("PodCliqueScalingGroup", "p-0-p-0", [1, 2]), ("PodCliqueSet", SET, [1, 2])];
const OVER: MarkName = MarkName::of_case("all steps over");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    for (kind, name, sizes) in STEPS {
        for replicas in sizes {
            test.scale(kind, name, replicas).await?;
        }
        // The old state looks as if nothing were left to do.
        test.until_settled(|_| false).await;
        test.until_converged(SET).await?;
        let history = test.history();
        test.until("gang resources that match their PodGangs", REACTION, |live| {
            as_it_was(&history, live).is_ok()
        })
        .await?;
    }
    test.mark(OVER, Value::Null);
    Ok(())
}

fn as_it_was(history: &History, live: &Live) -> Ruling {
    gang_resources::as_scaled_last(history, live, SET)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("GANG-10", || {
        as_it_was(history, &history.end())?;
        history.reached(OVER).map(drop)
    })]
}
