//! 1 node; a clique of 2 pods (minimum 1) and a scaling group of 2 replicas (minimum 1).

use crate::prelude::*;

marks! { OVER = "all changes over"; }

const SET: &str = "rapid";
const CLIQUE: &str = "rapid-0-front";
const GROUP: &str = "rapid-0-pool";

pub(crate) const CASE: Case = case!("Five scale changes within one second end in the last requested state")
    .clauses(&[AUTO_08])
    .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    for (kind, name, sizes) in
        [("PodCliqueScalingGroup", GROUP, [4, 1, 5, 2, 3]), ("PodClique", CLIQUE, [5, 1, 4, 2, 3])]
    {
        for replicas in sizes {
            test.scale_as_an_autoscaler(kind, name, replicas).await?;
        }
    }
    // An intermediate state may look like the final one, so the case waits for a quiet period.
    test.until_settled(|_| false).await;
    test.until_converged(SET).await?;
    test.until_resources_match(SET).await?;
    test.mark(OVER, Value::Null);
    Ok(())
}

fn matches_last_scaling(history: &History, live: &Live) -> Ruling {
    scaled::requests_replicas(live, "PodCliqueScalingGroup", GROUP, 3)?;
    scaled::requests_replicas(live, "PodClique", CLIQUE, 3)?;
    gang_resources::as_scaled_last(history, live, SET)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AUTO_08, || {
        scaled::none_bound_for_removed_replica(history, GROUP)?;
        history.at(OVER, |over| matches_last_scaling(history, &history.before(over)))
    })]
}
