//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short. The case deletes the first gang resource of
//! the gang while the operator is down. Then it deletes this resource eight times, each time with a different
//! fault between the operator and the API server. Then the case changes each pod once, because
//! koord-scheduler counts only pods that changed after their PodGroup was restored. Finally, a third node
//! joins. Case `gang/restored-while-pending` tests the scheduler without these pod changes.

use conformance_history::name;

use super::by_hand;
use crate::disturbances::{self, Disturbed};
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A deleted gang resource of a pending gang is restored despite API faults", restored)
        .clauses(&[GANG_12, GANG_26])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)])
        .with(&[Property::OwnScheduler])
        .isolation(Isolation::Dedicated);

const SET: &str = "mended";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.scheduler_passes_over(&gangs[0]).await?;
    let first = schedulers::resources_of(test.target, &test.base_gang(SET)?).into_iter().next();
    for resource in first.iter() {
        let (kind, name) = (resource.kind, resource.name.wanted.as_str());
        let deleted_uid = by_hand::uid(test, kind, name);
        test.kill_part(Part::Controller).await?;
        test.delete(kind, name).await?;
        test.start_ready(Part::Controller).await?;
        by_hand::until_restored(test, kind, name, deleted_uid).await?;
    }
    let mut disturbed = Disturbed::start(test).await?;
    while disturbed.next(test).await? {
        for resource in first.iter() {
            by_hand::delete_until_restored(test, resource.kind, &resource.name.wanted).await?;
        }
    }
    let pods: Vec<_> = test.look(|live| live.of("Pod").map(|pod| name(pod).to_owned()).collect());
    for pod in pods {
        test.patch_as_another_client(
            "Pod",
            &pod,
            json!({"metadata": {"annotations": {"example.com/note": "seen"}}}),
        )
        .await?;
    }
    test.add_nodes(1).await?;
    test.until_bound(3).await
}

fn restored_each_time(history: &History) -> Ruling {
    history.waited_for(SharedMark::SchedulerPassed)?;
    gang_resources::were_created(history, &history.gangs(SET)?)?;
    for (index, mark) in history.marks(SharedMark::Deleted) {
        let text = |key: &str| mark.detail[key].as_str().unwrap_or_default();
        gang_resources::restored(history, index, text("kind"), text("name"))?;
    }
    disturbances::all_applied(history)
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![
        finding(GANG_12, || restored_each_time(history)),
        finding(GANG_26, || {
            precondition(GANG_12, restored_each_time(history))?;
            binding::whole(&history.end(), &history.units(SET)?)
        }),
    ]
}
