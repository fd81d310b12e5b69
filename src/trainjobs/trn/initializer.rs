//! 3 nodes x 1 GPU; a TrainJob with an initializer of 1 pod and a trainer of 2 pods, which are created once
//! the initializer has succeeded. The harness ends the initializer: pods on simulated nodes run indefinitely.

use conformance_driver::pod_health::Containers;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("An initializer is bound first, and the trainer's pods are bound whole after it")
        .clauses(&[TRN_13])
        .nodes(&[nodes(3).gpus(1)]);

const NAME: &str = "staged";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    let pods_of_stage =
        |waits| train_job.jobs.iter().filter(move |job| job.waits == waits).map(|job| job.pods()).sum();
    let (initializers, trainers): (usize, usize) = (pods_of_stage(false), pods_of_stage(true));
    test.until_considered(TRN_13, NAME, initializers).await?;
    test.scheduler_passes().await?;
    test.until_tried_again(TRN_13, NAME, initializers).await?;
    let bound = |live: &Live| live.pods().find(|pod| pod.node().is_some()).map(|pod| pod.name().to_owned());
    let initializer = test.look(bound).unwrap_or_default();
    test.set_pod_status(&initializer, Containers::Succeeded).await?;
    test.until_bound_of(TRN_13, NAME, initializers + trainers).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TRN_13, || checks::whole(&history.end(), &checks::units(history, NAME)?))]
}
