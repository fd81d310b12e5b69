//! PodCliqueSet `solo` has one clique, `pair` has two cliques, and `grouped` has one clique in a scaling
//! group. In flat scope, each podgroup becomes a PodGroup, and two PodGroups would get their racks
//! independently. In `PodGang` scope, there is one PodGroup with room for one topology key.

use std::collections::BTreeMap;

use conformance_driver::admission_attempts::{clique, required, template};
use conformance_facts::attempts::Wanted;

use crate::prelude::*;

const WRONG_TOPOLOGY_KEYS: Code = Code::new("wrong-topology-keys");

marks! { CREATED = "PodGroups created"; }

pub(crate) const CASE: Case = case!("A topology constraint becomes a PodGroup's topology key, or is refused")
    .clauses(&[KUBE_07])
    .nodes(&[nodes(1).rack("r")]);

type Table = &'static [(&'static str, &'static [Attempt])];

const FLAT: Table = &[
    ("solo", &[admitted("on the PodCliqueSet, PodGangs of one podgroup", on_set)]),
    (
        "pair",
        &[
            refused("on the PodCliqueSet, PodGangs of two podgroups", &[], on_set),
            admitted("on a clique", on_clique),
        ],
    ),
    ("grouped", &[admitted("on the PodCliqueSet, PodGangs of one podgroup each", on_set)]),
];

const WHOLE: Table = &[
    ("solo", &[admitted("on the PodCliqueSet, one podgroup", on_set)]),
    ("pair", &[admitted("on the PodCliqueSet, two podgroups", on_set)]),
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
    let created = Awaited::demanded_by(GANG_08, "the PodGroups of the admitted PodCliqueSets");
    test.until(created, limits::REACTION, |live| {
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

/// ADM-09 requires that the operator admits what its backend supports.
fn answered_as_required(history: &History, attempts: &[Attempt]) -> Ruling {
    attempts.iter().try_for_each(|attempt| {
        let ruling = answers(history, &[*attempt]);
        if attempt.wanted == Wanted::Admitted { precondition(ADM_09, ruling) } else { ruling }
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_07, || {
        let target = history.header.target;
        all(table(target).iter().map(|(_, attempts)| answered_as_required(history, attempts)))?;
        history.reached(CREATED)?;
        keys(&history.end(), &wanted(history)?)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::without_a_pod_group("on the PodCliqueSet, PodGangs of two podgroups", 201, None)]
    #[case::supported("on a clique", 422, Some(ADM_09))]
    fn a_wrong_answer_breaks_the_clause_that_requires_another(
        #[case] title: &str,
        #[case] code: u16,
        #[case] wanted: Option<&str>,
    ) {
        let asked: Vec<_> = FLAT.iter().flat_map(|(_, attempts)| *attempts).copied().collect();
        let story = answered(Story::flat(), &asked, &[(title, code, "")]);
        let broken = match check(&story.end()).remove(0).ruling {
            Err(Broken::Violated(_)) => None,
            Err(Broken::Precondition { clause, .. }) => Some(clause),
            other => panic!("{other:?}"),
        };
        assert_eq!(broken, wanted);
    }

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
