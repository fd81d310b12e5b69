//! The attempts break each rule at each place and in each field of a topology constraint. If the target
//! honours the constraint, a similar attempt breaks no rule, so the refusal need not name the rule. Levels,
//! from broad to narrow: block, rack, host.

use std::sync::LazyLock;

use conformance_facts::attempts::{Row, Wanted};

use super::places::{NESTED, PLACES, Place, packed};
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Topology constraints that the ClusterTopologyBinding does not support are refused at every level")
        .clauses(&[ADM_07]);

const FIELDS: [&str; 2] = ["required", "preferred"];

struct Cell {
    base: &'static str,
    is_update: bool,
    place: Place,
    parent: Option<Place>,
    field: &'static str,
    row: Row,
}

/// The attempts for every rule, place and field. Updates add the constraint to a PodCliqueSet that has none.
static TABLE: LazyLock<Vec<Cell>> = LazyLock::new(|| {
    let mut cells = Vec::new();
    for field in FIELDS {
        let other = |name: &str, domain: &str| json!({"topologyName": name, "pack": {field: domain}});
        for place in PLACES {
            let mut cell = |rule: &str, constraint: Value, is_broken: bool| {
                let values = vec![place.with(constraint)];
                cells.extend(on_create_and_update(rule, place, None, field, &values, is_broken));
            };
            cell("a known domain", packed(field, "rack"), false);
            cell("a domain that the topology does not have", packed(field, "galaxy"), true);
            cell("without a topology name", json!({"pack": {field: "rack"}}), true);
            cell("a topology without a ClusterTopologyBinding", other("nowhere", "rack"), true);
        }
        for (parent, place) in NESTED {
            let mut cell = |rule: &str, above: &str, below: Value, is_broken: bool| {
                let values = vec![parent.with(packed(field, above)), place.with(below)];
                cells.extend(on_create_and_update(rule, place, Some(parent), field, &values, is_broken));
            };
            cell("narrower than its parent", "block", packed(field, "rack"), false);
            cell("broader than its parent", "rack", packed(field, "block"), true);
            cell("in another topology than its parent", "block", other("another", "rack"), true);
        }
    }
    cells
});

/// A valid constraint is tried on create only, because an update may not add a constraint (ADM-03).
fn on_create_and_update(
    rule: &str,
    place: Place,
    parent: Option<Place>,
    field: &'static str,
    values: &[(String, Value)],
    is_broken: bool,
) -> Vec<Cell> {
    let within = parent.map(|parent| format!(" inside that of the {}", parent.title)).unwrap_or_default();
    let verbs: &[bool] = if is_broken { &[false, true] } else { &[false] };
    let cell = |is_update: &bool| {
        let verb = if *is_update { "update" } else { "create" };
        Cell {
            base: place.base,
            is_update: *is_update,
            place,
            parent,
            field,
            row: Row {
                title: format!("{verb}: {field} level of the {}{within}: {rule}", place.title),
                values: values.to_vec(),
                wanted: if is_broken { Wanted::Refused } else { Wanted::Admitted },
            },
        }
    };
    verbs.iter().map(cell).collect()
}

impl Cell {
    /// A valid constraint is tried only if the target honours it.
    fn is_for(&self, target: Target) -> bool {
        let is_honoured = |place: Place| place.is_honoured(target, self.field);
        self.row.wanted == Wanted::Refused
            || is_honoured(self.place)
                && self
                    .parent
                    .is_none_or(|parent| is_honoured(parent) && target.declares(Feature::TopologyNested))
    }
}

fn attempts(target: Target, is_meant: impl Fn(&Cell) -> bool) -> Vec<Attempt> {
    let cells = TABLE.iter().filter(|cell| cell.is_for(target) && is_meant(cell));
    cells.map(|cell| cell.row.attempt()).collect()
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for base in ["alone", "grouped"] {
        let of_base = |is_update: bool| {
            attempts(test.target, move |cell| cell.base == base && cell.is_update == is_update)
        };
        let (creates, updates) = (of_base(false), of_base(true));
        test.attempt_dry_creates(&test.manifest(base)?, &creates).await?;
        test.submit(base).await?;
        test.attempt_dry_updates(base, &updates).await?;
    }
    Ok(())
}

/// The refusals prove nothing without these admissions, each with the clause that requires it.
const VALID: [(&str, &str); 2] = [("required", ADM_09), ("preferred", TOPO_08)];

fn check(history: &History) -> Vec<Finding> {
    let target = history.header.target;
    let valid = VALID.map(|(field, clause)| {
        let of_field = |cell: &Cell| cell.row.wanted == Wanted::Admitted && cell.field == field;
        precondition(clause, answers(history, &attempts(target, of_field)))
    });
    let broken = answers(history, &attempts(target, |cell| cell.row.wanted == Wanted::Refused));
    vec![finding(ADM_07, || all([broken].into_iter().chain(valid)))]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conformance_contract::target::TARGETS;

    use super::*;

    fn ruling(target: Target, overrides: &[Override<'_>]) -> Ruling {
        let all = attempts(target, |_| true);
        check(&answered(Story::on(target), &all, overrides).end()).remove(0).ruling
    }

    #[test]
    fn each_admitted_wrong_constraint_is_a_violation() {
        for target in TARGETS {
            assert_eq!(ruling(target, &[]), Ok(()), "{target}");
            for attempt in attempts(target, |cell| cell.row.wanted == Wanted::Refused) {
                let ruling = ruling(target, &[(attempt.title, 201, "")]);
                assert!(matches!(ruling, Err(Broken::Violated(_))), "{target}: {}", attempt.title);
            }
        }
    }

    #[test]
    fn each_refused_valid_constraint_breaks_the_precondition() {
        for (field, wanted) in VALID {
            for attempt in
                attempts(Target::KAI, |cell| cell.row.wanted == Wanted::Admitted && cell.field == field)
            {
                let ruling = ruling(Target::KAI, &[(attempt.title, 422, "")]);
                let Err(Broken::Precondition { clause, .. }) = ruling else { panic!("{ruling:?}") };
                assert_eq!(clause, wanted, "{}", attempt.title);
            }
        }
    }

    #[test]
    fn the_table_has_every_combination() {
        let titles: BTreeSet<_> = TABLE.iter().map(|cell| cell.row.title.as_str()).collect();
        assert_eq!(titles.len(), TABLE.len(), "titles are unique");
        let per_field = PLACES.len() * (1 + 3 * 2) + NESTED.len() * (1 + 2 * 2);
        assert_eq!(TABLE.len(), FIELDS.len() * per_field);
        let valid = |target| attempts(target, |cell| cell.row.wanted == Wanted::Admitted).len();
        assert_eq!(valid(Target::KAI), FIELDS.len() * (PLACES.len() + NESTED.len()));
        assert_eq!(valid(Target::KUBE_POD_GANG), 1);
    }

    #[test]
    fn every_constraint_is_set_at_its_pointer() {
        for cell in TABLE.iter() {
            let manifest = grove_yaml::documents(crate::manifest("adm/topology")).unwrap();
            let mut pcs = manifest.into_iter().find(|pcs| pcs["metadata"]["name"] == cell.base).unwrap();
            cell.row.attempt().edit.apply(&mut pcs);
            for (pointer, value) in &cell.row.values {
                assert_eq!(pcs.pointer(pointer), Some(value), "{}", cell.row.title);
            }
        }
    }
}
