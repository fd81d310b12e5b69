//! 2 racks of 2 nodes x 8 GPUs. PodCliqueSet `scoped`, 2 leaders (minimum 1) and 3 workers (minimum 2), each
//! x 8 GPUs, requires one rack: no rack has room for the 3 required pods. When a third node joins rack b, the
//! required pods fit there, and surplus pods may not use rack a. With two more nodes, the surplus pods fit.
//! PodCliqueSet `wide` has 9 cliques of 1 pod, more podgroups than a Workload has room for.

use conformance_check::excess_pods;
use conformance_contract::names::POD_INDEX;

use crate::prelude::*;

marks! {
    NO_ROOM = "no rack has room";
    OTHER_RACK = "only the other rack has room";
}

pub(crate) const CASE: Case =
    case!("In PodGang scope, one PodGroup holds the hard gang, and surplus follows it")
        .clauses(&[KUBE_08, KUBE_18])
        .nodes(&[
            nodes(2).gpus(8).rack("a"),
            nodes(2).gpus(8).rack("b"),
            nodes(1).gpus(8).rack("b").joining(1),
            nodes(2).gpus(8).rack("b").joining(2),
        ])
        .in_scope("PodGang");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("scoped").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.mark(NO_ROOM, Value::Null);
    test.add_nodes(1).await?;
    let released = Awaited::demanded_by(KUBE_18, "surplus pods released to the scheduler");
    test.until(released, limits::SCHEDULING, |live| live.pods().all(|pod| pod.gates().is_empty())).await?;
    test.canaries().await?;
    test.mark(OTHER_RACK, Value::Null);
    test.add_nodes(2).await?;
    test.until_bound(5).await?;

    let is_member =
        |pod: &Pod<'_>| pod.pod_clique() == Some("scoped-0-worker") && pod.label(POD_INDEX) == Some("0");
    let member = test
        .look(|live| live.pods().find(is_member).map(|pod| (pod.name().to_owned(), pod.uid().to_owned())));
    let (lost, uid) = member.unwrap_or_default();
    test.force_delete_pod(&lost).await?;
    let replaced = Awaited::demanded_by(AON_11, format!("Pod {lost} replaced"));
    test.until(replaced, limits::SCHEDULING, |live| {
        live.pods().all(|pod| pod.uid() != uid) && live.bound() == 5
    })
    .await?;

    test.submit("wide").await?;
    test.until_bound(14).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KUBE_08, || {
            // The first checks skip `wide` if the case stopped before submitting it; the last requires it.
            let sent = |set| history.submitted(set).is_ok().then(|| history.gangs(set)).transpose();
            let gangs = [history.gangs("scoped")?, sent("wide")?.unwrap_or_default()].concat();
            let end = history.end();
            gang_resources::match_pod_gangs(history, &end, &gangs)?;
            for gang in &gangs {
                excess_pods::members_have_the_lowest_indexes(history, gang)?;
            }
            history.reached(SharedMark::PodLost)?;
            history.submitted("wide").map(drop)
        }),
        finding(KUBE_18, || {
            let scoped = history.base("scoped")?;
            excess_pods::released_after_the_hard_gang(history, &scoped)?;
            excess_pods::released_into_the_domain(history, &scoped, RACK)?;
            precondition(TOPO_01, placement::gang_in_one_domain(history, &scoped.name, RACK))?;

            let (no_room, _) = history.reached(NO_ROOM)?;
            precondition(TOPO_02, binding::never(history, &history.units("scoped")?, Some(no_room)))?;
            let (other_rack, _) = history.reached(OTHER_RACK)?;
            let live = history.before(other_rack);
            precondition(TOPO_01, binding::exactly(&live, "scoped-0-leader", 1))?;
            precondition(TOPO_01, binding::exactly(&live, "scoped-0-worker", 2))
        }),
    ]
}
