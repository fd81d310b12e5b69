//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs, with a termination delay of 2 s. If the scheduler wants one
//! priority in a gang, a lost pod is replaced only by gang termination.

use conformance_cluster::deploy;

use super::until_whole;
use crate::prelude::*;

marks! {
    RUNNING = "the gang runs";
    BOUND_AGAIN = "the gang is bound whole again";
}

const SET: &str = "renewed";
const CLIQUE: &str = "renewed-0-worker";

pub(crate) const CASE: Case =
    case!("A gang whose PriorityClass was replaced is bound whole again after it has lost a pod")
        .clauses(&[PRE_17])
        .nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    // KAI requires a quota for values of 100 or more.
    let class = create_class(test, 20).await?;
    let mut pcs = test.manifest(SET)?;
    pcs["spec"]["template"]["priorityClassName"] = class["metadata"]["name"].clone();
    let gangs = test.submit_value(pcs).await?;
    test.until_converged(SET).await?;
    test.mark(RUNNING, Value::Null);
    deploy::delete(&test.test_cluster.client, &class).await?;
    create_class(test, 30).await?;
    let lost = test.pods_of(CLIQUE).into_iter().next().unwrap_or_default();
    test.force_delete_pod(&lost).await?;
    for gang in &gangs {
        let whole = Awaited::demanded_by(PRE_17, "the gang that lost a pod bound whole");
        until_whole(test, whole, gang).await?;
    }
    test.mark(BOUND_AGAIN, Value::Null);
    Ok(())
}

/// Waits until the API server knows the class: it rejects pods with another priority than their class's.
async fn create_class(test: &TestContext, value: u32) -> Result<Value, Stop> {
    // PriorityClasses are cluster-scoped, so this one carries the case's name.
    let name = format!("{}-replaced", test.namespace);
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "value": value, "preemptionPolicy": "Never",
    });
    test.apply_companion(class.clone()).await?;
    let container = json!({"name": "worker", "image": "registry.k8s.io/pause:3.10"});
    let probe = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": test.namespace},
        "spec": {"priorityClassName": name, "priority": value, "containers": [container]},
    });
    test.until_admitted(&[probe]).await?;
    Ok(class)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(PRE_17, || {
        let (running, _) = history.reached(RUNNING)?;
        let units = history.units(SET)?;
        precondition(AON_01, binding::whole(&history.before(running), &units))?;
        history.at(BOUND_AGAIN, |again| binding::whole(&history.before(again), &units))
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::replaced(Some("n"), true)]
    #[case::stranded(None, false)]
    fn a_gang_whose_replacement_is_not_bound_is_a_violation(
        #[case] node: Option<&str>,
        #[case] is_satisfied: bool,
    ) {
        let runs = Story::flat().submitted(one_clique(SET, 2)).workers(SET, 2, 2).mark(RUNNING, Value::Null);
        let lost = runs.deleted(worker(SET, 1, Some("n"))).added(worker(SET, 2, node));
        let found = check(&lost.mark(BOUND_AGAIN, Value::Null).end()).remove(0).ruling;
        assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
    }

    #[test]
    fn a_gang_that_never_ran_breaks_the_precondition() {
        let never = Story::flat().submitted(one_clique(SET, 2)).workers(SET, 2, 1).mark(RUNNING, Value::Null);
        let found = check(&never.mark(BOUND_AGAIN, Value::Null).end()).remove(0).ruling;
        assert!(matches!(found, Err(Broken::Precondition { clause: "AON-01", .. })), "{found:?}");
    }
}
