//! Requires that pods are created with the names (GANG-28) and variables (GANG-29) by which they find each
//! other. Histories that contain only a part of a template are not judged.

use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::scaling::index_in;
use conformance_expect::scopes::{GroupMember, clique_template, group_member};
use conformance_history::{Change, Pod, SharedMark, Version, count, list, text};
use serde_json::Value;

use super::course::{Course, is_groves_pod};
use super::fidelity::Templates;
use crate::{Shown, none, violation};

const WRONG_DNS_NAME: Code = Code::new("wrong-dns-name");
const WRONG_VARIABLE: Code = Code::new("wrong-variable");

/// A placeholder for the domain of the cluster, which no object shows.
const CLUSTER_DOMAIN: &str = "CLUSTER-DOMAIN";

pub(super) fn has_stable_name(course: &Course<'_>) -> Ruling {
    created_with(course, &WRONG_DNS_NAME, wrong_name)
}

pub(super) fn has_variables(course: &Course<'_>) -> Ruling {
    created_with(course, &WRONG_VARIABLE, wrong_variable)
}

pub(super) type Fault = fn(&Place<'_>, Pod<'_>) -> Option<String>;

pub(super) fn created_with(course: &Course<'_>, code: &Code, fault: Fault) -> Ruling {
    none(wrong(course, fault).into_iter().map(|(version, fault)| {
        let message = format!("Pod {} was created with {fault}", version.name());
        violation(code.clone(), message).shown_by("created", version)
    }))
}

/// A PodClique of a PodCliqueSet, with the templates that were in force.
pub(super) struct Place<'a> {
    pub(super) set: &'a str,
    replica: u64,
    pub(super) pod_clique: &'a str,
    pub(super) templates: &'a [&'a Value],
    member: Option<GroupMember<'a, 'a>>,
}

impl<'a> Place<'a> {
    fn of(set: &'a str, templates: &'a [&'a Value], pod_clique: &'a str) -> Option<Self> {
        let replica = index_in(set, pod_clique)?;
        let member = templates.iter().copied().find_map(|template| group_member(template, set, pod_clique));
        let place = Self { set, replica, pod_clique, templates, member };
        let is_whole = place.pod_specs().flat_map(containers).next().is_some();
        is_whole.then_some(place)
    }

    pub(super) fn pod_specs(&self) -> impl Iterator<Item = &'a Value> {
        let (set, pod_clique) = (self.set, self.pod_clique);
        let templates = self.templates.iter().copied();
        templates
            .filter_map(move |template| clique_template(template, set, pod_clique))
            .map(|clique| &clique["spec"]["podSpec"])
    }

    fn service(&self) -> String {
        format!("{}-{}", self.set, self.replica)
    }

    /// Grove's variables, each with its allowed values.
    fn variables(&self, pod: Pod<'_>) -> Vec<(&'static str, Vec<String>)> {
        let one = |name, value: &str| (name, vec![value.to_owned()]);
        let namespace = text(&pod.0["metadata"]["namespace"]);
        let address = format!("{}.{namespace}.svc.{CLUSTER_DOMAIN}", self.service());
        let mut wanted = vec![
            one("GROVE_PCS_NAME", self.set),
            one("GROVE_PCS_INDEX", &self.replica.to_string()),
            one("GROVE_PCLQ_NAME", self.pod_clique),
            one("GROVE_HEADLESS_SERVICE", &address),
        ];
        // GANG-05 covers a pod without an index.
        wanted.extend(pod.label(names::POD_INDEX).map(|index| one("GROVE_PCLQ_POD_INDEX", index)));
        if let Some(member) = self.member {
            let group = format!("{}-{}", self.service(), text(&member.group["name"]));
            let pods: BTreeSet<usize> =
                self.templates.iter().map(|template| pods_of(template, member.group)).collect();
            wanted.extend([
                one("GROVE_PCSG_NAME", &group),
                one("GROVE_PCSG_INDEX", member.index),
                ("GROVE_PCSG_TEMPLATE_NUM_PODS", pods.iter().map(usize::to_string).collect()),
            ]);
        }
        wanted
    }
}

/// The number of pods in a replica of the group, according to the template.
fn pods_of(template: &Value, group: &Value) -> usize {
    let members = list(&template["cliques"]);
    let members = members.iter().filter(|clique| list(&group["cliqueNames"]).contains(&clique["name"]));
    members.map(|clique| count(&clique["spec"]["replicas"]).unwrap_or(1).max(1)).sum()
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let all = ["initContainers", "containers"].into_iter().flat_map(move |field| list(&spec[field]));
    all.filter(|container| container["name"].is_string())
}

/// Returns each created pod that is wrong for every PodCliqueSet that may have its PodClique. Pods from
/// before an upgrade are left out, because the former operator created them.
fn wrong<'a>(course: &Course<'a>, fault: Fault) -> Vec<(Version<'a>, String)> {
    let upgraded = course.history.reached(SharedMark::UpgradeStarted).map_or(0, |(started, _)| started);
    let mut templates = Templates::submitted(course.history);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for version in &course.versions {
        templates.store(version);
        if !is_groves_pod(version) || version.change == Change::Deleted || !seen.insert(version.uid()) {
            continue;
        }
        if version.index < upgraded {
            continue;
        }
        let pod = version.pod();
        let pod_clique = pod.pod_clique().unwrap_or_default();
        let places =
            templates.by_set.iter().filter_map(|(set, in_force)| Place::of(set, in_force, pod_clique));
        let mut faults = Vec::new();
        let mut is_right = false;
        for place in places {
            match fault(&place, pod) {
                Some(fault) => faults.push(fault),
                None => is_right = true,
            }
        }
        found.extend(faults.into_iter().take(usize::from(!is_right)).map(|fault| (*version, fault)));
    }
    found
}

fn wrong_name(place: &Place<'_>, pod: Pod<'_>) -> Option<String> {
    let hostname = pod.label(names::POD_INDEX).map(|index| format!("{}-{index}", place.pod_clique));
    let wanted = hostname.map(|hostname| ("hostname", hostname)).into_iter();
    wanted.chain([("subdomain", place.service())]).find_map(|(field, wanted)| {
        let found = pod.0["spec"][field].as_str();
        (found != Some(wanted.as_str()))
            .then(|| format!("{field} {}, want {wanted}", found.unwrap_or("none")))
    })
}

fn wrong_variable(place: &Place<'_>, pod: Pod<'_>) -> Option<String> {
    let wanted = place.variables(pod);
    containers(&pod.0["spec"]).find_map(|container| {
        let name = text(&container["name"]);
        let of_template: Vec<&Value> =
            place.pod_specs().flat_map(containers).filter(|found| found["name"] == name).collect();
        if of_template.is_empty() {
            return None;
        }
        let variables = list(&container["env"]);
        let is_groves = |variable: &Value| wanted.iter().any(|(name, _)| variable["name"] == *name);
        let is_of_template =
            |variable: &Value| of_template.iter().any(|found| has_variable(found, &variable["name"]));
        let wrong = wanted.iter().find_map(|(variable, values)| {
            // If several variables have the same name, the last one counts.
            let found = variables.iter().rfind(|found| found["name"] == *variable);
            let value = found.and_then(|found| resolved(found, pod));
            let is_right = value.is_some_and(|value| values.iter().any(|wanted| is_value(wanted, value)));
            (!is_right).then(|| {
                let (value, values) = (value.unwrap_or("absent"), values.join(" or "));
                format!("variable {variable} of container {name} {value}, want {values}")
            })
        });
        wrong.or_else(|| {
            let mut before = variables.iter().skip_while(|found| is_groves(found) || !is_of_template(found));
            let first = before.next()?;
            let late = before.find(|found| is_groves(found))?;
            let (first, late) = (text(&first["name"]), text(&late["name"]));
            Some(format!("variable {late} of container {name} after {first} of the template, want it before"))
        })
    })
}

fn is_value(wanted: &str, found: &str) -> bool {
    match wanted.strip_suffix(CLUSTER_DOMAIN) {
        Some(before) => found
            .strip_prefix(before)
            .is_some_and(|domain| domain.starts_with(|first: char| first.is_ascii_alphanumeric())),
        None => found == wanted,
    }
}

fn has_variable(container: &Value, name: &Value) -> bool {
    list(&container["env"]).iter().any(|variable| variable["name"] == *name)
}

/// The value of a variable, which may refer to the metadata of its pod.
fn resolved<'a>(variable: &'a Value, pod: Pod<'a>) -> Option<&'a str> {
    let metadata = &pod.0["metadata"];
    let referred = || {
        let path = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str()?.strip_prefix("metadata.")?;
        match path.split_once("['") {
            Some((field, key)) => metadata[field][key.strip_suffix("']")?].as_str(),
            None => metadata[path].as_str(),
        }
    };
    variable["value"].as_str().or_else(referred)
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, owned};
    use serde_json::json;

    use super::*;
    use crate::message;

    fn set() -> Value {
        let pod = json!({
            "initContainers": [{"name": "first"}],
            "containers": [{"name": "main", "env": [{"name": "OWN", "value": "$(GROVE_PCS_NAME)"}]}],
        });
        let clique = |name: &str, replicas: usize| json!({"name": name, "spec": {"replicas": replicas, "podSpec": pod}});
        json!({"kind": "PodCliqueSet", "metadata": {"name": "w"}, "spec": {"replicas": 2, "template": {
            "cliques": [clique("a", 3), clique("b", 2), clique("c", 1)],
            "podCliqueScalingGroups": [{"name": "sg", "cliqueNames": ["b", "c"]}],
        }}})
    }

    fn variable(name: &str, value: &str) -> Value {
        json!({"name": name, "value": value})
    }

    fn of_label(name: &str, label: &str) -> Value {
        json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.labels['{label}']")}}})
    }

    /// The pod with index 1 of the PodClique `w-1-sg-4-b`.
    fn pod() -> Value {
        let variables = json!([
            variable("GROVE_PCS_NAME", "w"),
            variable("GROVE_PCS_INDEX", "1"),
            variable("GROVE_PCLQ_NAME", "w-1-sg-4-b"),
            variable("GROVE_HEADLESS_SERVICE", "w-1.ns.svc.cluster.local"),
            of_label("GROVE_PCLQ_POD_INDEX", names::POD_INDEX),
            of_label("GROVE_PCSG_NAME", names::SCALING_GROUP),
            variable("GROVE_PCSG_TEMPLATE_NUM_PODS", "3"),
            variable("GROVE_PCSG_INDEX", "4"),
            variable("OWN", "$(GROVE_PCS_NAME)"),
        ]);
        let pod = json!({
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "ns", "labels": {
                names::POD_CLIQUE: "w-1-sg-4-b", names::POD_INDEX: "1", names::SCALING_GROUP: "w-1-sg",
            }},
            "spec": {
                "hostname": "w-1-sg-4-b-1", "subdomain": "w-1",
                "initContainers": [{"name": "first", "env": variables}, {"name": "grove-initc"}],
                "containers": [{"name": "main", "env": variables}],
            },
        });
        owned(pod, "PodClique", "w-1-sg-4-b")
    }

    fn rulings(set: Value, pod: Value) -> [Ruling; 2] {
        let history = Story::flat().submitted(set).added(pod).end();
        let course = Course::of(&history);
        [has_stable_name(&course), has_variables(&course)]
    }

    fn changed(at: &str, value: Value) -> Value {
        let mut pod = pod();
        *pod.pointer_mut(at).unwrap() = value;
        pod
    }

    #[test]
    fn a_pod_with_its_names_and_variables_is_no_violation() {
        assert_eq!(rulings(set(), pod()), [Ok(()), Ok(())]);
        let mut standalone = pod();
        standalone["metadata"]["labels"] = json!({names::POD_CLIQUE: "w-0-a", names::POD_INDEX: "2"});
        standalone["spec"]["hostname"] = json!("w-0-a-2");
        standalone["spec"]["subdomain"] = json!("w-0");
        let variables = json!([
            variable("GROVE_PCS_NAME", "w"),
            variable("GROVE_PCS_INDEX", "0"),
            variable("GROVE_PCLQ_NAME", "w-0-a"),
            variable("GROVE_HEADLESS_SERVICE", "w-0.ns.svc.cluster.local"),
            variable("GROVE_PCLQ_POD_INDEX", "2"),
        ]);
        for field in ["initContainers", "containers"] {
            standalone["spec"][field][0]["env"] = variables.clone();
        }
        assert_eq!(rulings(set(), standalone), [Ok(()), Ok(())], "it is in no scaling group");
    }

    #[test]
    fn the_address_of_the_service_may_have_any_cluster_domain() {
        let pod = changed("/spec/containers/0/env/3/value", json!("w-1.ns.svc.corp.example"));
        assert_eq!(rulings(set(), pod), [Ok(()), Ok(())]);
    }

    #[rstest::rstest]
    #[case("/spec/hostname", json!("w-1-sg-4-b-0"), "hostname w-1-sg-4-b-0, want w-1-sg-4-b-1")]
    #[case("/spec/subdomain", Value::Null, "subdomain none, want w-1")]
    #[case("/metadata/labels/grove.io~1podclique-pod-index", json!("0"), "hostname w-1-sg-4-b-1, want w-1-sg-4-b-0")]
    fn a_wrong_dns_name_is_a_violation(#[case] at: &str, #[case] value: Value, #[case] wanted: &str) {
        let [name, _] = rulings(set(), changed(at, value));
        assert_eq!(message(name), format!("Pod p was created with {wanted}"));
    }

    #[rstest::rstest]
    #[case::name("/spec/containers/0/env/0/value", json!("w-1"), "GROVE_PCS_NAME of container main w-1, want w")]
    #[case::index("/spec/initContainers/0/env/1/value", json!("0"), "GROVE_PCS_INDEX of container first 0, want 1")]
    #[case::removed("/spec/containers/0/env/2/name", json!("OTHER"), "GROVE_PCLQ_NAME of container main absent, want w-1-sg-4-b")]
    #[case::address(
        "/spec/containers/0/env/3/value", json!("w-1.other.svc.cluster.local"),
        "GROVE_HEADLESS_SERVICE of container main w-1.other.svc.cluster.local, want w-1.ns.svc.CLUSTER-DOMAIN"
    )]
    #[case::address_without_domain(
        "/spec/containers/0/env/3/value", json!("w-1.ns.svc"),
        "GROVE_HEADLESS_SERVICE of container main w-1.ns.svc, want w-1.ns.svc.CLUSTER-DOMAIN"
    )]
    #[case::address_with_an_empty_domain(
        "/spec/containers/0/env/3/value", json!("w-1.ns.svc."),
        "GROVE_HEADLESS_SERVICE of container main w-1.ns.svc., want w-1.ns.svc.CLUSTER-DOMAIN"
    )]
    #[case::label(
        "/metadata/labels/grove.io~1podcliquescalinggroup",
        Value::Null,
        "GROVE_PCSG_NAME of container first absent, want w-1-sg"
    )]
    #[case::pods("/spec/containers/0/env/6/value", json!("2"), "GROVE_PCSG_TEMPLATE_NUM_PODS of container main 2, want 3")]
    #[case::replica("/spec/containers/0/env/7/value", json!("1"), "GROVE_PCSG_INDEX of container main 1, want 4")]
    #[case::overwritten(
        "/spec/containers/0/env/8",
        variable("GROVE_PCS_INDEX", "7"),
        "GROVE_PCS_INDEX of container main 7, want 1"
    )]
    #[case::late(
        "/spec/containers/0/env", {
            let mut variables = pod()["spec"]["containers"][0]["env"].as_array().unwrap().clone();
            variables.rotate_right(1);
            variables.into()
        },
        "GROVE_PCS_NAME of container main after OWN of the template, want it before"
    )]
    fn a_wrong_variable_is_a_violation(#[case] at: &str, #[case] value: Value, #[case] wanted: &str) {
        let [_, variables] = rulings(set(), changed(at, value));
        assert_eq!(message(variables), format!("Pod p was created with variable {wanted}"));
    }

    #[test]
    fn the_number_of_pods_may_be_that_of_any_template_in_force() {
        let mut larger = set();
        larger["spec"]["template"]["cliques"][2]["spec"]["replicas"] = json!(4);
        let story = Story::flat().submitted(set()).mark(SharedMark::Submitted, json!({"name": "w"}));
        let story = story.added(set()).modified(larger);
        let ruling = |pods: &str| {
            let mut pod = changed("/spec/containers/0/env/6/value", json!(pods));
            pod["spec"]["initContainers"][0]["env"][6]["value"] = json!(pods);
            has_variables(&Course::of(&story.clone().added(pod).end()))
        };
        assert_eq!((ruling("3"), ruling("6")), (Ok(()), Ok(())));
        assert!(message(ruling("5")).ends_with("5, want 3 or 6"));
    }

    #[test]
    fn pods_of_the_former_operator_are_not_judged() {
        let wrong = || changed("/spec/subdomain", Value::Null);
        let former = Story::flat().submitted(set()).added(wrong());
        let kept = former.mark(SharedMark::UpgradeStarted, Value::Null).modified(wrong()).end();
        assert_eq!(has_stable_name(&Course::of(&kept)), Ok(()));
        let upgraded = Story::flat().submitted(set()).mark(SharedMark::UpgradeStarted, Value::Null);
        let created = upgraded.added(wrong()).end();
        assert!(message(has_stable_name(&Course::of(&created))).ends_with("subdomain none, want w-1"));
    }

    #[test]
    fn a_history_with_a_part_of_the_template_is_not_judged() {
        let mut abridged = set();
        for clique in abridged["spec"]["template"]["cliques"].as_array_mut().unwrap() {
            clique["spec"]["podSpec"] = json!({});
        }
        assert_eq!(rulings(abridged, changed("/spec", json!({}))), [Ok(()), Ok(())]);
    }
}
