//! Rules on `startsAfter` (ADM-04). As in upstream, they apply only to type Explicit, which alone reads it.

use std::collections::{BTreeMap, BTreeSet};

use grove_api::{CliqueStartupType, PodCliqueSet, PodCliqueTemplateSpec};

use super::findings::{duplicate, invalid, repeated};
use crate::backend::FieldError;

type Dependencies<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

pub(super) fn check(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    if template.clique_startup_type.unwrap_or_default() != CliqueStartupType::Explicit {
        return Vec::new();
    }
    let cliques = &template.cliques;
    let mut errors = Vec::new();
    for (index, clique) in cliques.iter().enumerate() {
        let path = format!("spec.template.cliques[{index}].spec.startsAfter");
        check_entries(clique, &path, &mut errors);
        let is_unknown =
            |name: &&String| !name.is_empty() && !cliques.iter().any(|other| other.name == **name);
        let unknown: Vec<_> =
            clique.spec.starts_after.iter().filter(is_unknown).map(String::as_str).collect();
        if !unknown.is_empty() {
            let message = "unknown clique names: startsAfter must name cliques of this PodCliqueSet";
            errors.push(invalid(path, unknown.join(","), message));
        }
    }
    for cycle in cycles(cliques) {
        let message = "these cliques start after each other in a cycle: change one startsAfter";
        errors.push(invalid("spec.template.cliques", cycle, message));
    }
    errors
}

fn check_entries(clique: &PodCliqueTemplateSpec, path: &str, errors: &mut Vec<FieldError>) {
    let starts_after = &clique.spec.starts_after;
    if starts_after.iter().any(String::is_empty) {
        errors.push(FieldError::required(path, "startsAfter must not contain an empty name"));
    }
    if starts_after.contains(&clique.name) {
        errors.push(invalid(path, clique.name.as_str(), "a clique cannot start after itself"));
    }
    for (index, name) in repeated(starts_after.iter().map(String::as_str)) {
        errors.push(duplicate(format!("{path}[{index}]"), name));
    }
}

fn cycles(cliques: &[PodCliqueTemplateSpec]) -> Vec<Vec<&str>> {
    let mut dependencies = Dependencies::new();
    for clique in cliques {
        // A clique that waits for itself is reported separately.
        let others = clique.spec.starts_after.iter().filter(|name| **name != clique.name);
        dependencies.entry(&clique.name).or_default().extend(others.map(String::as_str));
    }
    let reachable_from: Dependencies<'_> =
        dependencies.keys().map(|name| (*name, reachable(name, &dependencies))).collect();
    let mut reported = BTreeSet::new();
    let mut cycles = Vec::new();
    for clique in cliques {
        let name = clique.name.as_str();
        let waits_for_each_other =
            |other: &&str| reachable_from[name].contains(other) && reachable_from[*other].contains(name);
        let cycle: Vec<_> =
            cliques.iter().map(|other| other.name.as_str()).filter(waits_for_each_other).collect();
        if !cycle.is_empty() && reported.insert(cycle[0]) {
            cycles.push(cycle);
        }
    }
    cycles
}

fn reachable<'a>(from: &str, dependencies: &Dependencies<'a>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<_> = dependencies[from].iter().copied().collect();
    while let Some(name) = pending.pop() {
        if reached.insert(name) {
            pending.extend(dependencies.get(name).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{lines, pcs};

    fn with(a: Value, b: Value, c: Value) -> PodCliqueSet {
        pcs(&[
            ("/spec/template/cliqueStartupType", json!("CliqueStartupTypeExplicit")),
            ("/spec/template/cliques/0/spec/startsAfter", a),
            ("/spec/template/cliques/1/spec/startsAfter", b),
            ("/spec/template/cliques/2/spec/startsAfter", c),
        ])
    }

    #[rstest::rstest]
    #[case::none(json!([]), json!([]), json!([]))]
    #[case::chain(json!([]), json!(["a"]), json!(["b"]))]
    #[case::diamond(json!(["b", "c"]), json!(["c"]), json!([]))]
    fn a_valid_order_is_admitted(#[case] a: Value, #[case] b: Value, #[case] c: Value) {
        assert_eq!(check(&with(a, b, c)), []);
    }

    #[rstest::rstest]
    #[case::itself(json!(["a"]), json!([]), json!([]))]
    #[case::twice(json!([]), json!(["a", "a"]), json!([]))]
    #[case::empty(json!([""]), json!([]), json!([]))]
    #[case::unknown(json!(["x", "b", "y"]), json!([]), json!([]))]
    #[case::cycle_of_two(json!(["b"]), json!(["a"]), json!(["a"]))]
    #[case::cycle_of_three(json!(["c"]), json!(["a"]), json!(["b"]))]
    fn an_invalid_order_is_refused(#[case] a: Value, #[case] b: Value, #[case] c: Value) {
        assert_eq!(check(&with(a, b, c)).len(), 1);
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let itself_and_unknown = check(&with(json!(["a", "x", "y", ""]), json!(["a", "a"]), json!([])));
        insta::assert_snapshot!(lines(&itself_and_unknown), @r#"
        spec.template.cliques[0].spec.startsAfter: Required value: startsAfter must not contain an empty name
        spec.template.cliques[0].spec.startsAfter: Invalid value: "a": a clique cannot start after itself
        spec.template.cliques[0].spec.startsAfter: Invalid value: "x,y": unknown clique names: startsAfter must name cliques of this PodCliqueSet
        spec.template.cliques[1].spec.startsAfter[1]: Duplicate value: "a"
        "#);
        let cycle = check(&with(json!(["b"]), json!(["a"]), json!(["a"])));
        insta::assert_snapshot!(lines(&cycle), @r#"spec.template.cliques: Invalid value: ["a","b"]: these cliques start after each other in a cycle: change one startsAfter"#);
    }
}
