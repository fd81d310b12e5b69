//! Which ResourceClaims the pods of a PodCliqueSet share: what they are called, and which pods get which.
//!
//! Pure. Each level has its own entries: a PodCliqueSet, a scaling group, a clique. An entry makes one claim for all replicas of
//! the object of its level, or one for each replica; a pod gets those of its own replicas at every level.

use std::slice;

use grove_api::{
    PCSGResourceSharingSpec, PCSResourceSharingSpec, PodClique, PodCliqueScalingGroupConfig, PodCliqueSet,
    PodCliqueTemplateSpec, ResourceSharingScope, ResourceSharingSpec, names,
};
use kube::ResourceExt;

use super::pod_clique_object::{place_of, template_of};

/// A claim that pods share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SharedClaim<'a> {
    /// What it is called, in the namespace and in the pods.
    pub name: String,
    /// The replica of its owner that it is for; `None` where all share it.
    pub replica: Option<i32>,
    /// Name of the template.
    pub template: &'a str,
    /// Namespace of the template, if the entry names one.
    pub namespace: Option<&'a str>,
}

/// An entry of `resourceSharing`, whatever its level.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// Name of the template.
    pub name: &'a str,
    /// Namespace of the template.
    pub namespace: Option<&'a str>,
    /// Who shares.
    pub scope: ResourceSharingScope,
    /// The children that it is for, by kind; all where it names none.
    filter: Option<[&'a [String]; 2]>,
}

impl Entry<'_> {
    /// Whether its filter lets a child have the claim that goes by these names: its clique's, and its scaling group's.
    fn is_for(&self, child: &[&str]) -> bool {
        self.filter.is_none_or(|names| {
            let mut names = names.into_iter().flatten();
            names.any(|name| child.contains(&name.as_str()))
        })
    }
}

/// The entries of a PodCliqueSet.
pub(super) fn of_set(entries: &[PCSResourceSharingSpec]) -> Vec<Entry<'_>> {
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

/// The entries of a scaling group.
pub(super) fn of_group(entries: &[PCSGResourceSharingSpec]) -> Vec<Entry<'_>> {
    let entries = entries.iter().map(|entry| Entry {
        name: &entry.name,
        namespace: namespace(entry.namespace.as_ref()),
        scope: entry.scope,
        filter: entry.filter.as_ref().map(|filter| [filter.child_clique_names.as_slice(), &[]]),
    });
    entries.collect()
}

/// The entries of a clique.
pub(super) fn of_clique(entries: &[ResourceSharingSpec]) -> Vec<Entry<'_>> {
    let entries = entries.iter().map(|entry| Entry {
        name: &entry.name,
        namespace: namespace(entry.namespace.as_ref()),
        scope: entry.scope,
        filter: None,
    });
    entries.collect()
}

/// An empty one is none, as in Go.
fn namespace(named: Option<&String>) -> Option<&str> {
    named.map(String::as_str).filter(|namespace| !namespace.is_empty())
}

/// The claims that `entries` make for `owner` with replicas of these indexes.
pub(super) fn claims<'a>(owner: &str, entries: &[Entry<'a>], replicas: &[i32]) -> Vec<SharedClaim<'a>> {
    let claim = |entry: &Entry<'a>, replica: Option<i32>| SharedClaim {
        name: match replica {
            None => names::claim_of_all_replicas(owner, entry.name),
            Some(index) => names::claim_of_replica(owner, index, entry.name),
        },
        replica,
        template: entry.name,
        namespace: entry.namespace,
    };
    let of_scope = |scope| entries.iter().filter(move |entry| entry.scope == scope);
    let of_all = of_scope(ResourceSharingScope::AllReplicas).map(|entry| claim(entry, None));
    let of_each = replicas
        .iter()
        .flat_map(|index| of_scope(ResourceSharingScope::PerReplica).map(|entry| claim(entry, Some(*index))));
    of_all.chain(of_each).collect()
}

/// The names of the claims that the pod of this index gets, those of the PodCliqueSet first.
pub(super) fn of_pod(pcs: &PodCliqueSet, pclq: &PodClique, index: i32) -> Vec<String> {
    let Some(clique) = template_of(pcs, pclq) else { return Vec::new() };
    let (i, group) = place_of(pclq);
    let group = group.and_then(|(pcsg, j)| Some((config_of(pcs, pcsg, i)?, pcsg, j)));
    let name = pclq.name_any();
    let place = Place { i, group, pclq: &name, index };
    of_place(pcs, clique, &place).into_iter().map(|claim| claim.name).collect()
}

/// Where a pod is, at every level.
pub(super) struct Place<'a> {
    /// Index of the PodCliqueSet replica.
    pub i: i32,
    /// The scaling group in the template, its name as an object, and the index of its replica.
    pub group: Option<(&'a PodCliqueScalingGroupConfig, &'a str, i32)>,
    /// Name of the PodClique.
    pub pclq: &'a str,
    /// Index in the PodClique.
    pub index: i32,
}

/// The claims that a pod of `clique` gets.
pub(super) fn of_place<'a>(
    pcs: &'a PodCliqueSet,
    clique: &'a PodCliqueTemplateSpec,
    place: &Place<'a>,
) -> Vec<SharedClaim<'a>> {
    let mut child = vec![clique.name.as_str()];
    child.extend(place.group.map(|(config, ..)| config.name.as_str()));
    let mut found = Vec::new();
    let mut get = |owner: &str, entries: Vec<Entry<'a>>, child: &[&str], replica: i32| {
        let entries: Vec<_> = entries.into_iter().filter(|entry| entry.is_for(child)).collect();
        found.extend(claims(owner, &entries, slice::from_ref(&replica)));
    };
    get(&pcs.name_any(), of_set(&pcs.spec.template.resource_sharing), &child, place.i);
    if let Some((config, pcsg, j)) = place.group {
        get(pcsg, of_group(&config.resource_sharing), &child[..1], j);
    }
    get(place.pclq, of_clique(&clique.resource_sharing), &child[..1], place.index);
    found
}

/// What the template says of a scaling group of PodCliqueSet replica `i`.
pub(super) fn config_of<'a>(
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

    /// Every level, with and without filters: `a` stands alone, `b` and `c` are in the group `sg`.
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

    fn of(name: &str, group: Option<&str>) -> String {
        let mut labels = json!({names::LABEL_PCS_REPLICA_INDEX: "1"});
        if let Some(j) = group {
            labels[names::LABEL_SCALING_GROUP] = json!("wl-1-sg");
            labels[names::LABEL_SCALING_GROUP_REPLICA_INDEX] = json!(j);
        }
        let pclq =
            json!({"metadata": {"name": name, "labels": labels}, "spec": {"podSpec": {}, "replicas": 2}});
        of_pod(&pcs(), &serde_json::from_value(pclq).unwrap(), 3).join(" ")
    }

    #[test]
    fn a_pod_gets_those_of_its_replicas_at_every_level() {
        assert_eq!(of("wl-1-a", None), "wl-all-all wl-all-alone wl-1-each wl-1-a-3-mine");
        assert_eq!(
            of("wl-1-sg-0-b", Some("0")),
            "wl-all-all wl-1-each wl-1-grouped wl-1-sg-all-group wl-1-sg-0-copy wl-1-sg-0-b-all-ours"
        );
        assert_eq!(of("wl-1-sg-2-c", Some("2")), "wl-all-all wl-1-each wl-1-grouped wl-1-sg-all-group");
        assert_eq!(of("wl-1-x", None), "", "no clique of the template");
    }

    #[test]
    fn an_owner_makes_those_of_its_replicas() {
        let pcs = pcs();
        let made = claims("wl", &of_set(&pcs.spec.template.resource_sharing), &[0, 1]);
        let names: Vec<_> = made.iter().map(|claim| claim.name.as_str()).collect();
        assert_eq!(
            names,
            ["wl-all-all", "wl-all-alone", "wl-0-each", "wl-0-grouped", "wl-1-each", "wl-1-grouped"]
        );
        assert_eq!((made[0].replica, made[2].replica), (None, Some(0)));
        let of_b = of_clique(&pcs.spec.template.cliques[1].resource_sharing);
        assert_eq!(claims("b", &of_b, &[])[0].namespace, Some("shared"));
    }
}
