//! PodCliqueSet `tree-surplus` requires one block for 6 pods, each x 1 GPU: 2 routers, 2 prefill pods and 2
//! decode pods. Prefill and decode require one rack together, and prefill requires one host. Each clique has
//! 1 required and 1 surplus pod. Block x, 1 node x 2 GPUs, is one pod short. Block y joins with 2 racks of 2
//! nodes x 8 GPUs: every node fits all pods. A required pod is lost, so its clique keeps a surplus pod.

use conformance_check::excess_pods;
use conformance_contract::names::{BLOCK, HOST, POD_INDEX};

use crate::prelude::*;

marks! {
    NO_ROOM = "no block has room";
    REPLACED = "the lost member is replaced";
    SCALED_IN = "scaled in to the minimum";
}

const SET: &str = "tree-surplus";
const ROUTER: &str = "tree-surplus-0-router";
const PREFILL: &str = "tree-surplus-0-model-0-prefill";
const DECODE: &str = "tree-surplus-0-model-0-decode";

pub(crate) const CASE: Case =
    case!("A tree holds only the hard gang; surplus and replacements join its domains")
        .clauses(&[KUBE_18, KUBE_20])
        .nodes(&[
            nodes(1).gpus(2).block("x").rack("x1"),
            nodes(2).gpus(8).block("y").rack("y1").joining(1),
            nodes(2).gpus(8).block("y").rack("y2").joining(1),
        ])
        .in_scope("Tree");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit(SET).await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.mark(NO_ROOM, Value::Null);
    test.add_nodes(1).await?;
    test.until_bound(6).await?;

    let is_member = |pod: &Pod<'_>| pod.pod_clique() == Some(PREFILL) && pod.label(POD_INDEX) == Some("0");
    let member = test
        .look(|live| live.pods().find(is_member).map(|pod| (pod.name().to_owned(), pod.uid().to_owned())));
    let (lost, uid) = member.unwrap_or_default();
    test.force_delete_pod(&lost).await?;
    let replaced = Awaited::demanded_by(AON_11, format!("Pod {lost} replaced"));
    test.until(replaced, limits::SCHEDULING, |live| {
        live.pods().all(|pod| pod.uid() != uid) && live.bound() == 6
    })
    .await?;
    test.mark(REPLACED, Value::Null);

    test.scale_as_an_autoscaler("PodClique", ROUTER, 3).await?;
    test.until_bound(7).await?;
    test.scale_as_an_autoscaler("PodClique", ROUTER, 1).await?;
    let awaited = Awaited::demanded_by(GANG_10, format!("1 pod of PodClique {ROUTER}"));
    test.until(awaited, limits::REACTION, |live| {
        live.pods().filter(|pod| pod.pod_clique() == Some(ROUTER)).count() == 1
    })
    .await?;
    test.mark(SCALED_IN, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KUBE_18, || {
            let gangs = history.gangs(SET)?;
            for gang in &gangs {
                excess_pods::released_after_the_hard_gang(history, gang)?;
                for (key, cliques) in
                    [(BLOCK, &[ROUTER, PREFILL, DECODE][..]), (RACK, &[PREFILL, DECODE]), (HOST, &[PREFILL])]
                {
                    excess_pods::released_into_the_domain(history, &only(gang, cliques), key)?;
                }
                precondition(TOPO_01, placement::gang_in_one_domain(history, &gang.name, BLOCK))?;
            }
            let (no_room, _) = history.reached(NO_ROOM)?;
            precondition(TOPO_02, binding::never(history, &history.units(SET)?, Some(no_room)))
        }),
        finding(KUBE_20, || {
            let gangs = history.gangs(SET)?;
            for gang in &gangs {
                excess_pods::members_have_the_lowest_indexes(history, gang)?;
            }
            history.reached(REPLACED)?;
            let end = history.end();
            precondition(KUBE_10, gang_resources::match_pod_gangs(history, &end, &gangs))?;
            history.reached(SCALED_IN)?;
            excess_pods::members_are_left(&end, &history.base(SET)?, ROUTER)
        }),
    ]
}

fn only(gang: &Gang, cliques: &[&str]) -> Gang {
    let mut gang = gang.clone();
    gang.groups.retain(|group| cliques.contains(&group.clique.as_str()));
    gang
}
