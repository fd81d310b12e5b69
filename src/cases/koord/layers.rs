//! For each configured layer of Koordinator, one PodCliqueSet requires the level with that layer's well-known
//! key. `by-zone` requires a level whose key maps to no layer, and `near` prefers such a level.

use conformance_check::fail_closed::failed_closed;
use conformance_check::gang_groups::annotation;
use conformance_driver::admission_attempts::{required, template};
use conformance_driver::test_cluster::binding;
use conformance_expect::resolver::gang_resource;
use conformance_expect::schedulers::koordinator::POD_GROUP;
use conformance_facts::warnings::has_warning;

use crate::prelude::*;

const WRONG_TOPOLOGY_CONSTRAINT: Code = Code::new("wrong-topology-constraint");
const NO_WARNING: Code = Code::new("no-warning");

pub(crate) const CASE: Case =
    case!("A required level becomes a MustGather layer; a key without a layer fails closed")
        .clauses(&[KOORD_03, KOORD_10, KOORD_11]);

/// Required levels, each with the layer that it must become; `a|b` accepts either. NodeTopologyLayer is
/// Koordinator's own layer for a single node.
const LAYERS: [(&str, &str); 3] =
    [("host", "hostLayer|NodeTopologyLayer"), ("rack", "rackLayer"), ("block", "blockLayer")];

/// Levels of the topology that only this case uses. The keys of the first and the last map to no layer.
const OWN: [(&str, &str); 3] =
    [("zone", "topology.kubernetes.io/zone"), ("rack", names::RACK), ("host", "example.com/host")];

const BY_ZONE: &str = "by-zone";
const NEAR: &str = "near";
const KNOWN: &[Attempt] = &[admitted("a level of the case's own topology", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let topology = test.namespace.clone();
    test.create("ClusterTopologyBinding", &binding(&topology, &OWN)).await?;
    let by_zone = named(test, BY_ZONE, json!({"topologyName": topology, "pack": {"required": "zone"}}))?;
    test.retry_creates_until(&by_zone, KNOWN, REACTION).await?;
    let zone = test.submit_value(by_zone).await?;

    let near = json!({"topologyName": topology, "pack": {"required": "rack", "preferred": "host"}});
    let near = named(test, NEAR, near)?;
    let near = test.submit_value(near).await?;
    let mut gangs = near.clone();
    for (domain, _) in LAYERS {
        let by_domain = named(test, &format!("by-{domain}"), required(domain))?;
        gangs.extend(test.submit_value(by_domain).await?);
    }
    let target = test.target;
    let created = Awaited::demanded_by(GANG_08, "the PodGroups of the other PodCliqueSets");
    test.until(created, REACTION, |live| {
        gangs.iter().all(|gang| gang_resource(target, live, gang, POD_GROUP).is_some())
    })
    .await?;
    for gang in zone {
        test.until_warned(&gang, OWN[0].1).await.map_err(|stop| stop.owed_by(KOORD_10))?;
    }
    for gang in near {
        test.until_warned(&gang, OWN[2].1).await.map_err(|stop| stop.owed_by(KOORD_11))?;
    }
    Ok(())
}

fn named(test: &TestContext, name: &str, constraint: Value) -> Result<Value, Stop> {
    let mut pcs = test.manifest("packed")?;
    pcs["metadata"]["name"] = name.into();
    template(&mut pcs)["topologyConstraint"] = constraint;
    Ok(pcs)
}

fn sets() -> impl Iterator<Item = (String, &'static str)> {
    let by_domain = LAYERS.into_iter().map(|(domain, layer)| (format!("by-{domain}"), layer));
    by_domain.chain([(NEAR.to_owned(), "rackLayer")])
}

fn has_layer(live: &Live, gang: &Gang, layer: &str) -> Ruling {
    let found = gang_resource(Target::KOORDINATOR, live, gang, POD_GROUP)
        .ok_or_else(|| Broken::NotReached(format!("PodGang {} has no PodGroup", gang.name)))?;
    let annotation = annotation(found, "network-topology-spec");
    let spec: Value = serde_json::from_str(annotation.as_str().unwrap_or_default()).unwrap_or_default();
    let gathers = |layer: &str| json!({"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]});
    ensure(layer.split('|').any(|layer| spec == gathers(layer)), || {
        let message = format!(
            "PodGroup of PodGang {}: topology is {annotation}, want MustGather of {layer}",
            gang.name
        );
        violation(WRONG_TOPOLOGY_CONSTRAINT, message).shown_by_object("the PodGroup", found)
    })
}

fn preference_is_reported(live: &Live, gang: &Gang) -> Ruling {
    ensure(has_warning(live, gang, OWN[2].1), || {
        violation(
            NO_WARNING,
            format!("no Warning event reports that the preferred level {} is ignored", OWN[2].1),
        )
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KOORD_03, || {
            let end = history.end();
            sets().try_for_each(|(set, layer)| has_layer(&end, &history.base(&set)?, layer))
        }),
        finding(KOORD_10, || failed_closed(history, &history.base(BY_ZONE)?, OWN[0].1)),
        finding(KOORD_11, || preference_is_reported(&history.end(), &history.base(NEAR)?)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::as_wanted(json!([{"layer": "rackLayer", "strategy": "MustGather"}]), true)]
    #[case::another_layer(json!([{"layer": "blockLayer", "strategy": "MustGather"}]), false)]
    #[case::not_required(json!([{"layer": "rackLayer", "strategy": "PreferGather"}]), false)]
    #[case::two(json!([{"layer": "rackLayer", "strategy": "MustGather"}, {"layer": "hostLayer", "strategy": "MustGather"}]), false)]
    #[case::none(json!([]), false)]
    fn another_annotation_is_a_violation(#[case] rules: Value, #[case] passes: bool) {
        let pcs = json!({"metadata": {"name": "s"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "worker", "spec": {"replicas": 1}}],
        }}});
        let gang = &conformance_expect::testing::named_gangs(&pcs)[0];
        let mut found = object(POD_GROUP, "s-0-s-0-worker");
        found["metadata"]["annotations"] = json!({
            "gang.scheduling.koordinator.sh/network-topology-spec": json!({"gatherStrategy": rules}).to_string(),
        });
        let history = Story::on(Target::KOORDINATOR).added(found).end();
        assert_eq!(has_layer(&history.end(), gang, "rackLayer").is_ok(), passes);
    }

    #[rstest]
    #[case::of_the_level("the preferred level example.com/host is left out", true)]
    #[case::of_another("the preferred level example.com/rack is left out", false)]
    fn the_warning_must_name_the_ignored_level(#[case] message: &str, #[case] passes: bool) {
        let event = json!({"kind": "Event", "metadata": {"name": "e"}, "type": "Warning",
            "involvedObject": {"kind": "PodGang", "name": "near-0"}, "message": message});
        let history = Story::on(Target::KOORDINATOR).added(event).end();
        assert_eq!(preference_is_reported(&history.end(), &Gang::named_only("near-0")).is_ok(), passes);
    }
}
