//! 1 node; cliques of 2 pods with a common name prefix, and a scaling group of 1 pod.

use crate::prelude::*;

marks! { READ = "scale read"; }

const SET: &str = "scalable";
const TARGETS: [(&str, &str); 3] =
    [("PodClique", "scalable-0-front"), ("PodCliqueScalingGroup", "scalable-0-pool"), ("PodCliqueSet", SET)];

pub(crate) const CASE: Case =
    case!("/scale reports replicas, selects exactly the object's pods, and scales the object")
        .clauses(&[AUTO_02])
        .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    read(test).await?;
    for ((kind, name), replicas) in TARGETS.into_iter().zip([3, 2, 2]) {
        test.scale_as_an_autoscaler(kind, name, replicas).await?;
    }
    test.until_converged(SET).await?;
    read(test).await
}

async fn read(test: &TestContext) -> Result<(), Stop> {
    for (kind, name) in TARGETS {
        test.read_scale(READ, kind, name).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AUTO_02, || {
        all(history.marks(READ).map(|(index, mark)| scaled::scale_is_correct(history, index, mark)))?;
        let end = history.end();
        match history.marks(READ).count() {
            6 => all([(TARGETS[0], 3), (TARGETS[1], 2), (TARGETS[2], 2)]
                .into_iter()
                .map(|((kind, name), replicas)| scaled::requests_replicas(&end, kind, name, replicas))),
            read => Err(Broken::NotReached(format!("/scale was read {read} of 6 times"))),
        }
    })]
}
