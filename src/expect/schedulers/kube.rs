//! kube-scheduler with the Workload API. The backend creates one PodGroup per podgroup (KUBE-01), one for the
//! hard gang (KUBE-08), or one per podgroup below a tree of CompositePodGroups (KUBE-10).

use std::time::Duration;

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::Pod;
use serde_json::{Value, json};

use super::kube_tree::{self, COMPOSITE};
use super::{CreatedGang, Expectations, Name, Resource, Targets, list, text};
use crate::{Gang, Group};

pub(super) static TARGETS: Targets = &[
    (Target::KUBE_POD_GROUP, &Kube { mapping: Mapping::Flat }),
    (Target::KUBE_POD_GANG, &Kube { mapping: Mapping::Whole }),
    (Target::KUBE_TREE, &Kube { mapping: Mapping::Tree }),
];

#[derive(Debug)]
pub struct Kube {
    pub mapping: Mapping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapping {
    Flat,
    Whole,
    Tree,
}

impl Mapping {
    pub fn scope(self) -> &'static str {
        match self {
            Self::Flat => "PodGroup",
            Self::Whole => "PodGang",
            Self::Tree => "Tree",
        }
    }
}

impl Expectations for Kube {
    /// `permitTimeoutDuration` of the plugin GangScheduling, a constant.
    fn gang_timeout(&self) -> Option<Duration> {
        Some(Duration::from_secs(300))
    }

    fn kinds(&self) -> &'static [&'static str] {
        match self.mapping {
            Mapping::Tree => &["Workload", COMPOSITE, "PodGroup"],
            Mapping::Flat | Mapping::Whole => &["Workload", "PodGroup"],
        }
    }

    fn resources(&self, pod_gang: &str, podgroups: &[(String, usize)]) -> Vec<Resource> {
        let object = |kind, name, size| Resource { kind, name: Name::object(name), size };
        let workload = object("Workload", pod_gang.to_owned(), None);
        let of_podgroups = podgroups
            .iter()
            .map(|(podgroup, min)| object("PodGroup", format!("{pod_gang}-{podgroup}"), Some(*min)));
        match self.mapping {
            Mapping::Flat => std::iter::once(workload).chain(of_podgroups).collect(),
            Mapping::Whole => {
                let size = podgroups.iter().map(|(_, min)| min).sum();
                vec![workload, object("PodGroup", pod_gang.to_owned(), Some(size))]
            }
            Mapping::Tree => {
                let root = object(COMPOSITE, pod_gang.to_owned(), None);
                [workload, root].into_iter().chain(of_podgroups).collect()
            }
        }
    }

    fn resources_of_groups(&self, pod_gang: &Value) -> Vec<Resource> {
        match self.mapping {
            Mapping::Tree => kube_tree::children(pod_gang),
            Mapping::Flat | Mapping::Whole => Vec::new(),
        }
    }

    fn size(&self, resource: &Value) -> Option<u64> {
        resource["spec"]["schedulingPolicy"]["gang"]["minCount"].as_u64()
    }

    fn faults(&self, gang: CreatedGang<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
        let mut faults = match wanted.kind {
            "PodGroup" => self.pod_group_faults(gang, wanted, found),
            _ => Vec::new(),
        };
        if self.mapping == Mapping::Tree {
            faults.extend(kube_tree::faults(gang, wanted, found));
        } else if wanted.kind == "Workload" {
            let templates = list(&found["spec"]["podGroupTemplates"]).len();
            let groups = self.resources(gang.name(), gang.podgroups).len() - 1;
            if templates != groups {
                faults.push(format!("the Workload has {templates} templates, want {groups}"));
            }
        }
        faults
    }

    fn joins(&self, gang: &Gang, group: &Group, index: usize) -> Option<Name> {
        let of_clique = || Name::object(format!("{}-{}", gang.name, group.clique));
        match self.mapping {
            Mapping::Flat => Some(of_clique()),
            Mapping::Whole => (index < group.min).then(|| Name::object(gang.name.clone())),
            Mapping::Tree => (index < group.min).then(of_clique),
        }
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        pod.0["spec"]["schedulingGroup"]["podGroupName"].as_str()
    }

    fn kind_of_pod_gang(&self) -> Option<&'static str> {
        (self.mapping == Mapping::Tree).then_some(COMPOSITE)
    }

    fn has_priority(&self, resource: &Value, class: &str) -> bool {
        let has = |shape: &Value| shape["priorityClassName"] == class;
        if resource["kind"] == "Workload" {
            kube_tree::templates(resource).all(|(template, _)| has(template))
        } else {
            has(&resource["spec"])
        }
    }

    /// Since 1.37, a gang is bound only if its pods have the priority of their PodGroup.
    fn reads_priority_of_pods(&self) -> bool {
        true
    }

    fn follows_priority(&self) -> bool {
        false
    }

    fn assign(&self, pcs: &mut Value) {
        let scope = &mut pcs["metadata"]["annotations"][names::GANG_SCOPE];
        if scope.is_null() {
            *scope = self.mapping.scope().into();
        }
    }

    /// Surplus pods without a PodGroup stay gated until the hard gang is bound (KUBE-18).
    fn initially_released(&self, gang: &Gang) -> usize {
        match self.mapping {
            Mapping::Flat => gang.pods(),
            Mapping::Whole | Mapping::Tree => gang.minimum(),
        }
    }

    fn writers(&self) -> &[&'static str] {
        &["kube-scheduler", "default-scheduler"]
    }

    fn is_refusal(&self, condition: &Value) -> bool {
        let has_type =
            ["PodGroupScheduled", "PodGroupInitiallyScheduled"].iter().any(|own| condition["type"] == *own);
        has_type && condition["status"] == "False"
    }

    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)> {
        let group = json!({
            "metadata": {"name": name},
            "spec": {"schedulingPolicy": {"gang": {"minCount": pods}}},
        });
        let pod = json!({"spec": {"schedulerName": "default-scheduler", "schedulingGroup": {"podGroupName": name}}});
        vec![("PodGroup", group), ("Pod", pod)]
    }
}

pub(super) fn reference(found: &Value) -> (&Value, &str) {
    let (v1alpha2, since) =
        (&found["spec"]["podGroupTemplateRef"]["workload"], &found["spec"]["workloadRef"]);
    if since.is_null() {
        (&v1alpha2["workloadName"], text(&v1alpha2["podGroupTemplateName"]))
    } else {
        (&since["workloadName"], text(&since["templateName"]))
    }
}

pub(super) fn template_faults(gang: CreatedGang<'_>, found: &Value) -> Vec<String> {
    let Some(workload) = gang.live.get("Workload", gang.name()) else { return Vec::new() };
    let (workload_name, template_name) = reference(found);
    let mut faults = Vec::new();
    if *workload_name != gang.name() {
        faults.push(format!("it refers to Workload {workload_name}, want {:?}", gang.name()));
    }
    match kube_tree::templates(workload).find(|(template, _)| template["name"] == template_name) {
        None => faults.push(format!("the Workload has no template {template_name:?}")),
        Some((template, _)) => {
            for field in ["schedulingPolicy", "schedulingConstraints", "priorityClassName"] {
                if template[field] != found["spec"][field] {
                    faults.push(format!(
                        "{field} is {}, want {} as in its template",
                        found["spec"][field], template[field]
                    ));
                }
            }
        }
    }
    faults
}

impl Kube {
    /// In the flat mapping, the template has the name of the podgroup.
    fn pod_group_faults(&self, gang: CreatedGang<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
        let mut faults = template_faults(gang, found);
        let (_, template_name) = reference(found);
        let of_podgroup = gang.podgroups.iter().find(|(podgroup, _)| {
            self.mapping == Mapping::Flat
                && Name::object(format!("{}-{podgroup}", gang.name())) == wanted.name
        });
        let template = of_podgroup.map(|(podgroup, _)| Name::dns_label(podgroup.clone()));
        if let Some(wanted) = template.filter(|wanted| !wanted.matches(template_name)) {
            faults.push(format!("its template is {template_name:?}, want {wanted}"));
        }
        if self.size(found) != wanted.size.and_then(|size| u64::try_from(size).ok()) {
            let min_count = &found["spec"]["schedulingPolicy"]["gang"]["minCount"];
            faults.push(format!("minCount is {min_count}, want {}", wanted.size.unwrap_or_default()));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::flat(Mapping::Flat, Some("w-0-w-0-a"), Some("w-0-w-0-a"), 3)]
    #[case::whole(Mapping::Whole, Some("w-0"), None, 2)]
    #[case::tree(Mapping::Tree, Some("w-0-w-0-a"), None, 2)]
    fn surplus_joins_a_pod_group_only_in_the_flat_mapping(
        #[case] mapping: Mapping,
        #[case] member: Option<&str>,
        #[case] surplus: Option<&str>,
        #[case] released: usize,
    ) {
        let group =
            Group { clique: "w-0-a".into(), template: "a".into(), min: 2, replicas: 3, scaling_group: None };
        let gang = Gang { groups: vec![group.clone()], ..Gang::named_only("w-0") };
        let kube = Kube { mapping };
        let joined = |index| kube.joins(&gang, &group, index).map(|name| name.to_string());
        assert_eq!((joined(1).as_deref(), joined(2).as_deref()), (member, surplus));
        assert_eq!(kube.initially_released(&gang), released);
    }

    #[rstest::rstest]
    #[case::of_1_36("PodGroupScheduled", "False", true)]
    #[case::of_1_37("PodGroupInitiallyScheduled", "False", true)]
    #[case::scheduled("PodGroupScheduled", "True", false)]
    #[case::another_condition("DisruptionTarget", "False", false)]
    fn only_a_pod_group_that_is_not_scheduled_is_refused(
        #[case] of_type: &str,
        #[case] status: &str,
        #[case] is_refused: bool,
    ) {
        let condition = json!({"type": of_type, "status": status});
        assert_eq!(Kube { mapping: Mapping::Flat }.is_refusal(&condition), is_refused);
    }

    #[test]
    fn each_mapping_has_its_gang_resources() {
        let podgroups = [("w-0-a".to_owned(), 2), ("w-0-b".to_owned(), 3)];
        let [flat, whole, tree] = [Mapping::Flat, Mapping::Whole, Mapping::Tree]
            .map(|mapping| Kube { mapping }.resources("w-0", &podgroups));
        let described = |resources: &[Resource]| {
            resources.iter().map(|r| (r.kind, r.name.to_string(), r.size)).collect::<Vec<_>>()
        };
        let workload = ("Workload", "w-0".to_owned(), None);
        let group = |name: &str, size| ("PodGroup", name.to_owned(), Some(size));
        assert_eq!(described(&flat), [workload.clone(), group("w-0-w-0-a", 2), group("w-0-w-0-b", 3)]);
        assert_eq!(described(&whole), [workload.clone(), group("w-0", 5)]);
        let root = (COMPOSITE, "w-0".to_owned(), None);
        assert_eq!(described(&tree), [workload, root, group("w-0-w-0-a", 2), group("w-0-w-0-b", 3)]);
    }
}
