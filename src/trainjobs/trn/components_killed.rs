//! 2 nodes x 8 GPUs; a TrainJob of 3 pods x 8 GPUs: one pod short. While it waits, the case kills and
//! restarts each component that creates or schedules it. Then 4 nodes join. A second TrainJob has two Jobs.
//! JobSet creates one of them, and a proxy holds the request for the other, so half of the TrainJob exists.
//! The case kills each component once more, JobSet last.

use conformance_install::part::Part;
use conformance_proxy::{Action, Match, Rule, Verb, When};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A TrainJob becomes one whole gang although components are killed and restarted", restored)
        .clauses(&[TRN_16])
        .nodes(&[nodes(2).gpus(8), nodes(4).gpus(8).joining(1)])
        .isolation(Isolation::Dedicated);

const PENDING: &str = "pending";
const HALF: &str = "half";

marks! { HALF_CREATED = "half created"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let pending = test.submit_train_job(PENDING).await?;
    test.until_considered(TRN_18, PENDING, pending.pods()).await?;
    for part in parts(test)? {
        kill(test, part).await?;
    }
    test.scheduler_passes().await?;
    test.add_nodes(1).await?;
    test.until_tried_again(TRN_16, PENDING, pending.pods()).await?;

    let second_job = Rule {
        when: When { from: 2, ..When::default() },
        ..Rule::new(
            "request for a Job held",
            Match::of(&[Verb::Create], &["jobs"]).in_namespace(&test.namespace),
            Action::Hold,
        )
    };
    let (proxy, held) = test.proxy(Part::JOB_SET, |proxy| proxy.add(second_job)).await?;
    let half = test.submit_train_job(HALF).await?;
    test.until_applied(&proxy, held, 1, "the request for the second Job held", limits::REACTION).await?;
    // The proxy may see the second request before the watch delivers the first Job.
    test.until(Awaited::of_harness("the first Job created"), limits::REACTION, |live| {
        live.of("Job").any(|job| checks::is_job_of(job, HALF))
    })
    .await?;
    test.mark(HALF_CREATED, Value::Null);
    for part in parts(test)?.into_iter().filter(|part| *part != Part::JOB_SET) {
        kill(test, part).await?;
    }
    test.kill_part(Part::JOB_SET).await?;
    proxy.abandon(held);
    test.start_ready(Part::JOB_SET).await?;
    test.until_bound_of(TRN_16, HALF, half.pods()).await
}

fn parts(test: &TestContext) -> Result<Vec<Part>, Stop> {
    let spec = test.local()?.spec();
    let of_scheduler = spec.parts_of(test.target.scheduler());
    Ok(Part::OF_TRAINER
        .into_iter()
        .filter(|part| spec.parts().any(|started| started == *part))
        .chain(of_scheduler)
        .collect())
}

async fn kill(test: &TestContext, part: Part) -> Result<(), Stop> {
    test.kill_part(part).await?;
    test.start_ready(part).await
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(TRN_16, || {
        history.reached(SharedMark::SchedulerPassed)?;
        let (at, _) = history.reached(HALF_CREATED)?;
        if history.before(at).of("Job").filter(|job| checks::is_job_of(job, HALF)).count() != 1 {
            return Err(Broken::NotReached("the TrainJob never had exactly one of its two Jobs".into()));
        }
        all([PENDING, HALF].into_iter().map(|name| {
            checks::whole(&history.end(), &checks::units(history, name)?)?;
            checks::is_its_gang(history, name)
        }))
    })]
}
