//! The API server sets a pod's `priority` and `preemptionPolicy` from its class, and refuses other values.
//!
//! The webhook does not look up classes, because users may create them later. So it checks only pods without
//! a class and pods of the two `system-` classes.

use grove_api::{PodCliqueSet, PodSpecJson};
use serde_json::Value;

use super::findings::invalid;
use crate::backend::FieldError;

const DEFAULT_POLICY: &str = "PreemptLowerPriority";

pub(super) fn check(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let of_set = template.priority_class_name.as_deref().filter(|class| !class.is_empty());
    let cliques = template.cliques.iter().enumerate();
    let checked = cliques.flat_map(|(index, clique)| {
        let pod_spec = &clique.spec.pod_spec;
        let class = pod_spec.priority_class_name().or(of_set);
        let path = format!("spec.template.cliques[{index}].spec.podSpec");
        known_priority(class).into_iter().flat_map(move |known| check_pod_spec(pod_spec, class, known, &path))
    });
    checked.collect()
}

/// `None` for a user-defined class.
fn known_priority(class: Option<&str>) -> Option<i64> {
    match class {
        None => Some(0),
        Some("system-cluster-critical") => Some(2_000_000_000),
        Some("system-node-critical") => Some(2_000_001_000),
        Some(_) => None,
    }
}

fn check_pod_spec(
    PodSpecJson(spec): &PodSpecJson,
    class: Option<&str>,
    known: i64,
    path: &str,
) -> Vec<FieldError> {
    let of_class = class.map_or("without a class".to_owned(), |class| format!("of class {class}"));
    let differs = |field: &str, known: Value| {
        let value = spec.get(field).filter(|value| !value.is_null() && **value != known)?;
        let message = format!(
            "the API server gives pods {of_class} {field} {known} and rejects any other value: remove the \
             field, or name a PriorityClass with {field} {value}"
        );
        Some(invalid(format!("{path}.{field}"), value.clone(), &message))
    };
    let priority = differs("priority", known.into());
    priority.into_iter().chain(differs("preemptionPolicy", DEFAULT_POLICY.into())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::fixture::{lines, pcs};

    const POD_SPEC: &str = "/spec/template/cliques/1/spec/podSpec";

    #[rstest::rstest]
    #[case::no_class("preemptionPolicy", json!("Never"), "", "", 1)]
    #[case::the_default("preemptionPolicy", json!("PreemptLowerPriority"), "", "", 0)]
    #[case::class_of_the_system("preemptionPolicy", json!("Never"), "", "system-node-critical", 1)]
    #[case::class_of_the_set("preemptionPolicy", json!("Never"), "batch", "", 0)]
    #[case::class_of_the_clique("preemptionPolicy", json!("Never"), "", "batch", 0)]
    #[case::priority_without_class("priority", json!(5), "", "", 1)]
    #[case::priority_of_the_system("priority", json!(2_000_000_000), "system-cluster-critical", "", 0)]
    #[case::zero("priority", json!(0), "", "", 0)]
    fn a_value_that_differs_from_the_class_is_refused(
        #[case] field: &str,
        #[case] value: Value,
        #[case] of_set: &str,
        #[case] of_clique: &str,
        #[case] errors: usize,
    ) {
        let found = check(&pcs(&[
            (&format!("{POD_SPEC}/{field}"), value),
            ("/spec/template/priorityClassName", json!(of_set)),
            (&format!("{POD_SPEC}/priorityClassName"), json!(of_clique)),
        ]));
        assert_eq!(found.len(), errors, "{}", lines(&found));
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let found = check(&pcs(&[(&format!("{POD_SPEC}/preemptionPolicy"), json!("Never"))]));
        insta::assert_snapshot!(lines(&found), @r#"spec.template.cliques[1].spec.podSpec.preemptionPolicy: Invalid value: "Never": the API server gives pods without a class preemptionPolicy "PreemptLowerPriority" and rejects any other value: remove the field, or name a PriorityClass with preemptionPolicy "Never""#);
    }
}
