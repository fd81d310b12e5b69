//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs with the strategy OnDelete. The case closes the nodes to new
//! pods and deletes all pods of the gang. When two nodes are open again, 2 of 3 pods fit.

use std::collections::BTreeSet;

use crate::prelude::*;
use crate::term::replica;

marks! {
    DELETED = "all pods deleted by hand";
    SHORT = "room for two of three";
    BACK = "all are back";
}

const SET: &str = "all-deleted";
const CLIQUE: &str = "all-deleted-0-worker";

pub(crate) const CASE: Case = case!("A gang whose pods are all deleted under OnDelete is bound whole again")
    .clauses(&[UPD_36])
    .nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    let nodes: Vec<_> = test.nodes.iter().map(|node| node.name.clone()).collect();
    for node in &nodes {
        test.close(node, true).await?;
    }
    // The mark comes first, because the check considers only pods that are created after the mark.
    test.mark(DELETED, Value::Null);
    let old: BTreeSet<String> = test.look(|live| live.pods().map(|pod| pod.uid().to_owned()).collect());
    for pod in test.pods_of(CLIQUE) {
        test.force_delete_pod(&pod).await?;
    }
    let created = Awaited::demanded_by(AON_11, "all three pods created again and released");
    test.until(created, SCHEDULING, |live| {
        let pods = pods_of(live, CLIQUE);
        pods.filter(|pod| !old.contains(pod.uid()) && pod.gates().is_empty()).count() == 3
    })
    .await?;
    for node in nodes.iter().skip(1) {
        test.close(node, false).await?;
    }
    test.scheduler_passes().await?;
    test.mark(SHORT, Value::Null);
    for node in nodes.iter().take(1) {
        test.close(node, false).await?;
    }
    let back = Awaited::demanded_by(UPD_36, "all three pods bound again");
    test.until(back, SCHEDULING, |live| live.bound_pods_of_set(SET) == 3).await?;
    test.mark(BACK, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![update_finding(history, UPD_36, || {
        let (deleted, _) = history.reached(DELETED)?;
        let (scope, units) = (replica(history, SET, 0)?.scope(), history.units(SET)?);
        history.at(SHORT, |place| {
            let until_short = history.upto(place);
            binding::never(&generations::created_since(&until_short, &scope, deleted), &units, None)
        })?;
        history.at(BACK, |place| binding::whole(&history.before(place), &units))
    })]
}
