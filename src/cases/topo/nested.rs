//! 2 blocks of 2 racks of 2 nodes x 16 GPUs; nodes with adjacent names are in different domains. A gang
//! requires one block and has 2 replicas of a scaling group. Each replica requires one rack and has 2 cliques
//! of 2 pods x 8 GPUs. Each clique requires one host. Gang, replicas and cliques fill their domains. The
//! other block also has room for a part of each of them.

use conformance_contract::names::{BLOCK, HOST};

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang is bound in one block, its replicas in racks, cliques on hosts")
    .clauses(&[TOPO_07, KUBE_11])
    .nodes(&[
        nodes(1).gpus(16).block("x").rack("x1"),
        nodes(1).gpus(16).block("y").rack("y1"),
        nodes(1).gpus(16).block("x").rack("x2"),
        nodes(1).gpus(16).block("y").rack("y2"),
        nodes(1).gpus(16).block("x").rack("x1"),
        nodes(1).gpus(16).block("y").rack("y1"),
        nodes(1).gpus(16).block("x").rack("x2"),
        nodes(1).gpus(16).block("y").rack("y2"),
    ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("nested").await?;
    test.until_bound(8).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_07, || {
        let gangs = history.gangs("nested")?;
        placement::gang_in_one_domain(history, &history.base("nested")?.name, BLOCK)?;
        placement::replicas_in_one_domain(history, &gangs, RACK)?;
        for group in gangs.iter().flat_map(|gang| &gang.groups) {
            placement::clique_in_one_domain(history, &group.clique, HOST)?;
        }
        precondition(AON_01, binding::all(&history.end(), &gangs))
    })]
}
