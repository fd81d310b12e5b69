//! PodCliqueSet `solo` has one clique, `pair` has two cliques, and `grouped` has one clique in a scaling
//! group. In flat scope, each podgroup becomes a PodGroup, and two PodGroups would get their racks
//! independently. In `PodGang` scope, there is one PodGroup with room for one topology key.

use std::collections::BTreeMap;

use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_expect::schedulers;

use crate::prelude::*;

const WRONG_TOPOLOGY_KEYS: Code = Code::new("wrong-topology-keys");

marks! { CREATED = "PodGroups created"; }

pub(crate) const CASE: Case = case!("A topology constraint becomes a PodGroup's topology key, or is refused")
    .clauses(&[KUBE_07])
    .nodes(&[nodes(1).rack("r")]);

type Table = &'static [(&'static str, &'static [Attempt])];

const FLAT: Table = &[
    (
        "solo",
        &[
            admitted("on the PodCliqueSet, PodGangs of one podgroup", on_set),
            refused("on the PodCliqueSet and on a clique", &["topologyConstraint"], |pcs| {
                on_set(pcs);
                on_clique(pcs);
            }),
        ],
    ),
    (
        "pair",
        &[
            refused("on the PodCliqueSet, PodGangs of two podgroups", &["topologyConstraint"], on_set),
            admitted("on a clique", on_clique),
        ],
    ),
    (
        "grouped",
        &[
            refused("on a scaling group", &["topologyConstraint"], on_group),
            admitted("on the PodCliqueSet, PodGangs of one podgroup each", on_set),
        ],
    ),
];

const WHOLE: Table = &[
    (
        "solo",
        &[
            admitted("on the PodCliqueSet, one podgroup", on_set),
            refused("on the PodCliqueSet and on a clique", &["topologyConstraint"], |pcs| {
                on_set(pcs);
                on_clique(pcs);
            }),
        ],
    ),
    (
        "pair",
        &[
            admitted("on the PodCliqueSet, two podgroups", on_set),
            refused("on a clique", &["topologyConstraint"], on_clique),
        ],
    ),
    ("grouped", &[refused("on a scaling group", &["topologyConstraint"], on_group)]),
];

fn table(target: Target) -> Table {
    match target.scope() {
        Some("PodGang") => WHOLE,
        _ => FLAT,
    }
}

fn on_set(pcs: &mut Value) {
    template(pcs)["topologyConstraint"] = required("rack");
}

fn on_clique(pcs: &mut Value) {
    clique(pcs, 0)["topologyConstraint"] = required("host");
}

fn on_group(pcs: &mut Value) {
    group(pcs, 0)["topologyConstraint"] = required("rack");
}

fn keys_of(target: Target) -> &'static [(&'static str, &'static [&'static str])] {
    match target.scope() {
        Some("PodGang") => &[("packed", &[names::RACK])],
        _ => &[("packed", &[names::RACK]), ("apart", &[names::RACK, names::HOST])],
    }
}

fn wanted(history: &History) -> Result<BTreeMap<String, &'static str>, Broken> {
    let target = history.header.target;
    let mut wanted = BTreeMap::new();
    for (set, keys) in keys_of(target) {
        let resources = schedulers::resources_of(target, &history.base(set)?);
        let groups = resources.into_iter().filter(|resource| resource.kind == "PodGroup");
        wanted.extend(groups.map(|group| group.name.wanted).zip(keys.iter().copied()));
    }
    Ok(wanted)
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let target = test.target;
    for (name, attempts) in table(target) {
        test.attempt_creates(&test.manifest(name)?, attempts).await?;
    }
    test.submit("packed").await?;
    if target == Target::KUBE_POD_GROUP {
        test.submit("apart").await?;
    }
    test.until("the PodGroups of the admitted PodCliqueSets", limits::REACTION, |live| {
        live.of("PodGroup").count() == keys_of(target).iter().map(|(_, keys)| keys.len()).sum::<usize>()
    })
    .await?;
    test.mark(CREATED, Value::Null);
    Ok(())
}

fn keys(live: &Live, wanted: &BTreeMap<String, &str>) -> Ruling {
    wanted.iter().try_for_each(|(name, wanted)| {
        let constraints =
            &live.get("PodGroup", name).unwrap_or(&Value::Null)["spec"]["schedulingConstraints"];
        let keys: Vec<_> =
            constraints["topology"].as_array().into_iter().flatten().map(|level| &level["key"]).collect();
        ensure(keys == [wanted], || {
            violation(
                WRONG_TOPOLOGY_KEYS,
                format!("PodGroup {name}: topology keys are {keys:?}, want only {wanted:?}"),
            )
        })
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_07, || {
        let target = history.header.target;
        table(target).iter().try_for_each(|(_, attempts)| answers(history, attempts))?;
        history.reached(CREATED)?;
        keys(&history.end(), &wanted(history)?)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::*;

    #[test]
    fn other_topology_keys_are_a_violation() {
        let wanted = [("packed-0".to_owned(), names::RACK)].into();
        let passes = |topology: Value| {
            let mut group = object("PodGroup", "packed-0");
            group["spec"]["schedulingConstraints"]["topology"] = topology;
            keys(&Story::whole().added(group).end().end(), &wanted).is_ok()
        };
        assert!(passes(json!([{"key": names::RACK}])));
        for topology in
            [json!([{"key": names::HOST}]), json!([{"key": names::RACK}, {"key": names::HOST}]), json!([])]
        {
            assert!(!passes(topology));
        }
        assert!(keys(&Live::default(), &wanted).is_err());
    }
}
