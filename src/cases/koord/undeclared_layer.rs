//! The case removes hostLayer from the administrator's ClusterNetworkTopology. PodCliqueSet `by-host`, 1 pod,
//! requires a host. Once the later `anywhere` has its PodGroup, the operator has processed `by-host`.

use conformance_check::fail_closed::failed_closed;
use conformance_expect::resolver::gang_resource;
use conformance_expect::schedulers::koordinator::POD_GROUP;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A layer that the ClusterNetworkTopology does not declare fails closed")
    .clauses(&[KOORD_09])
    .isolation(Isolation::Dedicated);

const SET: &str = "by-host";
const LAYER: &str = "hostLayer";
const KIND: &str = "ClusterNetworkTopology";
const NAME: &str = "default";

marks! { DECLARED = "layer declared"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let found = test.attempt(http::Method::GET, KIND, NAME, &Value::Null).await?;
    let original = found.accepted(format!("read {KIND} {NAME}"))?["spec"]["networkTopologySpec"].clone();
    test.patch(KIND, NAME, json!({"spec": {"networkTopologySpec": without_layer(&original)}})).await?;
    let outcome = while_undeclared(test).await;
    test.mark(DECLARED, Value::Null);
    test.patch(KIND, NAME, json!({"spec": {"networkTopologySpec": original}})).await?;
    outcome
}

async fn while_undeclared(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit(SET).await? {
        test.until_warned(&gang, LAYER).await?;
    }
    let (gangs, target) = (test.submit("anywhere").await?, test.target);
    let created = Awaited::demanded_by(GANG_08, "the PodGroup of PodCliqueSet anywhere");
    test.until(created, REACTION, |live| {
        gangs.iter().all(|gang| gang_resource(target, live, gang, POD_GROUP).is_some())
    })
    .await
}

/// Removes [`LAYER`]. Its child layers become children of its parent.
fn without_layer(layers: &Value) -> Value {
    let all = layers.as_array().cloned().unwrap_or_default();
    let removed = all.iter().find(|layer| layer["topologyLayer"] == LAYER).cloned().unwrap_or_default();
    let rest = all.into_iter().filter(|layer| layer["topologyLayer"] != LAYER).map(|mut layer| {
        if layer["parentTopologyLayer"] == LAYER {
            layer["parentTopologyLayer"] = removed["parentTopologyLayer"].clone();
        }
        layer
    });
    rest.collect()
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KOORD_09, || {
        let (until, _) = history.reached(DECLARED)?;
        failed_closed(&history.upto(until), &history.base(SET)?, LAYER)
    })]
}
