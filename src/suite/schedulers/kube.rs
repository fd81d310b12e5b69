//! kube-scheduler on the Workload API of 1.36 (KUBE-01, KUBE-08): a Workload per PodGang, a PodGroup per podgroup or, in
//! PodGang scope, one for the hard gang.

use serde_json::{Value, json};

use super::{Expectations, Made, Name, Resource, list, text};
use crate::suite::expect::{Gang, Group};
use crate::suite::history::Pod;
use crate::suite::names;

/// kube-scheduler's backend.
#[derive(Debug)]
pub struct Kube {
    /// One PodGroup per PodGang instead of one per podgroup.
    pub whole: bool,
}

impl Expectations for Kube {
    fn kinds(&self) -> &'static [&'static str] {
        &["Workload", "PodGroup"]
    }

    fn resources(&self, pod_gang: &str, podgroups: &[(String, usize)]) -> Vec<Resource> {
        let workload = Resource { kind: "Workload", name: Name::object(pod_gang.to_owned()), size: None };
        let group = |name, size| Resource { kind: "PodGroup", name: Name::object(name), size: Some(size) };
        let groups: Vec<_> = match self.whole {
            true => vec![group(pod_gang.to_owned(), podgroups.iter().map(|(_, min)| min).sum())],
            false => podgroups
                .iter()
                .map(|(podgroup, min)| group(format!("{pod_gang}-{podgroup}"), *min))
                .collect(),
        };
        std::iter::once(workload).chain(groups).collect()
    }

    fn size(&self, resource: &Value) -> Option<u64> {
        resource["spec"]["schedulingPolicy"]["gang"]["minCount"].as_u64()
    }

    fn faults(&self, gang: Made<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
        match wanted.kind {
            "Workload" => {
                let (templates, groups) = (
                    list(&found["spec"]["podGroupTemplates"]).len(),
                    self.resources(gang.name(), gang.podgroups).len() - 1,
                );
                let wrong = templates != groups;
                wrong.then(|| format!("{templates} templates for {groups} PodGroups")).into_iter().collect()
            }
            _ => self.pod_group_faults(gang, wanted, found),
        }
    }

    fn joins(&self, gang: &Gang, group: &Group, index: usize) -> Option<Name> {
        match self.whole {
            true => (index < group.min).then(|| Name::object(gang.name.clone())),
            false => Some(Name::object(format!("{}-{}", gang.name, group.clique))),
        }
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        pod.0["spec"]["schedulingGroup"]["podGroupName"].as_str()
    }

    fn has_priority(&self, resource: &Value, class: &str) -> bool {
        let has = |shape: &Value| shape["priorityClassName"] == class;
        match resource["kind"] == "Workload" {
            true => list(&resource["spec"]["podGroupTemplates"]).iter().all(has),
            false => has(&resource["spec"]),
        }
    }

    fn claim(&self, pcs: &mut Value) {
        let scope = &mut pcs["metadata"]["annotations"][names::GANG_SCOPE];
        if scope.is_null() {
            *scope = if self.whole { "PodGang" } else { "PodGroup" }.into();
        }
    }

    fn canary(&self, name: &str) -> Vec<(&'static str, Value)> {
        let group = json!({
            "apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
        });
        let pod = json!({"spec": {"schedulerName": "default-scheduler", "schedulingGroup": {"podGroupName": name}}});
        vec![("PodGroup", group), ("Pod", pod)]
    }
}

impl Kube {
    /// A PodGroup and its template say the same, and what `minReplicas` says.
    fn pod_group_faults(&self, gang: Made<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
        let Some(workload) = gang.live.get("Workload", gang.name()) else { return Vec::new() };
        let templates = list(&workload["spec"]["podGroupTemplates"]);
        let reference = &found["spec"]["podGroupTemplateRef"]["workload"];
        let template_name = text(&reference["podGroupTemplateName"]);
        let mut faults = Vec::new();
        if reference["workloadName"] != gang.name() {
            faults.push(format!("it refers to Workload {}", reference["workloadName"]));
        }
        let of_podgroup = gang.podgroups.iter().find(|(podgroup, _)| {
            !self.whole && Name::object(format!("{}-{podgroup}", gang.name())) == wanted.name
        });
        let template = of_podgroup.map(|(podgroup, _)| Name::dns_label(podgroup.clone()));
        if let Some(wanted) = template.filter(|wanted| !wanted.matches(template_name)) {
            faults.push(format!("its template is {template_name:?}, not {wanted}"));
        }
        if self.size(found) != wanted.size.and_then(|size| u64::try_from(size).ok()) {
            let min_count = &found["spec"]["schedulingPolicy"]["gang"]["minCount"];
            faults.push(format!("minCount {min_count} instead of {}", wanted.size.unwrap_or_default()));
        }
        match templates.iter().find(|template| template["name"] == template_name) {
            None => faults.push(format!("the Workload has no template {template_name:?}")),
            Some(template) => {
                for field in ["schedulingPolicy", "schedulingConstraints", "priorityClassName"] {
                    if template[field] != found["spec"][field] {
                        faults.push(format!(
                            "{field} is {}, its template says {}",
                            found["spec"][field], template[field]
                        ));
                    }
                }
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pod_group_per_podgroup_or_one_for_all() {
        let podgroups = [("w-0-a".to_owned(), 2), ("w-0-b".to_owned(), 3)];
        let [flat, whole] = [false, true].map(|whole| Kube { whole }.resources("w-0", &podgroups));
        let said = |resources: &[Resource]| {
            resources.iter().map(|r| (r.kind, r.name.to_string(), r.size)).collect::<Vec<_>>()
        };
        let workload = ("Workload", "w-0".to_owned(), None);
        let group = |name: &str, size| ("PodGroup", name.to_owned(), Some(size));
        assert_eq!(said(&flat), [workload.clone(), group("w-0-w-0-a", 2), group("w-0-w-0-b", 3)]);
        assert_eq!(said(&whole), [workload, group("w-0", 5)]);
    }
}
