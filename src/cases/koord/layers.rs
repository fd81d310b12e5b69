//! One PodCliqueSet per layer that Koordinator is told of, required by the keys that are known. Then, by a topology of the
//! case's own: `by-zone` requires a level whose key stands for no layer, `near` requires a rack and prefers such a
//! level.

use conformance_contract::names;
use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_driver::admission_attempts::{required, template};
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_driver::test_cluster::binding;
use conformance_expect::schedulers::koordinator::POD_GROUP;
use conformance_history::{History, Live};
use conformance_judge::admission::{Attempt, admitted};
use conformance_judge::fail_closed::{failed_closed, is_told};
use conformance_judge::gang_groups::annotation;
use conformance_judge::{Shown, ensure, finding, violation};
use serde_json::{Value, json};

const WRONG_TOPOLOGY_CONSTRAINT: Code = Code::new("wrong-topology-constraint");
const NO_WARNING: Code = Code::new("no-warning");

/// KOORD-03.
pub(crate) const CASE: Case = Case::new(
    "A required level becomes one MustGather layer; a key that stands for none fails closed",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["KOORD-03"])
.only(&[Target::KOORDINATOR]);

/// Required domains, and the layers that they must become.
const LAYERS: [(&str, &str); 3] = [("host", "hostLayer"), ("rack", "rackLayer"), ("block", "blockLayer")];

/// Levels of the case's own topology: the first and the last have keys that stand for no layer.
const OWN: [(&str, &str); 3] =
    [("zone", "topology.kubernetes.io/zone"), ("rack", names::RACK), ("host", "example.com/host")];

const BY_ZONE: &str = "by-zone";
const NEAR: &str = "near";
const KNOWN: &[Attempt] = &[admitted("a level of the case's own topology", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let own = test.namespace.clone();
    test.create("ClusterTopologyBinding", &binding(&own, &OWN)).await?;
    let by_zone = named(test, BY_ZONE, json!({"topologyName": own, "pack": {"required": "zone"}}))?;
    test.creates_until(&by_zone, KNOWN, REACTION).await?;
    test.submit_value(by_zone).await?;
    test.until_told(&gang(BY_ZONE), BY_ZONE, OWN[0].1).await?;

    let near = json!({"topologyName": own, "pack": {"required": "rack", "preferred": "host"}});
    let near = named(test, NEAR, near)?;
    test.submit_value(near).await?;
    for (domain, _) in LAYERS {
        let by_domain = named(test, &format!("by-{domain}"), required(domain))?;
        test.submit_value(by_domain).await?;
    }
    test.until("the PodGroups of the others", REACTION, |live| {
        sets().all(|(set, _)| live.get(POD_GROUP, &pod_group(&set)).is_some())
    })
    .await?;
    test.until_told(&gang(NEAR), NEAR, OWN[2].1).await
}

/// The manifest's PodCliqueSet by another name and with this constraint.
fn named(test: &TestContext, name: &str, constraint: Value) -> Result<Value, Stop> {
    let mut pcs = test.manifest("packed")?;
    pcs["metadata"]["name"] = name.into();
    template(&mut pcs)["topologyConstraint"] = constraint;
    Ok(pcs)
}

/// The PodCliqueSets that can be served, and the layers of their PodGroups.
fn sets() -> impl Iterator<Item = (String, &'static str)> {
    let by_domain = LAYERS.into_iter().map(|(domain, layer)| (format!("by-{domain}"), layer));
    by_domain.chain([(NEAR.to_owned(), "rackLayer")])
}

fn gang(set: &str) -> String {
    format!("{set}-0")
}

fn pod_group(set: &str) -> String {
    format!("{set}-0-{set}-0-worker")
}

/// The PodGroup of a PodCliqueSet asks for exactly one layer, and gathers all of it there.
fn gathered(live: &Live, set: &str, layer: &str) -> Ruling {
    let name = pod_group(set);
    let found = live.get(POD_GROUP, &name).unwrap_or(&Value::Null);
    let annotation = annotation(found, "network-topology-spec");
    let spec: Value = serde_json::from_str(annotation.as_str().unwrap_or_default()).unwrap_or_default();
    let wanted = json!({"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]});
    ensure(spec == wanted, || {
        violation(
            WRONG_TOPOLOGY_CONSTRAINT,
            format!("PodGroup {name} has topology {annotation}, not {wanted}"),
        )
        .shown_by_object("it", found)
    })
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KOORD-03", || {
        let end = history.end();
        sets().try_for_each(|(set, layer)| gathered(&end, &set, layer))?;
        ensure(is_told(&end, &gang(NEAR), NEAR, OWN[2].1), || {
            violation(
                NO_WARNING,
                format!("no Warning event says that the preferred level {} is left out", OWN[2].1),
            )
        })?;
        failed_closed(history, &gang(BY_ZONE), BY_ZONE, OWN[0].1)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_history::testing::{Story, object};

    #[rstest::rstest]
    #[case::as_wanted(json!([{"layer": "rackLayer", "strategy": "MustGather"}]), true)]
    #[case::another_layer(json!([{"layer": "blockLayer", "strategy": "MustGather"}]), false)]
    #[case::not_required(json!([{"layer": "rackLayer", "strategy": "PreferGather"}]), false)]
    #[case::two(json!([{"layer": "rackLayer", "strategy": "MustGather"}, {"layer": "hostLayer", "strategy": "MustGather"}]), false)]
    #[case::none(json!([]), false)]
    fn one_layer(#[case] rules: Value, #[case] holds: bool) {
        let mut found = object(POD_GROUP, &pod_group("s"));
        found["metadata"]["annotations"] = json!({
            "gang.scheduling.koordinator.sh/network-topology-spec": json!({"gatherStrategy": rules}).to_string(),
        });
        let history = Story::on(Target::KOORDINATOR).added(found).end();
        assert_eq!(gathered(&history.end(), "s", "rackLayer").is_ok(), holds);
    }
}
