use std::collections::{BTreeMap, BTreeSet};

use conformance_expect::scaling::is_index;
use conformance_expect::scopes::replicas;
use conformance_facts::generations::terminations;
use conformance_history::{Change, History, Version, controller, count, text};
use serde_json::Value;

/// A history in the order of resourceVersions. Watches of different kinds deliver in any order.
pub(super) struct Course<'a> {
    pub(super) history: &'a History,
    pub(super) versions: Vec<Version<'a>>,
}

impl<'a> Course<'a> {
    pub(super) fn of(history: &'a History) -> Self {
        Self { history, versions: history.as_written() }
    }

    /// Returns the index of each termination's first deletion, and the name prefix of the replica's cliques.
    /// PodCliqueSets without a termination delay are excluded, because an update may look like a termination.
    pub(super) fn termination_starts(&self) -> BTreeMap<usize, String> {
        let is_delayed = |pcs: &&Value| !pcs["spec"]["template"]["terminationDelay"].is_null();
        let all = self.history.header.submitted.values().filter(is_delayed).flat_map(|pcs| {
            let most = self.history.named("PodCliqueSet", text(&pcs["metadata"]["name"]));
            let most = most.filter_map(|version| count(&version.object["spec"]["replicas"])).max();
            let mut grown = pcs.clone();
            grown["spec"]["replicas"] = most.into_iter().chain(count(&pcs["spec"]["replicas"])).max().into();
            replicas(&grown)
        });
        let starts = all.flat_map(|replica| {
            let found = terminations(self.history, &replica.scope());
            let prefix = format!("{}-{}-", replica.set, replica.index);
            found
                .into_iter()
                .map(|termination| (termination.started.index, prefix.clone()))
                .collect::<Vec<_>>()
        });
        starts.collect()
    }

    pub(super) fn pods(&self) -> impl Iterator<Item = Version<'a>> {
        self.versions.iter().copied().filter(is_groves_pod)
    }
}

/// PodCliques and scaling groups that are scaled to 0. Other pods do not wait for them, and units are
/// complete without them (AUTO-06).
#[derive(Default)]
pub(super) struct Idle<'a> {
    cliques: BTreeSet<&'a str>,
    groups: BTreeSet<&'a str>,
}

impl<'a> Idle<'a> {
    pub(super) fn update(&mut self, version: &Version<'a>) {
        let known = match version.kind() {
            "PodClique" => &mut self.cliques,
            "PodCliqueScalingGroup" => &mut self.groups,
            _ => return,
        };
        if version.change != Change::Deleted && version.object["spec"]["replicas"] == 0 {
            known.insert(version.name());
        } else {
            known.remove(version.name());
        }
    }

    /// Whether a PodClique or its scaling group is scaled to 0. Members are named `<group>-<index>-…`.
    pub(super) fn has(&self, clique: &str) -> bool {
        let is_member = |group: &&str| {
            let rest = clique.strip_prefix(*group).and_then(|rest| rest.strip_prefix('-'));
            let index = rest.and_then(|rest| rest.split_once('-')).map(|(index, _)| index);
            index.is_some_and(is_index)
        };
        self.cliques.contains(clique) || self.groups.iter().any(is_member)
    }
}

pub(super) fn is_groves_pod(version: &Version<'_>) -> bool {
    version.kind() == "Pod"
        && !version.pod().is_canary()
        && controller(version.object).is_some_and(|owner| owner["kind"] == "PodClique")
}
