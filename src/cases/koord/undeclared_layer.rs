//! The administrator's ClusterNetworkTopology no longer declares hostLayer; `by-host`, 1 pod, requires a
//! host. Once a later PodCliqueSet, `anywhere`, has its PodGroup, the controller has had time for the first.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Isolation};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_expect::Expected;
use conformance_expect::resolver::gang_resource;
use conformance_expect::schedulers::koordinator::POD_GROUP;
use conformance_history::{History, MarkName};
use conformance_judge::fail_closed::failed_closed;
use conformance_judge::finding;
use serde_json::{Value, json};

pub(crate) const CASE: Case = Case::new(
    "A layer that the ClusterNetworkTopology does not declare fails closed",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["KOORD-09"])
.isolation(Isolation::Dedicated)
.only(&[Target::KOORDINATOR]);

const SET: &str = "by-host";
const LAYER: &str = "hostLayer";
const KIND: &str = "ClusterNetworkTopology";
const NAME: &str = "default";
const DECLARED: MarkName = MarkName::of_case("layer declared");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let found = test.attempt(http::Method::GET, KIND, NAME, &Value::Null).await?;
    let was = found.accepted(format!("read {KIND} {NAME}"))?["spec"]["networkTopologySpec"].clone();
    test.patch(KIND, NAME, json!({"spec": {"networkTopologySpec": without_layer(&was)}})).await?;
    let driven = without(test).await;
    test.mark(DECLARED, Value::Null);
    test.patch(KIND, NAME, json!({"spec": {"networkTopologySpec": was}})).await?;
    driven
}

async fn without(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit(SET).await? {
        test.until_told(&gang, LAYER).await?;
    }
    let (gangs, target) = (test.submit("anywhere").await?, test.target);
    test.until("the PodGroup of PodCliqueSet anywhere", REACTION, |live| {
        gangs.iter().all(|gang| gang_resource(target, live, gang, POD_GROUP).is_some())
    })
    .await
}

/// The layers without this one; its children move to its parent.
fn without_layer(layers: &Value) -> Value {
    let all = layers.as_array().cloned().unwrap_or_default();
    let gone = all.iter().find(|layer| layer["topologyLayer"] == LAYER).cloned().unwrap_or_default();
    let rest = all.into_iter().filter(|layer| layer["topologyLayer"] != LAYER).map(|mut layer| {
        if layer["parentTopologyLayer"] == LAYER {
            layer["parentTopologyLayer"] = gone["parentTopologyLayer"].clone();
        }
        layer
    });
    rest.collect()
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KOORD-09", || {
        let (until, _) = history.reached(DECLARED)?;
        failed_closed(&history.upto(until), &history.base(SET)?, LAYER)
    })]
}
