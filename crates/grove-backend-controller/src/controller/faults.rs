//! Faults for mutants: each makes the controller violate a clause, to show that the suite detects it.
//!
//! A hidden flag enables them; they are never used in production.

use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::pod_gang_names::PodGangNames;

/// The enabled faults. Each is named after its field, in kebab case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Faults {
    /// PodGangs get no owner reference.
    pub no_owner_references: bool,
    /// Gates are removed as soon as a pod exists.
    pub early_ungate: bool,
    /// The last podgroup is left out of every PodGang that has several.
    pub drop_podgroup: bool,
    /// PodGangs get the annotations that kubectl writes to their PodCliqueSet (GANG-24).
    pub kubectl_annotations_copied: bool,
    /// A PodGang is written every second without a reason.
    pub write_on_reconcile: bool,
    /// A Workload gets a new annotation on every change of its PodGang (GANG-09).
    pub touch_gang_resources: bool,
    /// A Workload is deleted and recreated for every generation of its PodGang (KUBE-04).
    pub recreate_gang_resources: bool,
    /// Every PodGang also gets a Volcano PodGroup of its name, in addition to its backend's resources
    /// (COEX-02).
    pub foreign_resource: bool,
    /// Koordinator's list of gangs that are scheduled together lacks its last entry (KOORD-07).
    pub forget_member: bool,
    /// Gang resources that have a queue use the queue `wrong`.
    pub wrong_queue: bool,
    /// KAI PodGroups have no subgroups (KAI-01).
    pub omit_subgroups: bool,
    /// In a PodGang with topology groups, every key moves one level down: the PodGang's key to its groups, a
    /// group's key to its podgroups (TOPO-07).
    pub key_one_level_down: bool,
    /// CompositePodGroups request one group less than they have (AON-08).
    pub low_group_count: bool,
    /// A PodClique counts scheduled pods as ready (KLT-01, KLT-06).
    pub ready_counts_scheduled: bool,
    /// Every replica takes the lease regardless of its holder, and leads (KLT-07, KLT-08).
    pub lease_always_taken: bool,
    /// A terminating pod counts as a replica (KLT-05).
    pub terminating_counts: bool,
    /// A breach leads to termination at once, regardless of the termination delay (TERM-02, TERM-03).
    pub termination_at_once: bool,
    /// A PodClique is breached as soon as one pod is missing, regardless of its minimum (TERM-01, TERM-03).
    pub all_replicas_needed: bool,
    /// A breached replica of a scaling group leads to the termination of its PodCliqueSet replica (TERM-04).
    pub group_takes_all: bool,
    /// A PodClique can be breached before its minimum was ever bound (TERM-05, TERM-06, TERM-23).
    pub held_from_the_start: bool,
    /// Gang termination also deletes the base PodGang (TERM-12).
    pub recycle_takes_gang: bool,
    /// A bound pod that is not Ready is unhealthy, even if it is still starting (TERM-01, TERM-26).
    pub starting_is_unhealthy: bool,
    /// Gates of scaled PodGangs are removed even if their base is not bound (TERM-10).
    pub former_base_counts: bool,
    /// A partially bound gang keeps its nodes (TERM-17).
    pub half_gangs_stay: bool,
    /// A minimum that is bound in consecutive generations counts as bound since the first (TERM-17).
    pub held_time_kept: bool,
    /// Gates stay while a pod of an earlier generation exists (TERM-08).
    pub former_pods_hold: bool,
    /// A replica in its update step is not terminated (TERM-13).
    pub update_shelters: bool,
    /// The conditions of PodCliques get new messages every second (STAT-08).
    pub restless_conditions: bool,
    /// The PodGang reports its first pod's scheduler message, not the most specific one (STAT-16).
    pub first_words_told: bool,
    /// Scheduling gates of other controllers are not reported (STAT-09).
    pub foreign_gates_untold: bool,
    /// The PodGang does not report the claim that a pod waits for (STAT-16).
    pub claims_untold: bool,
    /// Every second, the current update step is reported as just started (STAT-08).
    pub restless_turns: bool,
    /// A PodGang that was scheduled once stays scheduled (STAT-07).
    pub scheduled_for_good: bool,
    /// Failed reconciliations are retried after the same short pause every time (STAT-17).
    pub retries_at_once: bool,
    /// A status that could not be written is not retried until something changes (STAT-05).
    pub failed_statuses_forgotten: bool,
    /// Statuses count terminating pods (STAT-01, TERM-01).
    pub terminating_is_counted: bool,
    /// Terminations of PodCliqueSet replicas are not counted in the metrics (STAT-11).
    pub recycles_uncounted: bool,
    /// The time until a PodGang is bound is measured again whenever it is bound again (STAT-11).
    pub rebound_counts: bool,
    /// PodGangs still count in phases that they have left, and after their deletion (STAT-11).
    pub former_gangs_counted: bool,
    /// An update takes down pods in all PodCliqueSet replicas at the same time (UPD-03).
    pub all_replicas_in_turn: bool,
    /// An update takes down all old pods of a PodCliqueSet replica at once (UPD-04, UPD-12, UPD-30).
    pub update_takes_all: bool,
    /// An update also takes down earlier pods that already have the new template (UPD-11).
    pub update_takes_new: bool,
    /// Pods that are old when the first status is written count as new (UPD-02).
    pub first_status_is_no_update: bool,
    /// Updates that started before this time, the start of the controller, are not continued (UPD-17).
    #[serde(deserialize_with = "now_if_on")]
    pub forgets_updates: Option<Timestamp>,
    /// PodCliqueSet replicas are updated in index order, regardless of their state (UPD-28).
    pub update_by_index: bool,
    /// An update step also deletes the PodGang (UPD-07).
    pub update_takes_gang: bool,
    /// Scaling in deletes the oldest of otherwise equal pods (AUTO-07).
    pub oldest_go_first: bool,
    /// Scaling in deletes pods of the current template before old ones (UPD-23).
    pub new_go_first: bool,
    /// Pods that start after others keep their gates (START-05).
    pub order_holds_scheduling: bool,
    /// One Ready pod of an awaited clique is enough (START-04).
    pub order_after_one: bool,
    /// Pods wait for cliques of the next PodCliqueSet replica (START-06).
    pub order_after_neighbours: bool,
    /// Pods that gang termination recreates wait for no clique (START-07).
    pub order_only_at_first: bool,
    /// No PodClique reports that it waits for others (START-09).
    pub order_untold: bool,
    /// A PodClique that reported a wait reports it indefinitely (START-09).
    pub order_told_for_good: bool,
    /// Update steps ignore the startup order (START-08).
    pub update_ignores_order: bool,
    /// A podgroup that is scaled to 0 stays in its PodGang (AUTO-06).
    pub idle_stays: bool,
    /// A podgroup that is scaled to 0 is breached (AUTO-06).
    pub idle_is_breached: bool,
    /// Podgroups that were idle return to the gang resources that they left (AUTO-14).
    pub idle_uncounted: bool,
    /// Pods of podgroups that were idle keep their gates (AUTO-14).
    pub woken_stay_gated: bool,
    /// Gang termination deletes the PodCliqueSet's shared ResourceClaims (TERM-12).
    pub recycle_takes_claims: bool,
    /// Gang termination deletes the PodCliqueSet's HorizontalPodAutoscalers (TERM-12, TERM-27).
    pub recycle_takes_autoscalers: bool,
    /// Every measured time until a PodGang is bound exceeds all histogram buckets (STAT-11).
    pub buckets_stay_empty: bool,
    /// Not a fault: PodGang names contain an epoch, as in upstream's newer releases. Nothing may rely on
    /// their names.
    pub epoch_names: bool,
}

impl Faults {
    pub(super) fn pod_gang_names(&self) -> PodGangNames {
        if self.epoch_names { PodGangNames::ByEpoch } else { PodGangNames::ByIndex }
    }

    pub fn spoils_gang_resources(&self) -> bool {
        self.forget_member || self.wrong_queue || self.omit_subgroups || self.low_group_count
    }

    /// Whether the status reports that a PodClique waits for others, or no longer waits.
    pub fn tells_of_order(&self, is_held: Option<bool>) -> bool {
        !self.order_untold && (is_held != Some(false) || !self.order_told_for_good)
    }

    pub fn spoils_order(&self) -> bool {
        self.order_after_one || self.order_after_neighbours || self.order_only_at_first
    }
}

fn now_if_on<'de, D: Deserializer<'de>>(is_on: D) -> Result<Option<Timestamp>, D::Error> {
    Ok(bool::deserialize(is_on)?.then(Timestamp::now))
}

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
