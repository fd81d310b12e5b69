//! Lanes of the timeline: one per object, in sections from the driver's marks to the nodes.

use std::collections::BTreeMap;

use conformance_history::{Kind, Version, event_about, is_of_canary};
use serde::Serialize;
use serde_json::Value;

use super::phase::Phase;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Section {
    /// Marks and watch gaps.
    Driver,
    Sets,
    Gangs,
    Resources,
    Pods,
    Canaries,
    Others,
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

/// A phase of an object. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct PhaseSpan {
    pub from: u64,
    pub to: u64,
    pub phase: Phase,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lane<'a> {
    pub section: Section,
    pub kind: &'a str,
    pub name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gang: Option<&'a str>,
    /// Phases of the object, without the times in which it does not exist.
    pub stretches: Vec<PhaseSpan>,
    #[serde(skip)]
    order: Order<'a>,
}

/// The order within a section: pods by gang, clique and index, other objects by first appearance.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Order<'a> {
    gang: &'a str,
    clique: &'a str,
    index: u64,
    place: usize,
}

#[derive(Debug, Default)]
pub(super) struct Lanes<'a> {
    lanes: Vec<Lane<'a>>,
    places: BTreeMap<(&'a str, &'a str), usize>,
    current: BTreeMap<usize, (u64, Phase)>,
}

impl<'a> Lanes<'a> {
    pub(super) fn of_driver(&mut self) -> usize {
        self.lane("", "driver", || (Section::Driver, None, Order::default()))
    }

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

    /// Sets the phase of a lane from `at` on. `None` ends the current phase.
    pub(super) fn phase(&mut self, lane: usize, at: u64, phase: Option<Phase>) {
        match self.current.get(&lane).copied() {
            Some((_, current)) if Some(current) == phase => return,
            Some((from, current)) => {
                self.lanes[lane].stretches.push(PhaseSpan { from, to: at, phase: current });
            }
            None => {}
        }
        match phase {
            Some(phase) => self.current.insert(lane, (at, phase)),
            None => self.current.remove(&lane),
        };
    }

    pub(super) fn in_order(mut self, end: u64) -> (Vec<Lane<'a>>, Vec<usize>) {
        for (lane, (from, phase)) in std::mem::take(&mut self.current) {
            self.lanes[lane].stretches.push(PhaseSpan { from, to: end, phase });
        }
        self.lanes.sort_by(|a, b| (a.section, &a.order).cmp(&(b.section, &b.order)));
        let mut places = vec![0; self.lanes.len()];
        for (new, lane) in self.lanes.iter().enumerate() {
            places[lane.order.place] = new;
        }
        (self.lanes, places)
    }
}
