//! Faults for mutants: each makes the controller break one promise, so that a suite can show that
//! it notices.
//!
//! They are switched on by a hidden flag and never in operation.

use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::pod_gang_names::PodGangNames;

/// The faults that are on. Each is named as its field is, in kebab case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Faults {
    /// PodGangs get no owner reference.
    pub no_owner_references: bool,
    /// Gates come off as soon as a pod exists.
    pub early_ungate: bool,
    /// The last podgroup of every PodGang of several is left out.
    pub drop_podgroup: bool,
    /// PodGangs get what kubectl notes on their PodCliqueSet (GANG-24).
    pub kubectl_annotations_copied: bool,
    /// Every second a PodGang is written for no reason.
    pub write_on_reconcile: bool,
    /// A Workload gets an annotation whenever anything of its PodGang changes (GANG-09).
    pub touch_gang_resources: bool,
    /// A Workload is deleted, and so made anew, for every generation of its PodGang (KUBE-04).
    pub recreate_gang_resources: bool,
    /// Every PodGang gets a Volcano PodGroup of its name beside what its backend makes (COEX-02).
    pub foreign_resource: bool,
    /// The last entry is left out of Koordinator's list of gangs that go together (KOORD-07).
    pub forget_member: bool,
    /// Gang resources that have a queue are in the queue `wrong`.
    pub wrong_queue: bool,
    /// KAI PodGroups have no subgroups (KAI-01).
    pub omit_subgroups: bool,
    /// Of a PodGang with topology groups, every key is one level too low: the PodGang's is its groups', a group's is its
    /// podgroups' (TOPO-07).
    pub key_one_level_down: bool,
    /// CompositePodGroups ask for one group less than they have (AON-08).
    pub low_group_count: bool,
    /// A PodClique counts pods as ready as soon as they are scheduled (KLT-01, KLT-06).
    pub ready_counts_scheduled: bool,
    /// The lease is taken whoever holds it: every replica leads (KLT-07, KLT-08).
    pub lease_always_taken: bool,
    /// A pod that is being deleted counts as a replica until it is gone (KLT-05).
    pub terminating_counts: bool,
    /// A breach is answered at once, whatever the termination delay (TERM-02, TERM-03).
    pub termination_at_once: bool,
    /// A PodClique is breached as soon as one of its pods is missing, whatever its minimum (TERM-01, TERM-03).
    pub all_replicas_needed: bool,
    /// A breached replica of a scaling group recycles its PodCliqueSet replica (TERM-04).
    pub group_takes_all: bool,
    /// A PodClique counts as held before its minimum was ever bound (TERM-05, TERM-06, TERM-23).
    pub held_from_the_start: bool,
    /// A recycle deletes the base PodGang too (TERM-12).
    pub recycle_takes_gang: bool,
    /// A bound pod that is not Ready is unhealthy, whatever it waits for (TERM-01, TERM-26).
    pub starting_is_unhealthy: bool,
    /// Gates of scaled PodGangs come off when their base is referred to, bound or not (TERM-10).
    pub former_base_counts: bool,
    /// A gang that is bound in part keeps what it has (TERM-17).
    pub half_gangs_stay: bool,
    /// A PodClique that is held in one generation after the other has been so since the first (TERM-17).
    pub held_time_kept: bool,
    /// Gates stay while a pod of a former generation is there (TERM-08).
    pub former_pods_hold: bool,
    /// A replica that an update has in its turn is not recycled (TERM-13).
    pub update_shelters: bool,
    /// Every second the conditions of PodCliques are told in other words (STAT-08).
    pub restless_conditions: bool,
    /// Of what a scheduler says of the pods of a gang, what it says of the first is told (STAT-16).
    pub first_words_told: bool,
    /// That somebody else gates a pod is not told (STAT-09).
    pub foreign_gates_untold: bool,
    /// The PodGang does not report the claim that a pod waits for (STAT-16).
    pub claims_untold: bool,
    /// Every second the turn of an update is told to have just begun (STAT-08).
    pub restless_turns: bool,
    /// A PodGang that was scheduled once is so for good (STAT-07).
    pub scheduled_for_good: bool,
    /// What failed is tried again after the same short pause every time (STAT-17).
    pub retries_at_once: bool,
    /// A status that could not be written is not written again until something changes (STAT-05).
    pub failed_statuses_forgotten: bool,
    /// Statuses count pods that are being deleted (STAT-01, TERM-01).
    pub terminating_is_counted: bool,
    /// Recycles of PodCliqueSet replicas are not counted in the metrics (STAT-11).
    pub recycles_uncounted: bool,
    /// The time to being bound is taken again whenever a PodGang is bound again (STAT-11).
    pub rebound_counts: bool,
    /// PodGangs are counted in phases that they have left, and when they are gone (STAT-11).
    pub former_gangs_counted: bool,
    /// An update takes down pods in every PodCliqueSet replica at a time (UPD-03).
    pub all_replicas_in_turn: bool,
    /// An update takes down all that is old in a PodCliqueSet replica at once (UPD-04, UPD-12, UPD-30).
    pub update_takes_all: bool,
    /// An update takes down what was there before it and is new all the same (UPD-11).
    pub update_takes_new: bool,
    /// What is old when the first status is written is taken for new (UPD-02).
    pub first_status_is_no_update: bool,
    /// Updates that began before this are not gone on with; it is when the controller was started (UPD-17).
    #[serde(deserialize_with = "now_if_on")]
    pub forgets_updates: Option<Timestamp>,
    /// PodCliqueSet replicas have their turns by their indexes alone, whatever of them is down (UPD-28).
    pub update_by_index: bool,
    /// A turn of an update deletes the PodGang too (UPD-07).
    pub update_takes_gang: bool,
    /// Scaling in takes the oldest pod of equals (AUTO-07).
    pub oldest_go_first: bool,
    /// Scaling in takes pods of the present template before old ones (UPD-23).
    pub new_go_first: bool,
    /// Pods that start after others keep their gates (START-05).
    pub order_holds_scheduling: bool,
    /// Of cliques that are waited for, one Ready pod is enough (START-04).
    pub order_after_one: bool,
    /// What is waited for is the next PodCliqueSet replica's (START-06).
    pub order_after_neighbours: bool,
    /// Pods that a recycle makes anew wait for nobody (START-07).
    pub order_only_at_first: bool,
    /// No PodClique says that it is held back by others (START-09).
    pub order_untold: bool,
    /// A PodClique that has said so says so for good (START-09).
    pub order_told_for_good: bool,
    /// The turns of an update know no order (START-08).
    pub update_ignores_order: bool,
    /// What is scaled to 0 stays in its PodGang (AUTO-06).
    pub idle_stays: bool,
    /// What is scaled to 0 is breached (AUTO-06).
    pub idle_is_breached: bool,
    /// Podgroups that were idle come back to the gang resources that they left (AUTO-14).
    pub idle_uncounted: bool,
    /// Pods of podgroups that were idle keep their gates (AUTO-14).
    pub woken_stay_gated: bool,
    /// A recycle deletes the ResourceClaims that its PodCliqueSet shares (TERM-12).
    pub recycle_takes_claims: bool,
    /// A recycle deletes the HorizontalPodAutoscalers of its PodCliqueSet (TERM-12, TERM-27).
    pub recycle_takes_autoscalers: bool,
    /// Every time that it took a PodGang to be bound counts as longer than any bucket of the histogram (STAT-11).
    pub buckets_stay_empty: bool,
    /// PodGangs are named by epochs, as upstream's newer releases do. Not a fault: nothing may go by their names.
    pub epoch_names: bool,
}

impl Faults {
    /// How PodGangs are named.
    pub(super) fn pod_gang_names(&self) -> PodGangNames {
        if self.epoch_names { PodGangNames::ByEpoch } else { PodGangNames::ByIndex }
    }

    /// Whether a fault is on that changes what backends write.
    pub fn spoils_gang_resources(&self) -> bool {
        self.forget_member || self.wrong_queue || self.omit_subgroups || self.low_group_count
    }

    /// Whether it is told that a PodClique is held back, or that it is not.
    pub fn tells_of_order(&self, is_held: Option<bool>) -> bool {
        !self.order_untold && (is_held != Some(false) || !self.order_told_for_good)
    }

    /// Whether a fault is on that changes whom pods wait for.
    pub fn spoils_order(&self) -> bool {
        self.order_after_one || self.order_after_neighbours || self.order_only_at_first
    }
}

fn now_if_on<'de, D: Deserializer<'de>>(is_on: D) -> Result<Option<Timestamp>, D::Error> {
    Ok(bool::deserialize(is_on)?.then(Timestamp::now))
}

/// One fault by name, as on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(String);

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = Self(text.to_owned());
        all_on([&fault]).map(|_| fault).map_err(|_| format!("no fault {text:?}"))
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<T: IntoIterator<Item = Fault>>(faults: T) -> Self {
        let faults: Vec<_> = faults.into_iter().collect();
        all_on(&faults).expect("a fault has the name of a field, or it would not have been parsed")
    }
}

fn all_on<'a>(faults: impl IntoIterator<Item = &'a Fault>) -> Result<Faults, serde_json::Error> {
    let on: Map<String, Value> =
        faults.into_iter().map(|Fault(name)| (name.clone(), Value::Bool(true))).collect();
    serde_json::from_value(Value::Object(on))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let parse = |text: &str| text.parse::<Fault>();
        let begun = Timestamp::now();
        let forgetful: Faults = parse("forgets-updates").into_iter().collect();
        assert!(forgetful.forgets_updates.is_some_and(|since| since >= begun));
        let both: Faults =
            ["foreign-resource", "wrong-queue"].map(|name| parse(name).unwrap()).into_iter().collect();
        assert_eq!(both, Faults { foreign_resource: true, wrong_queue: true, ..Faults::default() });
        let of_kubelets: Faults = ["ready-counts-scheduled", "lease-always-taken", "terminating-counts"]
            .map(|name| parse(name).unwrap())
            .into_iter()
            .collect();
        let wanted = Faults {
            ready_counts_scheduled: true,
            lease_always_taken: true,
            terminating_counts: true,
            ..Faults::default()
        };
        assert_eq!(of_kubelets, wanted);
        for wrong in ["early-ungate=1", "early", "early_ungate", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
