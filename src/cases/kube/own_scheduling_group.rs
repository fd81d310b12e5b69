//! PodCliqueSet `brought` has 2 pods in a PodGroup of 2 pods that the user created.

use super::unmanaged_gangs;
use crate::prelude::*;

pub(crate) const CASE: Case = case!("Pods with their own scheduling group keep it and get no gang resources")
    .clauses(&[KUBE_15])
    .nodes(&[nodes(1)]);

const MINE: &str = "mine";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let group = json!({
        "metadata": {"name": MINE},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    });
    test.create("PodGroup", &group).await?;
    test.submit("brought").await?;
    test.until_bound(2).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_15, || {
        unmanaged_gangs::pods_are_in(history, Some(MINE))?;
        unmanaged_gangs::no_gang_resources(history, &[MINE])?;
        unmanaged_gangs::marked_external(history)
    })]
}
