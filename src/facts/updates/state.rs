use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_expect::scopes::{Clique, ScalingGroup, SetReplica, clique_template, replicas};
use conformance_history::{Change, History, Pod, Version, count, text};
use serde_json::Value;

use super::templates::{is_new, templates};
use crate::health::{is_bound, is_live, is_ready};

#[derive(Debug, Clone, Default)]
pub struct State<'a> {
    pub pcs: Option<Version<'a>>,
    pub pods: BTreeMap<&'a str, Version<'a>>,
    /// `spec.replicas` of PodCliques and scaling groups, by name.
    sizes: BTreeMap<&'a str, usize>,
    /// How often the templates have changed.
    pub update: usize,
    pub changed: Option<Version<'a>>,
}

impl<'a> State<'a> {
    pub fn apply(&mut self, version: Version<'a>, set: &str) {
        let exists = version.change != Change::Deleted;
        match version.kind() {
            "PodCliqueSet" if version.name() == set && exists => {
                let before = self.pcs.map(|before| templates(before.object));
                if before.is_some_and(|before| before != templates(version.object)) {
                    self.update += 1;
                    self.changed = Some(version);
                }
                self.pcs = Some(version);
            }
            "PodClique" | "PodCliqueScalingGroup" if exists => {
                self.sizes
                    .extend(count(&version.object["spec"]["replicas"]).map(|size| (version.name(), size)));
            }
            "Pod" if version.label(names::PART_OF) == Some(set) => {
                if exists && is_live(version.pod()) {
                    self.pods.insert(version.uid(), version);
                } else {
                    self.pods.remove(version.uid());
                }
            }
            _ => {}
        }
    }

    pub fn pcs(&self) -> &'a Value {
        self.pcs.map_or(&Value::Null, |version| version.object)
    }

    pub fn is_old(&self, pod: Pod<'_>) -> bool {
        let (set, clique) = (text(&self.pcs()["metadata"]["name"]), pod.pod_clique().unwrap_or_default());
        let template = clique_template(&self.pcs()["spec"]["template"], set, clique);
        template.is_some_and(|template| !is_new(pod, template))
    }

    pub fn pods_of(&self, clique: &str) -> Vec<Pod<'a>> {
        let pods = self.pods.values().map(Version::pod);
        pods.filter(|pod| pod.pod_clique() == Some(clique)).collect()
    }

    pub fn size(&self, name: &str, default: usize) -> usize {
        self.sizes.get(name).copied().unwrap_or(default)
    }

    pub fn count(&self, clique: &str, is_counted: impl Fn(Pod<'a>) -> bool) -> usize {
        self.pods_of(clique).into_iter().filter(|pod| is_counted(*pod)).count()
    }

    pub fn replicas(&self) -> Vec<SetReplica> {
        replicas(self.pcs())
    }

    pub fn cliques(&self, replica: &SetReplica) -> Vec<Clique> {
        let of_groups = replica.groups.iter().flat_map(|group| {
            (0..self.size(&group.name, group.replicas)).flat_map(|j| group.replica(j).collect::<Vec<_>>())
        });
        replica.standalone.iter().cloned().chain(of_groups).collect()
    }

    pub fn is_down(&self, replica: &SetReplica) -> bool {
        let cliques = self.cliques(replica);
        !cliques.iter().any(|clique| self.count(&clique.name, is_bound) > 0)
            || cliques.iter().any(|clique| self.count(&clique.name, is_ready) < clique.min)
    }

    pub fn lacks(&self, clique: &Clique) -> Option<String> {
        let pods = self.pods_of(&clique.name);
        let old = pods.iter().find(|pod| self.is_old(**pod));
        old.map(|old| format!("Pod {} has an old template", old.name())).or_else(|| self.lacks_pods(clique))
    }

    /// Describes what a clique lacks to be complete and Ready, regardless of the template of its pods.
    pub fn lacks_pods(&self, clique: &Clique) -> Option<String> {
        let (size, pods) = (self.size(&clique.name, clique.replicas), self.pods_of(&clique.name));
        let unready = pods.iter().find(|pod| !is_ready(**pod));
        unready.map(|unready| format!("Pod {} is not Ready", unready.name())).or_else(|| {
            (pods.len() != size)
                .then(|| format!("PodClique {} has {} of {size} pods", clique.name, pods.len()))
        })
    }

    fn is_available(&self, group: &ScalingGroup, j: usize) -> bool {
        group.replica(j).all(|member| self.count(&member.name, is_ready) >= member.min)
    }

    pub fn has_old(&self, group: &ScalingGroup, j: usize) -> bool {
        group.replica(j).any(|member| self.count(&member.name, |pod| self.is_old(pod)) > 0)
    }

    pub fn units(&self, pod: Pod<'_>) -> Option<Units> {
        let all = self.replicas();
        let replica = all.iter().find(|replica| replica.scope().has(pod))?;
        let Some(name) = pod.label(names::SCALING_GROUP) else {
            let clique = replica.standalone.iter().find(|clique| pod.pod_clique() == Some(&clique.name))?;
            let name = &clique.name;
            return Some(Units {
                name: name.clone(),
                wanted: self.size(name, clique.replicas),
                min: clique.min,
                up: self.count(name, is_ready),
                replaced: self.count(name, |pod| is_ready(pod) && !self.is_old(pod)),
                old: self.count(name, |pod| self.is_old(pod)),
            });
        };
        let group = replica.groups.iter().find(|group| group.name == name)?;
        let size = self.size(name, group.replicas);
        let count = |is_counted: &dyn Fn(usize) -> bool| (0..size).filter(|j| is_counted(*j)).count();
        Some(Units {
            name: name.to_owned(),
            wanted: size,
            min: group.min,
            up: count(&|j| self.is_available(group, j)),
            replaced: count(&|j| self.is_available(group, j) && !self.has_old(group, j)),
            old: count(&|j| self.has_old(group, j)),
        })
    }

    /// The unit is the pod or its scaling-group replica: a description, whether it is up, whether it is old.
    pub fn unit(&self, pod: Pod<'_>) -> (String, bool, bool) {
        let name_and_index =
            pod.label(names::SCALING_GROUP).zip(pod.label(names::SCALING_GROUP_REPLICA_INDEX));
        let Some((name, index)) = name_and_index else {
            return (pod.name().to_owned(), is_ready(pod), self.is_old(pod));
        };
        let j: usize = index.parse().unwrap_or(usize::MAX);
        let groups: Vec<_> = self.replicas().into_iter().flat_map(|replica| replica.groups).collect();
        let group = groups.iter().find(|group| group.name == name);
        (
            format!("replica {index} of scaling group {name}"),
            group.is_some_and(|group| self.is_available(group, j)),
            group.is_some_and(|group| self.has_old(group, j)),
        )
    }

    pub fn deleted_together(&self, pod: Pod<'_>) -> (Vec<String>, BTreeSet<String>) {
        let own = pod.pod_clique().unwrap_or_default().to_owned();
        let groups: Vec<_> = self.replicas().into_iter().flat_map(|replica| replica.groups).collect();
        let group = groups.iter().find(|group| pod.label(names::SCALING_GROUP) == Some(&group.name));
        let index = pod.label(names::SCALING_GROUP_REPLICA_INDEX).and_then(|index| index.parse().ok());
        let Some((group, j)) = group.zip(index) else { return (vec![own.clone()], [own].into()) };
        let names = |j: usize| group.replica(j).map(|member| member.name).collect::<Vec<_>>();
        (names(j), (0..self.size(&group.name, group.replicas)).flat_map(names).collect())
    }

    pub fn is_surplus(&self, pod: Pod<'_>) -> bool {
        let beyond = |label: &str, size: Option<usize>| {
            let index = pod.label(label).and_then(|index| index.parse::<usize>().ok());
            index.zip(size).is_some_and(|(index, size)| index >= size)
        };
        let clique = pod.pod_clique().unwrap_or_default();
        let group = pod.label(names::SCALING_GROUP).and_then(|group| self.sizes.get(group).copied());
        beyond(names::REPLICA_INDEX, count(&self.pcs()["spec"]["replicas"]))
            || beyond(names::SCALING_GROUP_REPLICA_INDEX, group)
            || self.pods_of(clique).len() > self.size(clique, usize::MAX)
    }
}

/// The units of a clique, which are pods, or of a scaling group, which are replicas.
#[derive(Debug, Clone)]
pub struct Units {
    pub name: String,
    pub wanted: usize,
    pub min: usize,
    /// Number of Ready pods or available replicas.
    pub up: usize,
    /// Number of units in `up` without a pod of an old template.
    pub replaced: usize,
    /// Number of units with a pod of an old template.
    pub old: usize,
}

/// Calls `visit` with each version of a history, and the state of the PodCliqueSet just before it.
pub fn walk<'a>(history: &'a History, set: &str, mut visit: impl FnMut(&State<'a>, Version<'a>)) {
    let mut state = State::default();
    for version in in_order_of_writes(history) {
        visit(&state, version);
        state.apply(version, set);
    }
}

fn in_order_of_writes(history: &History) -> Vec<Version<'_>> {
    let mut all: Vec<_> = history.versions().filter(|version| !version.pod().is_canary()).collect();
    all.sort_by_cached_key(|version| (version.revision(), version.index));
    all
}

pub fn first_change<'a>(history: &'a History, set: &str) -> Option<Version<'a>> {
    let mut first = None;
    walk(history, set, |state, _| first = first.or(state.changed));
    first
}
