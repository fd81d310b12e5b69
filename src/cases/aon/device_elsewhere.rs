//! Node a has 8 GPUs and a device; node b has 16 GPUs and no device. A gang has 2 pods x 8 GPUs, which share
//! a device through one claim. Node a lacks GPUs for the second pod, and node b lacks the device. Then the
//! case cordons node a and adds a device to node b. Without the cordon, a scheduler that places pods one by
//! one may choose node a for the first pod.

use conformance_check::lifecycle::claims;
use conformance_expect::scopes::replicas;

use crate::prelude::*;

marks! {
    PASSED = "the scheduler has tried the gang";
    BOUND = "the gang is bound";
}

const SET: &str = "paired";
const PODS: usize = 2;

pub(crate) const CASE: Case = case!("A gang with a shared device waits until one node has room and a device")
    .clauses(&[AON_02, AON_03])
    .with_feature(Feature::Claims)
    .needs(&[Need::Devices])
    .nodes(&[nodes(1).gpus(8), nodes(1).gpus(16)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.publish_devices(1).await?;
    let without = test.nodes.last().map(|node| node.name.clone()).unwrap_or_default();
    test.withdraw_devices(&without).await?;
    for gang in test.submit(SET).await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.mark(PASSED, Value::Null);
    // If a pod is bound too early, the gang no longer fits, and the case would wait until the timeout.
    if test.look(|live| live.bound() > 0) {
        return Ok(());
    }
    let node = test.nodes[0].name.clone();
    test.cordon(&node, true).await?;
    test.publish_devices(1).await?;
    let bound = Awaited::demanded_by(AON_03, "the gang bound to the node with room and a device");
    test.until(bound, SCHEDULING, |live| live.bound() == PODS).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn was_pending(history: &History) -> Ruling {
    binding::never_until(history, &history.units(SET)?, PASSED)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AON_02, || was_pending(history)),
        finding(AON_03, || {
            precondition(AON_02, was_pending(history))?;
            for replica in replicas(history.submitted(SET)?) {
                precondition(TERM_20, claims::are_shared(history, &replica.scope(), 0))?;
            }
            history.at(BOUND, |place| binding::whole(&history.before(place), &history.units(SET)?))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::afterwards(0, true)]
    #[case::in_part(1, false)]
    #[case::away_from_the_device(2, false)]
    fn no_pod_is_bound_before_a_node_has_room_and_a_device(#[case] bound: usize, #[case] is_satisfied: bool) {
        let waits = Story::flat().submitted(one_clique(SET, PODS)).workers(SET, PODS, bound);
        let history = waits.mark(PASSED, Value::Null).mark(BOUND, Value::Null).end();
        let found = check(&history);
        assert_eq!(found[0].ruling.is_ok(), is_satisfied, "{:?}", found[0].ruling);
        let is_precondition = matches!(found[1].ruling, Err(Broken::Precondition { clause: "AON-02", .. }));
        assert_eq!(is_precondition, !is_satisfied);
    }
}
