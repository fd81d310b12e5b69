//! One block of 2 racks of one node each. PodCliqueSet `whole` requires a rack, `parts` a host for one
//! clique, `both` a block, and a rack for one clique. `grouped` has a scaling group of two cliques.

use conformance_contract::clauses::Feature::TopologyPerGroup;
use conformance_contract::names::{BLOCK, HOST};
use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_expect::domains::{Domain, domains};
use conformance_expect::hyper_nodes;
use conformance_expect::resolver::gang_resource;
use conformance_expect::schedulers::volcano::POD_GROUP;

use crate::prelude::*;

const HYPER_NODE_MISSING: Code = Code::new("hyper-node-missing");
const TIERS_OUT_OF_ORDER: Code = Code::new("tiers-out-of-order");
const WRONG_TOPOLOGY_CONSTRAINT: Code = Code::new("wrong-topology-constraint");

pub(crate) const CASE: Case =
    case!("Required levels become hard networkTopology; unsupported constraints are refused")
        .clauses(&[VOL_05, VOL_10])
        .nodes(&[nodes(1).block("b").rack("x"), nodes(1).block("b").rack("y")]);

/// The topology keys that a PodCliqueSet's PodGroup and its podgroup `a` require; podgroup `b` requires none.
const SETS: [(&str, Option<&str>, Option<&str>); 3] =
    [("whole", Some(RACK), None), ("parts", None, Some(HOST)), ("both", Some(BLOCK), Some(RACK))];

const ATTEMPTS: &[Attempt] = &[
    refused("a level of a scaling group", &[], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    refused("a level of a scaling group inside that of the PodCliqueSet", &[], |pcs| {
        template(pcs)["topologyConstraint"] = required("block");
        group(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    refused("three levels", &[], |pcs| {
        template(pcs)["topologyConstraint"] = required("block");
        group(pcs, 0)["topologyConstraint"] = required("rack");
        clique(pcs, 0)["topologyConstraint"] = required("host");
    }),
];

/// The refusals prove nothing without this admission, which ADM-09 requires.
const TWO_LEVELS: &[Attempt] = &[admitted("two levels", |pcs| {
    template(pcs)["topologyConstraint"] = required("block");
    clique(pcs, 0)["topologyConstraint"] = required("rack");
})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut gangs = Vec::new();
    for (name, _, _) in SETS {
        gangs.extend(test.submit(name).await?);
    }
    if !test.target.declares(TopologyPerGroup) {
        test.attempt_creates(&test.manifest("grouped")?, &[ATTEMPTS, TWO_LEVELS].concat()).await?;
    }
    let target = test.target;
    test.until(Awaited::demanded_by(GANG_08, "the PodGroups"), REACTION, |live| {
        gangs.iter().all(|gang| gang_resource(target, live, gang, POD_GROUP).is_some())
    })
    .await
}

/// Pairs each domain's topology key with its HyperNode. The tiers must ascend from host to block.
fn tiers<'a>(live: &'a Live, domains: &[Domain<'_>]) -> Result<Vec<(&'static str, &'a Value)>, Broken> {
    let found = hyper_nodes::of_domains(live, domains)
        .map_err(|missing| violation(HYPER_NODE_MISSING, missing.to_string()))?;
    let tiers: Vec<_> = domains.iter().map(|domain| domain.key).zip(found).collect();
    let tier = |key: &str| {
        let mut of_level =
            tiers.iter().filter(|(level, _)| *level == key).map(|(_, found)| hyper_nodes::tier(found));
        let first = of_level.next();
        if of_level.all(|tier| Some(tier) == first) { first } else { None }
    };
    let (host, rack, block) = (tier(HOST), tier(RACK), tier(BLOCK));
    let ascending = host.is_some() && host < rack && rack < block;
    ensure(ascending, || {
        violation(
            TIERS_OUT_OF_ORDER,
            format!("HyperNode tiers: host {host:?}, rack {rack:?}, block {block:?}, want ascending tiers"),
        )
    })?;
    Ok(tiers)
}

/// Whether a `networkTopology` requires the tier of `key`, by number or by name; `None`: no tier.
fn limits(found: &Value, key: Option<&str>, tiers: &[(&str, &Value)]) -> bool {
    let Some(key) = key else { return found.is_null() };
    let Some((_, hyper_node)) = tiers.iter().find(|(level, _)| *level == key) else { return false };
    let spec = &hyper_node["spec"];
    let by_name = spec["tierName"].is_string() && found["highestTierName"] == spec["tierName"];
    found["mode"] == "hard" && (found["highestTierAllowed"] == spec["tier"] || by_name)
}

fn has_constraints(
    live: &Live,
    gang: &Gang,
    tiers: &[(&str, &Value)],
    whole: Option<&str>,
    part: Option<&str>,
) -> Ruling {
    let found = gang_resource(Target::VOLCANO, live, gang, POD_GROUP)
        .ok_or_else(|| Broken::NotReached(format!("PodGang {} has no PodGroup", gang.name)))?;
    let spec = &found["spec"];
    let policy = |name: &str| {
        let policies = spec["subGroupPolicy"].as_array().into_iter().flatten();
        let mut named = policies.filter(|policy| policy["name"] == format!("{}-{name}", gang.replica_name()));
        named.next().map_or(&Value::Null, |policy| &policy["networkTopology"])
    };
    let all = [
        ("the PodGroup", &spec["networkTopology"], whole),
        ("a", policy("a"), part),
        ("b", policy("b"), None),
    ];
    for (what, topology, key) in all {
        ensure(limits(topology, key, tiers), || {
            let wanted = key.map_or("none".to_owned(), |key| format!("hard up to {key}"));
            violation(
                WRONG_TOPOLOGY_CONSTRAINT,
                format!(
                    "networkTopology of {what} of PodCliqueSet {} is {topology}, want {wanted}",
                    gang.set
                ),
            )
            .shown_by_object("the PodGroup", found)
        })?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(VOL_05, || {
            let end = history.end();
            let domains = domains(end.of("Node"));
            if domains.is_empty() {
                return Err(Broken::NotReached("no nodes exist".into()));
            }
            let tiers = tiers(&end, &domains)?;
            SETS.iter().try_for_each(|(set, whole, part)| {
                has_constraints(&end, &history.base(set)?, &tiers, *whole, *part)
            })
        }),
        finding(VOL_10, || {
            if history.header.target.declares(TopologyPerGroup) {
                return Err(Broken::NotAsked("the operator declares TopologyPerGroup".into()));
            }
            all([answers(history, ATTEMPTS), precondition(ADM_09, answers(history, TWO_LEVELS))])
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(whole: Value, a: Value) -> Ruling {
        let mut found = object(POD_GROUP, "both-0");
        found["spec"] = json!({
            "networkTopology": whole,
            "subGroupPolicy": [{"name": "both-0-a", "networkTopology": a}, {"name": "both-0-b"}],
        });
        let level = |tier: u64, name: &str| json!({"spec": {"tier": tier, "tierName": name}});
        let (rack, block) = (level(2, "rack"), level(3, "block"));
        let live = Story::on(Target::VOLCANO).added(found).end().end();
        let gang = Gang { set: "both".into(), ..Gang::named_only("both-0") };
        has_constraints(&live, &gang, &[(RACK, &rack), (BLOCK, &block)], Some(BLOCK), Some(RACK))
    }

    #[test]
    fn an_admitted_level_is_a_violation_and_refused_levels_break_the_precondition() {
        let asked = [ATTEMPTS, TWO_LEVELS].concat();
        let ruling = |overrides: &[Override<'_>]| {
            check(&answered(Story::on(Target::VOLCANO), &asked, overrides).end()).remove(1).ruling
        };
        assert_eq!(ruling(&[]), Ok(()));
        assert!(matches!(ruling(&[(ATTEMPTS[0].title, 201, "")]), Err(Broken::Violated(_))));
        let refused = ruling(&[(TWO_LEVELS[0].title, 422, "")]);
        assert!(matches!(refused, Err(Broken::Precondition { clause: ADM_09, .. })), "{refused:?}");
    }

    #[test]
    fn another_tier_or_mode_is_a_violation() {
        let by_number = |tier: u64| json!({"mode": "hard", "highestTierAllowed": tier});
        assert_eq!(ruling(by_number(3), by_number(2)), Ok(()));
        assert_eq!(ruling(json!({"mode": "hard", "highestTierName": "block"}), by_number(2)), Ok(()));
        assert!(ruling(by_number(2), by_number(2)).is_err());
        assert!(ruling(json!({"mode": "soft", "highestTierAllowed": 3}), by_number(2)).is_err());
        assert!(ruling(json!({"mode": "hard"}), by_number(2)).is_err());
        assert!(ruling(by_number(3), Value::Null).is_err());
    }

    #[rstest]
    #[case::ascending(2, "", &[])]
    #[case::in_the_tier_of_hosts(1, "", &["tiers-out-of-order"])]
    #[case::without_a_hyper_node(2, "ry", &["hyper-node-missing"])]
    fn a_wider_level_has_a_higher_tier(#[case] rack: u64, #[case] missing: &str, #[case] wanted: &[&str]) {
        let node = |name: &str, rack: &str| {
            let labels = json!({HOST: name, RACK: rack, BLOCK: "b"});
            json!({"kind": "Node", "metadata": {"name": name, "labels": labels}})
        };
        let holding = |name: &str, tier: u64, key: &str, value: &str| {
            let members =
                json!([{"type": "Node", "selector": {"labelMatch": {"matchLabels": {key: value}}}}]);
            json!({"kind": "HyperNode", "metadata": {"name": name}, "spec": {"tier": tier, "members": members}})
        };
        let mut objects = vec![
            node("1", "x"),
            node("2", "y"),
            holding("h1", 1, HOST, "1"),
            holding("h2", 1, HOST, "2"),
            holding("rx", rack, RACK, "x"),
            holding("ry", 2, RACK, "y"),
            holding("b", 3, BLOCK, "b"),
        ];
        objects.retain(|object| object["metadata"]["name"] != missing);
        let live = Story::on(Target::VOLCANO).all_added(objects).end().end();
        let domains = domains(live.of("Node"));
        assert_eq!(codes(tiers(&live, &domains).map(drop)), wanted);
    }
}
