//! A gang of 2 + 1 pods runs. The case sets KAI's own fields in its PodGroup, and makes the backend write it.

use conformance_check::foreign_fields;
use conformance_expect::schedulers::kai::{POD_GROUP, QUEUE};

use crate::prelude::*;

pub(crate) const CASE: Case = case!("Fields that KAI sets in an existing PodGroup survive an update")
    .clauses(&[KAI_05])
    .nodes(&[nodes(1)]);

const SET: &str = "managed";

marks! { PROCESSED = "generation processed"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let managed = json!({
        "metadata": {"labels": {"kai.scheduler/node-pool": "other-pool", QUEUE.0: "other-queue"}},
        "spec": {"queue": "other-queue", "markUnschedulable": false, "schedulingBackoff": 1},
    });
    let gang = test.base_gang(SET)?;
    test.patch_as_another_client(POD_GROUP, gang.named_after(), managed).await?;
    test.provoke_repair(POD_GROUP, gang.named_after(), "minMember", json!(1)).await?;
    test.scale("PodClique", "managed-0-worker", 3).await?;
    test.until("the new pod referenced in the PodGang", REACTION, |live| {
        let podgroups = gang.find(live).map(|found| found["spec"]["podgroups"].clone());
        let worker = podgroups
            .as_ref()
            .and_then(|all| all.as_array()?.iter().find(|podgroup| podgroup["name"] == "managed-0-worker"));
        worker.and_then(|podgroup| podgroup["podReferences"].as_array()).is_some_and(|pods| pods.len() == 3)
    })
    .await?;
    test.provoke_repair(POD_GROUP, gang.named_after(), "minMember", json!(1)).await?;
    test.mark(PROCESSED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KAI_05, || {
        foreign_fields::kept(history)?;
        history.reached(PROCESSED).map(drop)
    })]
}
