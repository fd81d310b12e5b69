//! `held`, 2 pods in one rack of a topology of the case's own, which is deleted while they run. Volcano can hold one
//! topology only, which all cases share: there a queue is closed instead. Of an operator that does not declare topology
//! constraints nothing is taken away.

use conformance_contract::clauses::Feature;
use conformance_contract::names;
use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::target::Target;
use conformance_driver::admission_attempts::template;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::test_cluster::binding;
use conformance_history::{History, MarkName};
use conformance_judge::admission::{self, Attempt, admitted, answers, refused};
use conformance_judge::finding;
use conformance_judge::topology_resources::BINDING;
use serde_json::{Value, json};

/// ADM-08.
pub(crate) const CASE: Case = Case::new(
    "Metadata edits and deletion are admitted after the workload's topology is gone",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["ADM-08"])
.nodes(&[nodes(1).rack("r")])
.only(&[Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG, Target::KUBE_TREE, Target::KOORDINATOR, Target::KAI]);

/// Shows that admission has seen the topology go.
const NEW: &[Attempt] =
    &[refused("a new one in the topology that is gone", &["ClusterTopologyBinding"], |_| {})];

/// What is never blocked, before the deletion.
const EDITS: &[Attempt] = &[
    admitted("a label added", |pcs| pcs["metadata"]["labels"]["example.com/team"] = "inference".into()),
    admitted("an annotation added", |pcs| pcs["metadata"]["annotations"]["example.com/note"] = "kept".into()),
    admitted("a finalizer added", |pcs| match pcs["metadata"]["finalizers"].as_array_mut() {
        Some(finalizers) => finalizers.push(FINALIZER.into()),
        None => pcs["metadata"]["finalizers"] = json!([FINALIZER]),
    }),
    admitted("the label changed", |pcs| pcs["metadata"]["labels"]["example.com/team"] = "training".into()),
    admitted("label and annotation removed", |pcs| {
        for (field, key) in [("labels", "example.com/team"), ("annotations", "example.com/note")] {
            if let Some(keys) = pcs["metadata"][field].as_object_mut() {
                keys.remove(key);
            }
        }
    }),
    admitted("the finalizer removed", |pcs| {
        if let Some(finalizers) = pcs["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|finalizer| finalizer != FINALIZER);
        }
    }),
];

const FINALIZER: &str = "example.com/hold";

const DELETION_ADMITTED: MarkName = MarkName::of_case("deletion admitted");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if !test.target.declares(Feature::TopologyRequired) {
        test.submit("held").await?;
        test.until_bound(2).await?;
        return edit_and_delete(test, "held").await;
    }
    let topology = test.domain("topology");
    test.create(BINDING, &binding(&topology, &[("rack", names::RACK)])).await?;
    let mut held = test.manifest("held")?;
    template(&mut held)["topologyConstraint"]["topologyName"] = topology.clone().into();
    test.submit_value(held.clone()).await?;
    test.until_bound(2).await?;
    test.delete(BINDING, &topology).await?;
    test.creates_until(&held, NEW, limits::REACTION).await?;
    edit_and_delete(test, "held").await
}

/// Makes the edits that are never blocked, and deletes the PodCliqueSet.
pub(super) async fn edit_and_delete(test: &TestContext, name: &str) -> Result<(), Stop> {
    test.updates(name, EDITS).await?;
    test.delete("PodCliqueSet", name).await?;
    test.mark(DELETION_ADMITTED, Value::Null);
    let gone = format!("{name} is gone");
    test.until(&gone, limits::CLEANUP, |live| live.get("PodCliqueSet", name).is_none()).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-08", || {
        if history.header.target.declares(Feature::TopologyRequired) {
            answers(history, NEW)?;
        }
        never_blocked(history, "held")
    })]
}

/// The edits and the deletion were admitted, and the PodCliqueSet is gone.
pub(super) fn never_blocked(history: &History, name: &str) -> Ruling {
    answers(history, EDITS)?;
    history.reached(DELETION_ADMITTED)?;
    admission::deleted(history, "PodCliqueSet", name)
}
