//! Lanes: one per object, in the order in which a gang comes about, from what the driver did down to the nodes.

use std::collections::BTreeMap;

use conformance_history::{Kind, Version, event_about, is_of_canary};
use serde::Serialize;
use serde_json::Value;

use super::phase::Phase;

/// A part of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Section {
    /// Marks and gaps: what the driver did and saw.
    Driver,
    /// PodCliqueSets.
    Sets,
    /// PodGangs.
    Gangs,
    /// The scheduler's own objects.
    Resources,
    /// Pods of the workload.
    Pods,
    /// What proves that nothing happened.
    Canaries,
    /// Everything else in the namespace.
    Others,
    /// Nodes and everything else of the cluster.
    Cluster,
}

impl Section {
    fn of(version: &Version<'_>) -> Self {
        if is_of_canary(version.object) { Self::Canaries } else { Self::of_kind(version.kind()) }
    }

    fn of_kind(kind: &str) -> Self {
        match (kind, Kind::named(kind)) {
            ("Pod", _) => Self::Pods,
            ("PodGang", _) => Self::Gangs,
            ("PodCliqueSet", _) => Self::Sets,
            (_, Some(kind)) if !kind.namespaced => Self::Cluster,
            (_, Some(kind)) if kind.scheduler.is_some() => Self::Resources,
            _ => Self::Others,
        }
    }
}

/// A time during which an object was in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Stretch {
    /// From when, in milliseconds.
    pub from: u64,
    /// Until when.
    pub to: u64,
    /// In which.
    pub phase: Phase,
}

/// An object's lane.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lane<'a> {
    /// Where it is.
    pub section: Section,
    /// The object's kind; none of the driver's lane.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The PodGang to which a pod belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gang: Option<&'a str>,
    /// Its phases, one after the other; between two there may be none.
    pub stretches: Vec<Stretch>,
    /// What orders the lanes of a section.
    #[serde(skip)]
    order: Order<'a>,
}

/// Pods by their gang, clique and index, everything else by its first appearance.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Order<'a> {
    gang: &'a str,
    clique: &'a str,
    index: u64,
    place: usize,
}

/// Lanes as they come about.
#[derive(Debug, Default)]
pub(super) struct Lanes<'a> {
    lanes: Vec<Lane<'a>>,
    places: BTreeMap<(&'a str, &'a str), usize>,
    /// The phase in which each lane's object is, and since when.
    now: BTreeMap<usize, (u64, Phase)>,
}

impl<'a> Lanes<'a> {
    /// The driver's.
    pub(super) fn of_driver(&mut self) -> usize {
        self.lane("", "driver", || (Section::Driver, None, Order::default()))
    }

    /// An object's.
    pub(super) fn of_object(&mut self, version: &Version<'a>) -> usize {
        self.lane(version.kind(), version.name(), || {
            let section = Section::of(version);
            let pod = version.pod();
            let gang = pod.pod_gang().filter(|_| section == Section::Pods);
            let order = match section {
                Section::Pods => Order {
                    gang: gang.unwrap_or_default(),
                    clique: pod.pod_clique().unwrap_or_default(),
                    index: pod
                        .label(conformance_contract::names::POD_INDEX)
                        .and_then(|index| index.parse().ok())
                        .unwrap_or_default(),
                    place: 0,
                },
                _ => Order::default(),
            };
            (section, gang, order)
        })
    }

    /// The lane of what an Event of Kubernetes is about.
    pub(super) fn involved(&mut self, event: &'a Value) -> usize {
        let involved = event_about(event);
        let named = Kind::of_object(involved).map(|kind| kind.name).or(involved["kind"].as_str());
        let kind = named.unwrap_or("Event");
        let name = involved["name"].as_str().unwrap_or_default();
        self.lane(kind, name, || (Section::of_kind(kind), None, Order::default()))
    }

    fn lane(
        &mut self,
        kind: &'a str,
        name: &'a str,
        new: impl FnOnce() -> (Section, Option<&'a str>, Order<'a>),
    ) -> usize {
        *self.places.entry((kind, name)).or_insert_with(|| {
            let place = self.lanes.len();
            let (section, gang, order) = new();
            let order = Order { place, ..order };
            self.lanes.push(Lane { section, kind, name, gang, stretches: Vec::new(), order });
            place
        })
    }

    /// From now on a lane's object is in that phase, or gone.
    pub(super) fn phase(&mut self, lane: usize, at: u64, phase: Option<Phase>) {
        match self.now.get(&lane).copied() {
            Some((_, now)) if Some(now) == phase => return,
            Some((from, now)) => self.lanes[lane].stretches.push(Stretch { from, to: at, phase: now }),
            None => {}
        }
        match phase {
            Some(phase) => self.now.insert(lane, (at, phase)),
            None => self.now.remove(&lane),
        };
    }

    /// All of them as they are shown, and the new place of each.
    pub(super) fn in_order(mut self, end: u64) -> (Vec<Lane<'a>>, Vec<usize>) {
        for (lane, (from, phase)) in std::mem::take(&mut self.now) {
            self.lanes[lane].stretches.push(Stretch { from, to: end, phase });
        }
        self.lanes.sort_by(|a, b| (a.section, &a.order).cmp(&(b.section, &b.order)));
        let mut places = vec![0; self.lanes.len()];
        for (new, lane) in self.lanes.iter().enumerate() {
            places[lane.order.place] = new;
        }
        (self.lanes, places)
    }
}
