//! Warns about parts of a clique template that Grove, like upstream, overwrites instead of refusing (ADM-25).

use std::collections::BTreeMap;

use grove_api::names::{ENV_OF_ALL, ENV_OF_MEMBERS, is_operator_state, is_set_by_grove};
use grove_api::{PodCliqueSet, PodSpecJson};
use serde_json::Value;

use super::pod_template::entries;

const TEMPLATE: &str = "spec.template";

const FIELDS: [&str; 3] = ["hostname", "subdomain", "schedulingGates"];

pub(super) fn warnings(pcs: &PodCliqueSet) -> Vec<String> {
    let template = &pcs.spec.template;
    let mut paths = Vec::new();
    for (index, clique) in template.cliques.iter().enumerate() {
        let path = format!("{TEMPLATE}.cliques[{index}]");
        let labels = clique.labels.keys().filter(|key| is_set_by_grove(key));
        paths.extend(labels.map(|key| format!("{path}.labels[{key}]")));
        paths.extend(states(&clique.annotations, &path));
        let is_member = template.group_of(&clique.name).is_some();
        paths.extend(of_pod_spec(&clique.spec.pod_spec, is_member, &format!("{path}.spec.podSpec")));
    }
    for (index, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        paths.extend(states(&group.annotations, &format!("{TEMPLATE}.podCliqueScalingGroups[{index}]")));
    }
    paths.into_iter().map(|path| format!("{path} has no effect: Grove overwrites it")).collect()
}

fn states(annotations: &BTreeMap<String, String>, path: &str) -> impl Iterator<Item = String> {
    let states = annotations.keys().filter(|key| is_operator_state(key));
    states.map(move |key| format!("{path}.annotations[{key}]"))
}

fn of_pod_spec(PodSpecJson(spec): &PodSpecJson, is_member: bool, path: &str) -> Vec<String> {
    let is_set = |field: &str| match spec.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(entries)) => !entries.is_empty(),
        Some(_) => true,
    };
    let fields = FIELDS.into_iter().filter(|field| is_set(field));
    let mut paths: Vec<_> = fields.map(|field| format!("{path}.{field}")).collect();
    let is_variable =
        |name: &str| ENV_OF_ALL.contains(&name) || (is_member && ENV_OF_MEMBERS.contains(&name));
    for list in ["containers", "initContainers"] {
        for (index, container) in entries(spec, list).enumerate() {
            let names = entries(container, "env").filter_map(|variable| variable["name"].as_str());
            let own = names.filter(|name| is_variable(name));
            paths.extend(own.map(|name| format!("{path}.{list}[{index}].env[{name}]")));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::fixture::pcs;

    const CLIQUE: &str = "/spec/template/cliques/0";
    const MEMBER: &str = "/spec/template/cliques/1";
    const GROUP: &str = "/spec/template/podCliqueScalingGroups/0";

    fn env(name: &str) -> Value {
        json!([{"name": name, "value": "mine"}])
    }

    #[rstest::rstest]
    #[case(&format!("{CLIQUE}/labels"), json!({"app.kubernetes.io/name": "mine"}), "labels[app.kubernetes.io/name]")]
    #[case(&format!("{CLIQUE}/labels"), json!({"grove.io/generation": "7"}), "labels[grove.io/generation]")]
    #[case(
        &format!("{CLIQUE}/annotations"),
        json!({"grove.io/previous-template": "{}"}),
        "annotations[grove.io/previous-template]"
    )]
    #[case(
        &format!("{GROUP}/annotations"),
        json!({"grove.io/recycled-replicas": "{}"}),
        "podCliqueScalingGroups[0].annotations[grove.io/recycled-replicas]"
    )]
    #[case(&format!("{CLIQUE}/spec/podSpec/hostname"), json!("mine"), "podSpec.hostname")]
    #[case(&format!("{CLIQUE}/spec/podSpec/schedulingGates"), json!([{"name": "mine"}]), "podSpec.schedulingGates")]
    #[case(&format!("{CLIQUE}/spec/podSpec/containers/0/env"), env("GROVE_PCS_NAME"), "containers[0].env[GROVE_PCS_NAME]")]
    #[case(&format!("{MEMBER}/spec/podSpec/containers/0/env"), env("GROVE_PCSG_NAME"), "env[GROVE_PCSG_NAME]")]
    fn an_overwritten_part_is_named(#[case] pointer: &str, #[case] value: Value, #[case] words: &str) {
        let found = warnings(&pcs(&[(pointer, value)]));
        assert!(matches!(&found[..], [only] if only.contains(words)), "{found:?}");
    }

    #[rstest::rstest]
    #[case(&format!("{CLIQUE}/labels"), json!({"app.kubernetes.io/version": "1", "grove.example.com/x": "1"}))]
    #[case(&format!("{CLIQUE}/annotations"), json!({"grove.io/mnnvl-group": "none"}))]
    #[case(&format!("{CLIQUE}/spec/podSpec/hostname"), json!(""))]
    #[case(&format!("{CLIQUE}/spec/podSpec/containers/0/env"), env("GROVE_PCSG_NAME"))]
    #[case(&format!("{CLIQUE}/spec/podSpec/containers/0/env"), env("GROVE_DEBUG"))]
    fn a_similar_part_is_kept(#[case] pointer: &str, #[case] value: Value) {
        assert_eq!(warnings(&pcs(&[(pointer, value)])), [""; 0]);
    }
}
