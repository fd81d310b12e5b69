//! PodCliqueSet `unmoved` has 2 + 1 pods. PodCliqueSet `after` has 1 pod. Once this pod is bound, the
//! operator has processed everything that was submitted before.

use conformance_check::admission;
use conformance_driver::admission_attempts::{clique, group};

use crate::prelude::*;

marks! {
    UPDATES_BEGIN = "updates begin";
    SEEN = "seen";
}

pub(crate) const CASE: Case =
    case!("A refused create leaves no object, and a refused update changes nothing")
        .clauses(&[ADM_05])
        .nodes(&[nodes(1)]);

const CREATES: &[Attempt] = &[
    refused("created with a scheduler that is not enabled", &["nobodys-scheduler"], |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "nobodys-scheduler".into();
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "nobodys-scheduler".into();
    }),
    refused("created with minAvailable above replicas", &["minAvailable"], |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 3.into();
    }),
];

const UPDATES: &[Attempt] = &[
    refused("updated to another minAvailable", &["minAvailable"], |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 1.into();
    }),
    refused("updated to another minAvailable and more replicas", &["minAvailable"], |pcs| {
        pcs["spec"]["replicas"] = 2.into();
        clique(pcs, 0)["spec"]["minAvailable"] = 1.into();
    }),
    refused("updated to other cliqueNames and another label", &["cliqueNames"], |pcs| {
        pcs["metadata"]["labels"]["team"] = "changed".into();
        group(pcs, 0)["cliqueNames"] = json!(["prefill"]);
    }),
];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("unmoved").await?;
    test.until_converged("unmoved").await?;
    test.attempt_creates(&test.manifest("unmoved")?, CREATES).await?;
    test.caught_up().await?;
    test.mark(UPDATES_BEGIN, Value::Null);
    test.attempt_updates("unmoved", UPDATES).await?;
    test.submit("after").await?;
    // Only the pod of `after` counts: an update that was admitted by mistake may have changed the others.
    let is_after = |pod: &Pod<'_>| pod.label(names::PART_OF) == Some("after") && pod.node().is_some();
    test.until(Awaited::demanded_by(AON_01, "the pod of PodCliqueSet after bound"), SCHEDULING, |live| {
        live.pods().any(|pod| is_after(&pod))
    })
    .await?;
    test.mark(SEEN, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(ADM_05, || {
        history.reached(SEEN)?;
        answers(history, CREATES)?;
        answers(history, UPDATES)?;
        admission::left_nothing(history, CREATES)?;
        let (begin, _) = history.reached(UPDATES_BEGIN)?;
        admission::unchanged(history, "unmoved", begin)
    })]
}
