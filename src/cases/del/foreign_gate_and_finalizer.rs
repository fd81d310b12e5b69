//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs, which fits. Third parties add two scheduling gates to each
//! pod and a finalizer to one pod.

use conformance_check::order;
use conformance_contract::names::FOREIGN_GATE;

use crate::prelude::*;

marks! { RELEASED = "released by Grove"; }

const GATES: [&str; 2] = [FOREIGN_GATE, "example.org/quota"];

pub(crate) const CASE: Case =
    case!("Foreign gates and finalizers on pods are kept until their owner removes them")
        .clauses(&[GANG_17, DEL_04, DEL_11])
        .nodes(&[nodes(3).gpus(8)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.add_foreign_gates(None, &GATES).await?;
    test.take_baseline().await?;
    test.submit("held").await?;
    let released = Awaited::demanded_by(GANG_07, "Grove's scheduling gate removed from 3 pods");
    test.until(released, REACTION, |live| {
        live.pods().filter(|pod| !pod.gates().contains(&names::GATE)).count() == 3
    })
    .await?;
    test.mark(RELEASED, Value::Null);
    let pod = test.look(|live| live.pods().next().map(|pod| pod.name().to_owned())).unwrap_or_default();
    test.patch("Pod", &pod, json!({"metadata": {"finalizers": ["example.com/review"]}})).await?;
    test.delete("PodCliqueSet", "held").await?;
    test.until(Awaited::demanded_by(DEL_04, format!("Pod {pod} terminating")), REACTION, |live| {
        live.get("Pod", &pod).is_none_or(|pod| !pod["metadata"]["deletionTimestamp"].is_null())
    })
    .await?;
    test.patch("Pod", &pod, json!({"metadata": {"finalizers": null}})).await?;
    test.until_nothing_left().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(GANG_17, || {
            let (released, _) = history.reached(RELEASED)?;
            let live = history.before(released);
            all(GATES.iter().map(|gate| order::is_gated_by(&live, gate)))
        }),
        finding(DEL_04, || {
            history.reached(SharedMark::Deleted)?;
            cleanup::nothing_left(history)
        }),
        finding(DEL_11, || {
            history.reached(SharedMark::Deleted)?;
            binding::never(history, &history.units("held")?, None)
        }),
    ]
}
