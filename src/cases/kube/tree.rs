//! PodCliqueSet `tree` has topology constraints at all three levels. Its base PodGang has a router and 2 of
//! the 3 replicas of a scaling group of 2 cliques: a PodGroup and 2 CompositePodGroups. Then the case creates
//! a PodGang whose names are too long for a label and for an object. It omits this PodGang if the operator
//! acts only on PodGangs of PodCliqueSets.

use conformance_check::order;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodGang becomes a tree of CompositePodGroups and PodGroups before pods are released")
        .clauses(&[KUBE_10])
        .nodes(&[nodes(2).block("x").rack("x1"), nodes(2).block("x").rack("x2")])
        .in_scope("Tree");

const SET: &str = "tree";
const LONG: &str =
    "a-podgang-of-a-hundred-characters-whose-name-leaves-a-podgroup-of-a-hundred-and-sixty-no-room-at-all";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    if !test.target.acts_on_any_pod_gang() {
        return Ok(());
    }
    let before = test.look(|live| live.of("PodGroup").count());
    test.create("PodGang", &test.manifest(LONG)?).await?;
    test.until("the tree of the long names", REACTION, |live| {
        live.get("CompositePodGroup", LONG).is_some() && live.of("PodGroup").count() >= before + 2
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_10, || {
        history.waited_for(SharedMark::Converged)?;
        let mut gangs = history.gangs(SET)?;
        precondition(GANG_22, order::creation(history, &gangs))?;
        precondition(GANG_07, order::release(history, &gangs))?;
        precondition(GANG_07, order::no_pod_before_its_group(history))?;
        if history.header.target.acts_on_any_pod_gang() {
            gangs.push(Gang::named_only(LONG));
        }
        gang_resources::match_pod_gangs(history, &history.end(), &gangs)
    })]
}
