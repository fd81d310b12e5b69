//! 7 nodes x 8 GPUs; a scaling group of 1 replica of 2 pods x 8 GPUs, scaled 1 -> 5 in one step: room for two
//! more replicas, and half of a third.

use conformance_check::gangs;

use crate::prelude::*;

marks! {
    FULL = "as far as there is room";
}

const SET: &str = "scaled-out";

pub(crate) const CASE: Case = case!("A scaling group scaled out by four binds only the replicas that fit")
    .clauses(&[AUTO_04])
    .nodes(&[nodes(7).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", "scaled-out-0-pool", 5).await?;
    let history = test.history();
    let sent = test.manifest(SET)?;
    let all = scaling::gangs(&history, &sent, history.entries.len());
    for gang in all.iter().filter(|gang| !gang.is_base) {
        test.until_released(gang).await?;
    }
    test.until_bound(6).await?;
    test.canaries().await?;
    test.mark(FULL, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AUTO_04, || {
        let (scaled, _) = history.reached(SharedMark::Scaled)?;
        history.at(FULL, |end| {
            let until = history.upto(end);
            let wanted = scaling::gangs(&until, history.submitted(SET)?, scaled + 1);
            let scaled_gangs: Vec<&Gang> = wanted.iter().filter(|gang| !gang.is_base).collect();
            let units: Vec<_> = scaled_gangs.iter().map(|gang| gang.units(history.header.target)).collect();
            all([
                precondition(GANG_03, gangs::scaled(&until, &until.end(), &wanted)),
                binding::some_whole_others_never(&until, &units, 2, None),
            ])
        })
    })]
}
