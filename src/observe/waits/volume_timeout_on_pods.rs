//! 1 node x 8 GPUs; a gang of 1 pod x 8 GPUs: it fits. It has a claim, for which nobody creates a volume.

use std::time::Duration;

use super::volume_never_created::create_claiming_pod;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "No volume is created for the claim of a pod within ten minutes. What reason does the pod report?"
)
.answers(reports::ON_PODS)
.asked(Asked::Slow)
.nodes(&[nodes(1).gpus(8)]);

const GANG: PlainGang = PlainGang::new("timed-out", 1);
/// The default of kube-scheduler and of the schedulers that contain its plugin VolumeBinding.
const BINDING_TIMEOUT: Duration = Duration::from_secs(600);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::changed(test);
    create_claiming_pod(test, &GANG, 0).await?;
    test.watch_for(BINDING_TIMEOUT).await?;
    steps::observe(test, "a report on the pod", has_report).await
}

fn has_report(live: &Live) -> bool {
    !reports::pod_messages(live, &GANG).is_empty()
}

fn answer(history: &History) -> Answered {
    let after = seen::seconds_after_change(history, has_report);
    Ok(reports::on_pods(&seen::observed(history)?, &GANG)?.seconds("creation to report", after))
}
