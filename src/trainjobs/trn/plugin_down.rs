//! A TrainJob runs when the plugin is killed. A second TrainJob is submitted while the plugin is down.

use conformance_check::admission::left_nothing;
use conformance_facts::attempts::unanswered;
use conformance_install::part::Part;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Without the plugin, new TrainJobs are refused and a running one continues", restored)
        .clauses(&[TRN_23])
        .nodes(&[nodes(2).gpus(1)])
        .needs(&[Need::TrainerPlugin])
        .isolation(Isolation::Dedicated);

const RUNS: &str = "runs";
const LATER: &str = "later";

marks! { BACK = "the plugin is ready again"; }

const AWAY: &[Attempt] = &[unanswered("a TrainJob without the plugin", &["trainer-kai-plugin"], |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(RUNS).await?;
    test.until_pods_of(TRN_18, RUNS, train_job.pods()).await?;
    test.kill_part(Part::TRAINER_PLUGIN).await?;
    test.attempt_creates(&test.document("TrainJob", LATER)?, AWAY).await?;
    test.start_ready(Part::TRAINER_PLUGIN).await?;
    test.mark(BACK, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(TRN_23, || {
        answers(history, AWAY)?;
        left_nothing(history, AWAY)?;
        let (away, _) = history.reached(SharedMark::ComponentStopped)?;
        let (back, _) = history.reached(BACK)?;
        checks::has_the_same_pods(history, RUNS, away, back)
    })]
}
