//! 1 node x 1 GPU, and a node x 2 GPUs that joins later; a PodCliqueSet of 3 replicas of 1 pod without GPUs,
//! and a control of 2 such pods. An update makes pods request 1 GPU. The new pod of the first replica fits,
//! that of the second does not, and the third waits for its step. Then the operator is rolled out.

use conformance_driver::lease_watch::LeaseWatch;
use conformance_driver::updates::resize;
use conformance_facts::health::awaits_binding;

use crate::prelude::*;

marks! {
    ROLL = "controller rolled";
    JOIN = "node joins";
    UPDATED = "every pod is of the last template";
}

const SET: &str = "updated";
const CONTROL: &str = "control";
const REACHED: [&str; 2] = ["updated-0-worker", "updated-1-worker"];

pub(crate) const CASE: Case =
    case!("Rolling the controller during an update repeats no step, and the update completes")
        .clauses(&[UPD_25])
        .nodes(&[nodes(1).gpus(1), nodes(1).gpus(2).joining(1)])
        .isolation(Isolation::Exclusive)
        .needs(&[Need::Kubelets]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut lease = test.watch_lease().await?;
    for set in [SET, CONTROL] {
        test.submit_and_converge(set).await?;
    }
    if !test.change_templates(SET, |clique| resize(clique, "2", 1)).await? {
        return Ok(());
    }
    let waiting = Awaited::demanded_by(UPD_02, "the second replica in its update step");
    test.until(waiting, limits::SCHEDULING, |live| {
        // The previous pods have terminated.
        let pods: Vec<_> = live.pods().filter(|pod| REACHED.map(Some).contains(&pod.pod_clique())).collect();
        pods.len() == REACHED.len()
            && pods.iter().all(|pod| is_of_revision(*pod, "2"))
            && pods.iter().any(|pod| awaits_binding(*pod))
    })
    .await?;
    test.mark(ROLL, Value::Null);
    let (rolled, led) = tokio::join!(roll(test), until_led_by_another(test, &mut lease));
    rolled?;
    led?;
    test.mark(JOIN, Value::Null);
    test.add_nodes(1).await?;
    test.until_updated(SET, UPD_25).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

async fn roll(test: &TestContext) -> Result<(), Stop> {
    Ok(test.kind()?.roll_controller().await?)
}

async fn until_led_by_another(test: &TestContext, lease: &mut LeaseWatch) -> Result<(), Stop> {
    let first = lease.holder();
    let another = |holder: Option<&str>| holder.is_some() && holder != first.as_deref();
    lease.until(test, "another leader", limits::ROLLOUT, another).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![update_finding(history, UPD_25, || {
        let (rolled, _) = history.reached(ROLL)?;
        all([
            updates::updater_deletes_none(history, CONTROL),
            updates::updater_deletes_only_old_since(history, SET, rolled),
        ])?;
        history.reached(JOIN)?;
        history.at(UPDATED, |updated| updates::is_complete(history, updated, SET))
    })]
}
