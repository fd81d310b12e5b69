//! 1 node; a PodCliqueSet of 2 replicas of 6 pods: 2, and 2 replicas of a scaling group of 2. The names share
//! prefixes and suffixes. A group and then the PodCliqueSet are scaled 2 -> 1 -> 2 without a pause, so
//! objects are created while others of the same name terminate.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("Scaling in and out again at once ends in the original state")
    .clauses(&[GANG_10])
    .nodes(&[nodes(1)]);

const SET: &str = "p";
const STEPS: [(&str, &str, [u32; 2]); 2] =
    [("PodCliqueScalingGroup", "p-0-p-0", [1, 2]), ("PodCliqueSet", SET, [1, 2])];

marks! { OVER = "all steps over"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    for (kind, name, sizes) in STEPS {
        for replicas in sizes {
            test.scale(kind, name, replicas).await?;
        }
        // The state before the scaling also looks converged, so the case waits for a quiet period.
        test.until_settled(|_| false).await;
        test.until_converged(SET).await?;
        let history = test.history();
        test.until("gang resources that match their PodGangs", REACTION, |live| {
            matches_last_scaling(&history, live).is_ok()
        })
        .await?;
    }
    test.mark(OVER, Value::Null);
    Ok(())
}

fn matches_last_scaling(history: &History, live: &Live) -> Ruling {
    gang_resources::as_scaled_last(history, live, SET)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(GANG_10, || {
        matches_last_scaling(history, &history.end())?;
        history.reached(OVER).map(drop)
    })]
}
