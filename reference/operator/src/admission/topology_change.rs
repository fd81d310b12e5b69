//! Topology constraints must not change after creation (ADM-03).
//!
//! As in upstream, two changes that repair older objects are allowed: `packDomain` may become the equivalent
//! `pack.required`, and a missing `topologyName` may be added to a `packDomain`.

use std::collections::BTreeMap;

use grove_api::{PodCliqueSet, TopologyConstraint};

use super::findings::RECREATE;
use super::topology::{Level, clique_levels, group_levels, pcs_level};
use crate::backend::FieldError;

pub(super) fn check(old: &PodCliqueSet, new: &PodCliqueSet) -> Vec<FieldError> {
    let (old, new) = (by_title(old), by_title(new));
    let added_or_changed = new.iter().filter_map(|(title, level)| match old.get(title) {
        None => Some((level, format!("{title} topology constraint cannot be added after creation"))),
        Some(before) => change(title, before, level).map(|message| (level, message)),
    });
    let removed = old.iter().filter(|(title, _)| !new.contains_key(*title));
    let removed = removed.map(|(title, level)| {
        (level, format!("{title} topology constraint cannot be removed after creation"))
    });
    let findings = added_or_changed.chain(removed);
    findings
        .map(|(level, message)| FieldError::forbidden(&level.path, format!("{message}; {RECREATE}")))
        .collect()
}

/// Whether `new` adds a missing topology name, which must then be checked against the topology.
pub(super) fn is_repair(old: &PodCliqueSet, new: &PodCliqueSet) -> bool {
    let (old, new) = (by_title(old), by_title(new));
    old.iter().any(|(title, before)| new.get(title).is_some_and(|after| adds_missing_name(before, after)))
}

pub(super) fn deprecations(pcs: &PodCliqueSet) -> Vec<String> {
    let levels = by_title(pcs).into_values().filter(|level| level.constraint.pack_domain.is_some());
    levels
        .map(|level| format!("{0}.packDomain is deprecated; use {0}.pack.required instead", level.path))
        .collect()
}

/// Maps the constraints by title instead of index, because cliques and groups may be reordered.
fn by_title(pcs: &PodCliqueSet) -> BTreeMap<String, Level<'_>> {
    let groups = group_levels(pcs).into_iter().map(|(level, _)| level);
    let levels = pcs_level(pcs).into_iter().chain(groups).chain(clique_levels(pcs));
    levels.map(|level| (level.title(), level)).collect()
}

fn change(title: &str, old: &Level<'_>, new: &Level<'_>) -> Option<String> {
    let (old_name, new_name) =
        (old.topology_name().unwrap_or_default(), new.topology_name().unwrap_or_default());
    if old_name != new_name && !adds_missing_name(old, new) {
        let from_to = format!("from {old_name:?} to {new_name:?}");
        return Some(format!("{title} topology constraint topologyName cannot be changed {from_to}"));
    }
    let (old, new) = (domains(old.constraint), domains(new.constraint));
    (old != new).then(|| format!("{title} topology constraint cannot be changed from {old} to {new}"))
}

fn domains(constraint: &TopologyConstraint) -> String {
    let required = constraint.required_domain().unwrap_or_default();
    let preferred = constraint.preferred_domain().unwrap_or_default();
    format!("required={required:?} preferred={preferred:?}")
}

fn adds_missing_name(old: &Level<'_>, new: &Level<'_>) -> bool {
    old.topology_name().is_none() && old.constraint.pack_domain.is_some() && new.topology_name().is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{lines, pcs};

    const PCS: &str = "/spec/template/topologyConstraint";
    const GROUP: &str = "/spec/template/podCliqueScalingGroups/0/topologyConstraint";
    const CLIQUE: &str = "/spec/template/cliques/0/topologyConstraint";

    fn named(name: &str, pack: Value) -> Value {
        json!({ "topologyName": name, "pack": pack })
    }

    fn rack() -> Value {
        named("topo", json!({ "required": "rack" }))
    }

    fn with(place: &str, constraint: Value) -> PodCliqueSet {
        pcs(&[(place, constraint)])
    }

    #[rstest::rstest]
    fn every_level_is_immutable(
        #[values(PCS, GROUP, CLIQUE)] place: &str,
        #[values(
            Value::Null,
            named("other", json!({ "required": "rack" })),
            named("topo", json!({ "required": "host" })),
            named("topo", json!({ "required": "rack", "preferred": "host" })),
        )]
        other: Value,
    ) {
        let (one, other) = (with(place, rack()), with(place, other));
        assert_eq!(check(&one, &one), []);
        assert_eq!(check(&one, &other).len(), 1);
        assert_eq!(check(&other, &one).len(), 1);
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let (none, rack) = (pcs(&[]), with(CLIQUE, rack()));
        let host = with(CLIQUE, named("topo", json!({ "required": "host", "preferred": "host" })));
        let other = with(PCS, named("other", json!({ "required": "rack" })));
        let topo = with(PCS, named("topo", json!({ "required": "rack" })));
        let changes = [check(&none, &topo), check(&rack, &none), check(&rack, &host), check(&other, &topo)];
        insta::assert_snapshot!(changes.map(|errors| lines(&errors)).join("\n"), @r#"
        spec.template.topologyConstraint: Forbidden: PodCliqueSet topology constraint cannot be added after creation; recreate the PodCliqueSet to change it
        spec.template.cliques[0].topologyConstraint: Forbidden: PodClique 'a' topology constraint cannot be removed after creation; recreate the PodCliqueSet to change it
        spec.template.cliques[0].topologyConstraint: Forbidden: PodClique 'a' topology constraint cannot be changed from required="rack" preferred="" to required="host" preferred="host"; recreate the PodCliqueSet to change it
        spec.template.topologyConstraint: Forbidden: PodCliqueSet topology constraint topologyName cannot be changed from "other" to "topo"; recreate the PodCliqueSet to change it
        "#);
    }

    #[test]
    fn pack_domain_may_become_pack_required() {
        let old = with(PCS, json!({ "topologyName": "topo", "packDomain": "rack" }));
        assert_eq!(check(&old, &with(PCS, rack())), []);
        assert_eq!(check(&old, &with(PCS, named("topo", json!({ "required": "host" })))).len(), 1);
        assert!(!is_repair(&old, &with(PCS, rack())));
    }

    #[test]
    fn a_pack_domain_without_a_name_may_get_one() {
        let old = with(PCS, json!({ "packDomain": "rack" }));
        let named_now = with(PCS, json!({ "topologyName": "topo", "packDomain": "rack" }));
        assert_eq!(check(&old, &named_now), []);
        assert!(is_repair(&old, &named_now));
        assert!(!is_repair(&named_now, &named_now));
        assert_eq!(check(&old, &with(PCS, json!({ "topologyName": "topo", "packDomain": "host" }))).len(), 1);
    }

    #[test]
    fn deprecated_fields_are_warned_about() {
        let old = with(CLIQUE, json!({ "topologyName": "topo", "packDomain": "rack" }));
        insta::assert_snapshot!(deprecations(&old).join("\n"), @"spec.template.cliques[0].topologyConstraint.packDomain is deprecated; use spec.template.cliques[0].topologyConstraint.pack.required instead");
        assert_eq!(deprecations(&with(CLIQUE, rack())), Vec::<String>::new());
    }
}
