//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs, which fits. Its PriorityClass does not exist, so the API server
//! refuses its pods. Then the PriorityClass is created.

use conformance_check::wake_up;
use conformance_facts::warnings::is_in_conditions;

use super::{BOUND, ENDED, mark_end, until_bound};
use crate::prelude::*;

const SET: &str = "unclassed";
/// The start of the API server's message.
const REFUSED: &str = "no PriorityClass";

pub(crate) const CASE: Case =
    case!("A gang whose PriorityClass is missing is bound soon after the class is created")
        .clauses(&[WAKE_06])
        .nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    // PriorityClasses are cluster-scoped, so this one carries the case's name.
    let class = format!("{}-missing", test.namespace);
    let mut pcs = test.manifest(SET)?;
    pcs["spec"]["template"]["priorityClassName"] = class.clone().into();
    test.submit_value(pcs).await?;
    let reported = Awaited::demanded_by(STAT_09, "the missing PriorityClass reported");
    test.until(reported, REACTION, |live| is_in_conditions(live, REFUSED)).await?;
    mark_end(test, SET);
    // KAI requires a quota for values of 100 or more.
    let object = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": class},
        "value": 20, "preemptionPolicy": "Never",
    });
    test.apply_companion(object).await?;
    until_bound(test, SET).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(WAKE_06, || {
        let (ended, _) = history.reached(ENDED)?;
        let units = history.units(SET)?;
        history.at(BOUND, |_| wake_up::is_bound_soon(history, &units, ended))
    })]
}
