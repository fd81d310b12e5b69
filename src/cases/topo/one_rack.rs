//! Racks a and b have one node x 8 GPUs, racks c and d have 2 nodes x 16 GPUs. A gang of 2 required and 2
//! surplus pods, each x 8 GPUs, fits in c or d. Spread pods would use 4 nodes, more than any rack has.

use conformance_check::topology_condition::{self, Topology};

use crate::prelude::*;

marks! { REPORTED = "topology reported"; }

pub(crate) const CASE: Case = case!("All pods of a gang that requires one rack share it, surplus included")
    .clauses(&[TOPO_01, KUBE_11, TOPO_20])
    .nodes(&[
        nodes(1).gpus(8).rack("a"),
        nodes(1).gpus(8).rack("b"),
        nodes(2).gpus(16).rack("c"),
        nodes(2).gpus(16).rack("d"),
    ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("racked").await?;
    test.until_bound(4).await?;
    let reported = Awaited::demanded_by(TOPO_20, "the PodCliqueSet reports that its topology has all levels");
    test.until(reported, REACTION, |live| {
        topology_condition::reports(live, "racked", Topology::HasLevels).is_ok()
    })
    .await?;
    test.mark(REPORTED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TOPO_01, || {
            let placed = placement::gang_in_one_domain(history, &history.base("racked")?.name, RACK);
            all([placed, binding::all(&history.end(), &history.gangs("racked")?)])
        }),
        finding(TOPO_20, || {
            history.at(REPORTED, |place| {
                topology_condition::reports(&history.before(place), "racked", Topology::HasLevels)
            })
        }),
    ]
}
