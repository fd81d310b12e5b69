//! The ResourceClaims that pods share: per entry, one for all replicas of its object, or one per replica.

use std::slice;

use grove_api::{
    PCSGResourceSharingSpec, PCSResourceSharingSpec, PodClique, PodCliqueScalingGroupConfig, PodCliqueSet,
    PodCliqueTemplateSpec, ResourceSharingScope, ResourceSharingSpec, names,
};
use kube::ResourceExt;

use super::pod_clique_object::{position_of, template_of};
use crate::faults::fault;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedClaim<'a> {
    pub name: String,
    /// `None` if all replicas share the claim.
    pub replica: Option<i32>,
    pub template: &'a str,
    pub namespace: Option<&'a str>,
}

#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub name: &'a str,
    pub namespace: Option<&'a str>,
    pub scope: ResourceSharingScope,
    /// Names of the cliques and scaling groups whose pods get the claim. `None` for all.
    filter: Option<[&'a [String]; 2]>,
}

impl Entry<'_> {
    /// `child` contains the name of the clique and the name of its scaling group.
    fn selects(&self, child: &[&str]) -> bool {
        self.filter.is_none_or(|names| {
            let mut names = names.into_iter().flatten();
            names.any(|name| child.contains(&name.as_str())) || fault!("claim-filters-ignored")
        })
    }
}

pub(crate) fn pcs_entries(entries: &[PCSResourceSharingSpec]) -> Vec<Entry<'_>> {
    let entries = entries.iter().map(|entry| Entry {
        name: &entry.name,
        namespace: namespace(entry.namespace.as_ref()),
        scope: entry.scope,
        filter: entry.filter.as_ref().map(|filter| {
            [filter.child_clique_names.as_slice(), filter.child_scaling_group_names.as_slice()]
        }),
    });
    entries.collect()
}

pub(crate) fn group_entries(entries: &[PCSGResourceSharingSpec]) -> Vec<Entry<'_>> {
    let entries = entries.iter().map(|entry| Entry {
        name: &entry.name,
        namespace: namespace(entry.namespace.as_ref()),
        scope: entry.scope,
        filter: entry.filter.as_ref().map(|filter| [filter.child_clique_names.as_slice(), &[]]),
    });
    entries.collect()
}

pub(crate) fn clique_entries(entries: &[ResourceSharingSpec]) -> Vec<Entry<'_>> {
    let entries = entries.iter().map(|entry| Entry {
        name: &entry.name,
        namespace: namespace(entry.namespace.as_ref()),
        scope: entry.scope,
        filter: None,
    });
    entries.collect()
}

/// An empty namespace counts as unset, as in Go.
fn namespace(field: Option<&String>) -> Option<&str> {
    field.map(String::as_str).filter(|namespace| !namespace.is_empty())
}

pub(crate) fn claims<'a>(owner: &str, entries: &[Entry<'a>], replicas: &[i32]) -> Vec<SharedClaim<'a>> {
    let claim = |entry: &Entry<'a>, replica: Option<i32>| SharedClaim {
        name: match replica {
            None => names::claim_of_all_replicas(owner, entry.name),
            Some(index) => names::claim_of_replica(owner, index, entry.name),
        },
        replica,
        template: entry.name,
        namespace: entry.namespace,
    };
    let with_scope = |scope| entries.iter().filter(move |entry| entry.scope == scope);
    let mut claims: Vec<_> =
        with_scope(ResourceSharingScope::AllReplicas).map(|entry| claim(entry, None)).collect();
    for index in replicas {
        claims.extend(with_scope(ResourceSharingScope::PerReplica).map(|entry| claim(entry, Some(*index))));
    }
    claims
}

pub(super) fn claim_names(pcs: &PodCliqueSet, pclq: &PodClique, index: i32) -> Vec<String> {
    let Some(clique) = template_of(pcs, pclq) else { return Vec::new() };
    let (i, group) = position_of(pclq);
    let group = group.and_then(|(pcsg, j)| Some((config_of(pcs, pcsg, i)?, pcsg, j)));
    let name = pclq.name_any();
    let position = PodPosition { i, group, pclq: &name, index };
    claims_of_pod(pcs, clique, &position).into_iter().map(|claim| claim.name).collect()
}

pub(crate) struct PodPosition<'a> {
    pub i: i32,
    /// The scaling group in the template, the name of its object, and the index of its replica.
    pub group: Option<(&'a PodCliqueScalingGroupConfig, &'a str, i32)>,
    pub pclq: &'a str,
    pub index: i32,
}

pub(crate) fn claims_of_pod<'a>(
    pcs: &'a PodCliqueSet,
    clique: &'a PodCliqueTemplateSpec,
    position: &PodPosition<'a>,
) -> Vec<SharedClaim<'a>> {
    let mut child = vec![clique.name.as_str()];
    child.extend(position.group.map(|(config, ..)| config.name.as_str()));
    let mut found = Vec::new();
    let mut add = |owner: &str, entries: Vec<Entry<'a>>, child: &[&str], replica: i32| {
        let entries: Vec<_> = entries.into_iter().filter(|entry| entry.selects(child)).collect();
        found.extend(claims(owner, &entries, slice::from_ref(&replica)));
    };
    add(&pcs.name_any(), pcs_entries(&pcs.spec.template.resource_sharing), &child, position.i);
    if let Some((config, pcsg, j)) = position.group {
        add(pcsg, group_entries(&config.resource_sharing), &child[..1], j);
    }
    add(position.pclq, clique_entries(&clique.resource_sharing), &child[..1], position.index);
    found
}

pub(crate) fn config_of<'a>(
    pcs: &'a PodCliqueSet,
    pcsg: &str,
    i: i32,
) -> Option<&'a PodCliqueScalingGroupConfig> {
    let mut groups = pcs.spec.template.pod_clique_scaling_groups.iter();
    groups.find(|group| names::scaling_group(&pcs.name_any(), i, &group.name) == pcsg)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pcs() -> PodCliqueSet {
        let clique = |name: &str, sharing: Value| json!({"name": name, "resourceSharing": sharing, "spec": {"podSpec": {}, "replicas": 2}});
        let template = json!({
            "resourceSharing": [
                {"name": "each", "scope": "PerReplica"},
                {"name": "all", "scope": "AllReplicas"},
                {"name": "alone", "scope": "AllReplicas", "filter": {"childCliqueNames": ["a"]}},
                {"name": "grouped", "scope": "PerReplica", "filter": {"childScalingGroupNames": ["sg"]}},
            ],
            "cliques": [
                clique("a", json!([{"name": "mine", "scope": "PerReplica"}])),
                clique("b", json!([{"name": "ours", "namespace": "shared", "scope": "AllReplicas"}])),
                clique("c", json!([])),
            ],
            "podCliqueScalingGroups": [{"name": "sg", "cliqueNames": ["b", "c"], "resourceSharing": [
                {"name": "group", "scope": "AllReplicas"},
                {"name": "copy", "scope": "PerReplica", "filter": {"childCliqueNames": ["b"]}},
            ]}],
        });
        let pcs = json!({"metadata": {"name": "wl"}, "spec": {"replicas": 2, "template": template}});
        serde_json::from_value(pcs).unwrap()
    }

    fn names_of_pod_3(name: &str, group: Option<&str>) -> String {
        let mut labels = json!({names::LABEL_PCS_REPLICA_INDEX: "1"});
        if let Some(j) = group {
            labels[names::LABEL_SCALING_GROUP] = json!("wl-1-sg");
            labels[names::LABEL_SCALING_GROUP_REPLICA_INDEX] = json!(j);
        }
        let pclq =
            json!({"metadata": {"name": name, "labels": labels}, "spec": {"podSpec": {}, "replicas": 2}});
        claim_names(&pcs(), &serde_json::from_value(pclq).unwrap(), 3).join(" ")
    }

    #[test]
    fn a_pod_gets_the_claims_of_its_replicas_at_every_level() {
        assert_eq!(names_of_pod_3("wl-1-a", None), "wl-all-all wl-all-alone wl-1-each wl-1-a-3-mine");
        assert_eq!(
            names_of_pod_3("wl-1-sg-0-b", Some("0")),
            "wl-all-all wl-1-each wl-1-grouped wl-1-sg-all-group wl-1-sg-0-copy wl-1-sg-0-b-all-ours"
        );
        assert_eq!(
            names_of_pod_3("wl-1-sg-2-c", Some("2")),
            "wl-all-all wl-1-each wl-1-grouped wl-1-sg-all-group"
        );
        assert_eq!(names_of_pod_3("wl-1-x", None), "", "the template has no such clique");
    }

    #[test]
    fn an_owner_has_the_claims_of_its_replicas() {
        let pcs = pcs();
        let found = claims("wl", &pcs_entries(&pcs.spec.template.resource_sharing), &[0, 1]);
        let names: Vec<_> = found.iter().map(|claim| claim.name.as_str()).collect();
        assert_eq!(
            names,
            ["wl-all-all", "wl-all-alone", "wl-0-each", "wl-0-grouped", "wl-1-each", "wl-1-grouped"]
        );
        assert_eq!((found[0].replica, found[2].replica), (None, Some(0)));
        let of_b = clique_entries(&pcs.spec.template.cliques[1].resource_sharing);
        assert_eq!(claims("b", &of_b, &[])[0].namespace, Some("shared"));
    }
}
