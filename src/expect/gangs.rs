//! Derives the PodGangs of a PodCliqueSet from its manifest, according to the contract (GANG-01 to GANG-03).

use conformance_contract::clauses::Feature;
use conformance_contract::ruling::Broken;
use conformance_contract::target::Target;
use conformance_history::{History, counted_pods, text};
use serde_json::Value;

use crate::resolver::resolved_in;

/// A PodGang that should exist. The operator chooses its name, so its PodCliqueSet and podgroups identify it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gang {
    pub set: String,
    pub replica: usize,
    pub is_base: bool,
    /// The name of the PodGang. If unknown, its podgroups in angle brackets, which no object's name has.
    pub name: String,
    pub groups: Vec<Group>,
    /// The existing gang resource that the pods name, for a backend that chooses such names freely.
    pub joined: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub clique: String,
    pub template: String,
    pub min: usize,
    pub replicas: usize,
    /// Name and replica index of the scaling group, if the clique is in one.
    pub scaling_group: Option<(String, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub gang: String,
    pub minimums: Vec<(String, usize)>,
}

pub trait Expected {
    fn gangs(&self, name: &str) -> Result<Vec<Gang>, Broken>;

    /// Returns the base PodGang of a PodCliqueSet's first replica. Fails if the history has no such PodGang.
    fn base(&self, name: &str) -> Result<Gang, Broken>;

    fn units(&self, name: &str) -> Result<Vec<Unit>, Broken>;
}

impl Expected for History {
    fn gangs(&self, name: &str) -> Result<Vec<Gang>, Broken> {
        Ok(resolved_in(self, gangs(self.submitted(name)?)))
    }

    fn base(&self, name: &str) -> Result<Gang, Broken> {
        let first = self.gangs(name)?.into_iter().next().filter(Gang::is_known);
        first.ok_or_else(|| Broken::NotReached(format!("PodCliqueSet {name} never had a base PodGang")))
    }

    fn units(&self, name: &str) -> Result<Vec<Unit>, Broken> {
        Ok(self.gangs(name)?.iter().flat_map(|gang| gang.units(self.header.target)).collect())
    }
}

fn count(value: &Value, otherwise: usize) -> usize {
    value.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(otherwise)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The expected PodGangs of a PodCliqueSet: for each replica the base PodGang, then the scaled PodGangs.
pub fn gangs(pcs: &Value) -> Vec<Gang> {
    let set = text(&pcs["metadata"]["name"]);
    let template = &pcs["spec"]["template"];
    let clique = |name: &str| list(&template["cliques"]).find(|clique| clique["name"] == name);
    let is_grouped = |name: &str| {
        list(&template["podCliqueScalingGroups"]).any(|sg| list(&sg["cliqueNames"]).any(|c| c == name))
    };
    let group = |prefix: &str, template: &Value, scaling_group: Option<(String, usize)>| {
        let name = text(&template["name"]);
        let replicas = count(&template["spec"]["replicas"], 1).max(1);
        let min = count(&template["spec"]["minAvailable"], replicas);
        Group { clique: format!("{prefix}-{name}"), template: name.into(), min, replicas, scaling_group }
    };
    let mut gangs = Vec::new();
    for i in 0..count(&pcs["spec"]["replicas"], 0) {
        let base = format!("{set}-{i}");
        let gang = |is_base, groups| Gang::unnamed(set, i, is_base, groups);
        let standalone = list(&template["cliques"]).filter(|clique| !is_grouped(text(&clique["name"])));
        let mut groups: Vec<Group> = standalone.map(|clique| group(&base, clique, None)).collect();
        let mut scaled = Vec::new();
        for sg in list(&template["podCliqueScalingGroups"]) {
            let name = text(&sg["name"]);
            let replicas = count(&sg["replicas"], 1);
            let min = count(&sg["minAvailable"], 1);
            for j in 0..replicas {
                let members =
                    list(&sg["cliqueNames"]).filter_map(|member| clique(text(member))).map(|clique| {
                        group(&format!("{base}-{name}-{j}"), clique, Some((format!("{base}-{name}"), j)))
                    });
                if j < min {
                    groups.extend(members);
                } else {
                    scaled.push(gang(false, members.collect()));
                }
            }
        }
        gangs.push(gang(true, groups));
        gangs.extend(scaled);
    }
    gangs
}

impl Gang {
    fn unnamed(set: &str, replica: usize, is_base: bool, groups: Vec<Group>) -> Self {
        let cliques: Vec<_> = groups.iter().map(|group| group.clique.as_str()).collect();
        let name = format!("<of {}>", cliques.join(", "));
        Self { set: set.to_owned(), replica, is_base, name, groups, joined: None }
    }

    pub(crate) fn remove_idle(&mut self, is_idle: impl Fn(&Group) -> bool) {
        if self.groups.iter().any(&is_idle) {
            let groups = std::mem::take(&mut self.groups).into_iter().filter(|group| !is_idle(group));
            *self = Self::unnamed(&self.set, self.replica, self.is_base, groups.collect());
        }
    }

    /// Returns a gang without a PodCliqueSet. Only its name is known.
    pub fn named_only(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::unnamed("", 0, true, Vec::new()) }
    }

    pub fn is_same(&self, other: &Self) -> bool {
        let cliques = |gang: &Self| gang.groups.iter().map(|group| group.clique.clone()).collect::<Vec<_>>();
        self.set == other.set && cliques(self) == cliques(other)
    }

    /// Returns the gang resource that the pods name or, without one, the name of the PodGang.
    pub fn named_after(&self) -> &str {
        self.joined.as_ref().unwrap_or(&self.name)
    }

    pub fn is_known(&self) -> bool {
        !self.name.starts_with('<')
    }

    pub fn replica_name(&self) -> String {
        format!("{}-{}", self.set, self.replica)
    }

    pub fn units(&self, target: Target) -> Vec<Unit> {
        let minimum = |group: &Group| (group.clique.clone(), group.min);
        if target.declares(Feature::AtomicPodGang) {
            vec![Unit { gang: self.name.clone(), minimums: self.groups.iter().map(minimum).collect() }]
        } else {
            self.groups
                .iter()
                .map(|group| Unit { gang: self.name.clone(), minimums: vec![minimum(group)] })
                .collect()
        }
    }

    pub fn pods(&self) -> usize {
        self.groups.iter().map(|group| group.replicas).sum()
    }

    pub fn minimum(&self) -> usize {
        self.groups.iter().map(|group| group.min).sum()
    }
}

impl Unit {
    pub fn size(&self) -> usize {
        self.minimums.iter().map(|(_, count)| count).sum()
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let minimums = self.minimums.iter();
        let parts: Vec<_> =
            minimums.map(|(clique, count)| format!("{} of {clique}", counted_pods(*count))).collect();
        write!(f, "the unit of PodGang {} ({})", self.gang, parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Workload 2 of upstream's e2e tests with one scaled replica.
    fn workload() -> Value {
        json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [
                {"name": "pc-a", "spec": {"replicas": 2, "minAvailable": 1}},
                {"name": "pc-b", "spec": {"replicas": 1, "minAvailable": 1}},
                {"name": "pc-c", "spec": {"replicas": 3, "minAvailable": 1}},
            ],
            "podCliqueScalingGroups": [
                {"name": "sg-x", "replicas": 2, "minAvailable": 1, "cliqueNames": ["pc-b", "pc-c"]},
            ],
        }}})
    }

    #[test]
    fn a_pod_clique_set_has_a_base_gang_and_scaled_gangs() {
        let all = gangs(&workload());
        let roles: Vec<_> = all.iter().map(|gang| (gang.replica, gang.is_base)).collect();
        assert_eq!(roles, [(0, true), (0, false)]);
        assert_eq!(all[1].name, "<of w-0-sg-x-1-pc-b, w-0-sg-x-1-pc-c>");
        let cliques: Vec<_> = all[0].groups.iter().map(|g| (g.clique.as_str(), g.min, g.replicas)).collect();
        assert_eq!(cliques, [("w-0-pc-a", 1, 2), ("w-0-sg-x-0-pc-b", 1, 1), ("w-0-sg-x-0-pc-c", 1, 3)]);
        let scaled: Vec<_> = all[1].groups.iter().map(|g| g.clique.as_str()).collect();
        assert_eq!(scaled, ["w-0-sg-x-1-pc-b", "w-0-sg-x-1-pc-c"]);
        assert_eq!((all[0].pods(), all[0].minimum()), (6, 3));
    }

    #[test]
    fn an_omitted_minimum_defaults_to_the_replicas() {
        let mut pcs = workload();
        pcs["spec"]["template"]["cliques"][0]["spec"] = json!({"replicas": 2});
        assert_eq!(gangs(&pcs)[0].groups[0].min, 2);
        pcs["spec"]["template"]["cliques"][0]["spec"] = json!({"replicas": 0});
        let group = gangs(&pcs)[0].groups[0].clone();
        assert_eq!((group.min, group.replicas), (1, 1), "a PodClique is created with at least one pod");
    }

    #[test]
    fn each_replica_has_the_minimum_of_its_groups_in_its_base_gang() {
        let mut pcs = workload();
        pcs["spec"]["replicas"] = json!(2);
        let shape = |pcs: &Value| {
            let all = gangs(pcs);
            all.iter().map(|gang| (gang.replica, gang.is_base, gang.groups.len())).collect::<Vec<_>>()
        };
        let group = &mut pcs["spec"]["template"]["podCliqueScalingGroups"][0];
        group["replicas"] = json!(3);
        group["minAvailable"] = json!(2);
        assert_eq!(shape(&pcs), [(0, true, 5), (0, false, 2), (1, true, 5), (1, false, 2)]);
        pcs["spec"]["template"]["podCliqueScalingGroups"][0] =
            json!({"name": "sg-x", "cliqueNames": ["pc-b"]});
        assert_eq!(shape(&pcs), [(0, true, 3), (1, true, 3)], "one replica is the default");
    }

    #[test]
    fn a_unit_is_a_podgroup_or_an_atomic_gang() {
        let base = gangs(&workload()).remove(0);
        let sizes = |target: Target| base.units(target).iter().map(Unit::size).collect::<Vec<_>>();
        assert_eq!(sizes(Target::KUBE_POD_GROUP), [1, 1, 1]);
        assert_eq!(sizes(Target::KUBE_POD_GANG), [3]);
    }
}
