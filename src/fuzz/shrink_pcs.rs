//! Smaller variants of the PodCliqueSet of a workload: without a part of it, or with smaller numbers.

use conformance_history::{count, list, text};
use serde_json::Value;

use crate::workload::GeneratedWorkload;

pub(crate) fn smaller(workload: &GeneratedWorkload, all: &mut Vec<GeneratedWorkload>) {
    let mut with = |change: &dyn Fn(&mut Value)| {
        let mut smaller = workload.clone();
        change(&mut smaller.pcs["spec"]);
        all.push(smaller);
    };
    let template = &workload.pcs["spec"]["template"];
    let names = |key: &str| {
        list(&template[key]).iter().map(|part| text(&part["name"]).to_owned()).collect::<Vec<_>>()
    };
    with(&|spec| spec["replicas"] = 1.into());
    for field in ["cliqueStartupType", "terminationDelay"] {
        with(&|spec| without_field(&mut spec["template"], field));
    }
    with(&|spec| {
        for clique in spec["template"]["cliques"].as_array_mut().into_iter().flatten() {
            without_field(&mut clique["spec"], "autoScalingConfig");
            without_field(&mut clique["spec"]["podSpec"], "initContainers");
        }
        let groups = spec["template"].get_mut("podCliqueScalingGroups").and_then(Value::as_array_mut);
        groups.into_iter().flatten().for_each(|group| without_field(group, "scaleConfig"));
    });
    for group in names("podCliqueScalingGroups") {
        with(&|spec| {
            let members: Vec<_> = part(spec, "podCliqueScalingGroups", &group)
                .map(|group| list(&group["cliqueNames"]).to_vec())
                .unwrap_or_default();
            members.iter().for_each(|clique| without_clique(spec, text(clique)));
        });
        // Without the scaling group, its cliques are standalone.
        with(&|spec| without(spec, "podCliqueScalingGroups", &group));
        for fields in [&["replicas", "minAvailable"][..], &["replicas"], &["minAvailable"]] {
            with(&|spec| lower(part(spec, "podCliqueScalingGroups", &group), fields));
        }
    }
    for clique in names("cliques").iter().rev() {
        with(&|spec| without_clique(spec, clique));
        for fields in [&["replicas", "minAvailable"][..], &["replicas"], &["minAvailable"]] {
            with(&|spec| lower(part(spec, "cliques", clique).map(|clique| &mut clique["spec"]), fields));
        }
    }
}

pub(crate) fn without_field(part: &mut Value, field: &str) {
    if let Some(fields) = part.as_object_mut() {
        fields.remove(field);
    }
}

fn part<'a>(spec: &'a mut Value, key: &str, name: &str) -> Option<&'a mut Value> {
    spec["template"].get_mut(key)?.as_array_mut()?.iter_mut().find(|part| part["name"] == name)
}

fn without(spec: &mut Value, key: &str, name: &str) {
    let template = &mut spec["template"];
    if let Some(parts) = template[key].as_array_mut() {
        parts.retain(|part| part["name"] != name);
    }
    if list(&template[key]).is_empty() {
        without_field(template, key);
    }
}

fn without_clique(spec: &mut Value, name: &str) {
    without(spec, "cliques", name);
    let groups = spec["template"].get_mut("podCliqueScalingGroups").and_then(Value::as_array_mut);
    let mut empty = Vec::new();
    for group in groups.into_iter().flatten() {
        if let Some(members) = group["cliqueNames"].as_array_mut() {
            members.retain(|member| member != name);
            empty.extend(members.is_empty().then(|| text(&group["name"]).to_owned()));
        }
    }
    empty.iter().for_each(|group| without(spec, "podCliqueScalingGroups", group));
}

/// Decrements these counts, but not below 1, and keeps `minAvailable` at or below the replicas.
fn lower(part: Option<&mut Value>, fields: &[&str]) {
    let Some(part) = part else { return };
    for field in fields {
        if let Some(value @ 2..) = count(&part[*field]) {
            part[*field] = (value - 1).into();
        }
    }
    let (replicas, min) = (count(&part["replicas"]).unwrap_or(1), count(&part["minAvailable"]));
    if min.is_some_and(|min| min > replicas) {
        part["minAvailable"] = replicas.into();
    }
}
