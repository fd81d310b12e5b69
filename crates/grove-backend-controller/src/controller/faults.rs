//! Faults for mutants: each makes the controller break one promise, so that a suite can show that
//! it notices.
//!
//! They are switched on by a hidden flag and never in operation.

use std::str::FromStr;

use super::pod_gang_names::PodGangNames;

/// The faults that are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// PodGangs get no owner reference.
    pub no_owner_references: bool,
    /// Gates come off as soon as a pod exists.
    pub early_ungate: bool,
    /// The last podgroup of every PodGang of several is left out.
    pub drop_podgroup: bool,
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
    /// The lease is taken whoever holds it: every replica leads (KLT-07).
    pub lease_always_taken: bool,
    /// A pod that is being deleted counts as a replica until it is gone (KLT-05).
    pub terminating_counts: bool,
    /// A breach is answered at once, whatever the termination delay (TERM-02, TERM-03).
    pub termination_at_once: bool,
    /// A PodClique is breached as soon as one of its pods is missing, whatever its minimum (TERM-01, TERM-03).
    pub all_replicas_needed: bool,
    /// A breached replica of a scaling group recycles its PodCliqueSet replica (TERM-04).
    pub group_takes_all: bool,
    /// A PodClique counts as held before its minimum was ever bound (TERM-05, TERM-06).
    pub held_from_the_start: bool,
    /// A recycle deletes the base PodGang too (TERM-12).
    pub recycle_takes_gang: bool,
    /// A bound pod that is not Ready is unhealthy, whatever it waits for (TERM-01, TERM-11).
    pub starting_is_unhealthy: bool,
    /// Gates of scaled PodGangs come off when their base is referred to, bound or not (TERM-10).
    pub former_base_counts: bool,
    /// Every second the conditions of PodCliques are told in other words (STAT-08).
    pub restless_conditions: bool,
    /// Statuses count pods that are being deleted (STAT-01, TERM-01).
    pub terminating_is_counted: bool,
    /// An update takes down pods in every PodCliqueSet replica at a time (UPD-03, UPD-10).
    pub all_replicas_in_turn: bool,
    /// An update takes down all that is old in a PodCliqueSet replica at once (UPD-04, UPD-12).
    pub update_takes_all: bool,
    /// An update takes down what was there before it and is new all the same (UPD-11).
    pub update_takes_new: bool,
    /// A turn of an update deletes the PodGang too (UPD-07).
    pub update_takes_gang: bool,
    /// Scaling in takes the oldest pod of equals (AUTO-07).
    pub oldest_go_first: bool,
    /// Pods that start after others keep their gates (START-05).
    pub order_holds_scheduling: bool,
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
}

/// One fault by name, as on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// See [`Faults::no_owner_references`].
    NoOwnerReferences,
    /// See [`Faults::early_ungate`].
    EarlyUngate,
    /// See [`Faults::drop_podgroup`].
    DropPodgroup,
    /// See [`Faults::write_on_reconcile`].
    WriteOnReconcile,
    /// See [`Faults::touch_gang_resources`].
    TouchGangResources,
    /// See [`Faults::recreate_gang_resources`].
    RecreateGangResources,
    /// See [`Faults::foreign_resource`].
    ForeignResource,
    /// See [`Faults::forget_member`].
    ForgetMember,
    /// See [`Faults::wrong_queue`].
    WrongQueue,
    /// See [`Faults::omit_subgroups`].
    OmitSubgroups,
    /// See [`Faults::key_one_level_down`].
    KeyOneLevelDown,
    /// See [`Faults::low_group_count`].
    LowGroupCount,
    /// See [`Faults::ready_counts_scheduled`].
    ReadyCountsScheduled,
    /// See [`Faults::lease_always_taken`].
    LeaseAlwaysTaken,
    /// See [`Faults::terminating_counts`].
    TerminatingCounts,
    /// See [`Faults::termination_at_once`].
    TerminationAtOnce,
    /// See [`Faults::all_replicas_needed`].
    AllReplicasNeeded,
    /// See [`Faults::group_takes_all`].
    GroupTakesAll,
    /// See [`Faults::held_from_the_start`].
    HeldFromTheStart,
    /// See [`Faults::recycle_takes_gang`].
    RecycleTakesGang,
    /// See [`Faults::starting_is_unhealthy`].
    StartingIsUnhealthy,
    /// See [`Faults::former_base_counts`].
    FormerBaseCounts,
    /// See [`Faults::restless_conditions`].
    RestlessConditions,
    /// See [`Faults::terminating_is_counted`].
    TerminatingIsCounted,
    /// See [`Faults::all_replicas_in_turn`].
    AllReplicasInTurn,
    /// See [`Faults::update_takes_all`].
    UpdateTakesAll,
    /// See [`Faults::update_takes_new`].
    UpdateTakesNew,
    /// See [`Faults::update_takes_gang`].
    UpdateTakesGang,
    /// See [`Faults::oldest_go_first`].
    OldestGoFirst,
    /// See [`Faults::order_holds_scheduling`].
    OrderHoldsScheduling,
    /// See [`Faults::epoch_names`].
    EpochNames,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "no-owner-references" => Ok(Self::NoOwnerReferences),
            "early-ungate" => Ok(Self::EarlyUngate),
            "drop-podgroup" => Ok(Self::DropPodgroup),
            "write-on-reconcile" => Ok(Self::WriteOnReconcile),
            "touch-gang-resources" => Ok(Self::TouchGangResources),
            "recreate-gang-resources" => Ok(Self::RecreateGangResources),
            "foreign-resource" => Ok(Self::ForeignResource),
            "forget-member" => Ok(Self::ForgetMember),
            "wrong-queue" => Ok(Self::WrongQueue),
            "omit-subgroups" => Ok(Self::OmitSubgroups),
            "key-one-level-down" => Ok(Self::KeyOneLevelDown),
            "low-group-count" => Ok(Self::LowGroupCount),
            "ready-counts-scheduled" => Ok(Self::ReadyCountsScheduled),
            "lease-always-taken" => Ok(Self::LeaseAlwaysTaken),
            "terminating-counts" => Ok(Self::TerminatingCounts),
            "termination-at-once" => Ok(Self::TerminationAtOnce),
            "all-replicas-needed" => Ok(Self::AllReplicasNeeded),
            "group-takes-all" => Ok(Self::GroupTakesAll),
            "held-from-the-start" => Ok(Self::HeldFromTheStart),
            "recycle-takes-gang" => Ok(Self::RecycleTakesGang),
            "starting-is-unhealthy" => Ok(Self::StartingIsUnhealthy),
            "former-base-counts" => Ok(Self::FormerBaseCounts),
            "restless-conditions" => Ok(Self::RestlessConditions),
            "terminating-is-counted" => Ok(Self::TerminatingIsCounted),
            "all-replicas-in-turn" => Ok(Self::AllReplicasInTurn),
            "update-takes-all" => Ok(Self::UpdateTakesAll),
            "update-takes-new" => Ok(Self::UpdateTakesNew),
            "update-takes-gang" => Ok(Self::UpdateTakesGang),
            "oldest-go-first" => Ok(Self::OldestGoFirst),
            "order-holds-scheduling" => Ok(Self::OrderHoldsScheduling),
            "epoch-names" => Ok(Self::EpochNames),
            _ => Err(format!("no fault {text:?}")),
        }
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<T: IntoIterator<Item = Fault>>(faults: T) -> Self {
        let mut on = Self::default();
        for fault in faults {
            match fault {
                Fault::NoOwnerReferences => on.no_owner_references = true,
                Fault::EarlyUngate => on.early_ungate = true,
                Fault::DropPodgroup => on.drop_podgroup = true,
                Fault::WriteOnReconcile => on.write_on_reconcile = true,
                Fault::TouchGangResources => on.touch_gang_resources = true,
                Fault::RecreateGangResources => on.recreate_gang_resources = true,
                Fault::ForeignResource => on.foreign_resource = true,
                Fault::ForgetMember => on.forget_member = true,
                Fault::WrongQueue => on.wrong_queue = true,
                Fault::OmitSubgroups => on.omit_subgroups = true,
                Fault::KeyOneLevelDown => on.key_one_level_down = true,
                Fault::LowGroupCount => on.low_group_count = true,
                Fault::ReadyCountsScheduled => on.ready_counts_scheduled = true,
                Fault::LeaseAlwaysTaken => on.lease_always_taken = true,
                Fault::TerminatingCounts => on.terminating_counts = true,
                Fault::TerminationAtOnce => on.termination_at_once = true,
                Fault::AllReplicasNeeded => on.all_replicas_needed = true,
                Fault::GroupTakesAll => on.group_takes_all = true,
                Fault::HeldFromTheStart => on.held_from_the_start = true,
                Fault::RecycleTakesGang => on.recycle_takes_gang = true,
                Fault::StartingIsUnhealthy => on.starting_is_unhealthy = true,
                Fault::FormerBaseCounts => on.former_base_counts = true,
                Fault::RestlessConditions => on.restless_conditions = true,
                Fault::TerminatingIsCounted => on.terminating_is_counted = true,
                Fault::AllReplicasInTurn => on.all_replicas_in_turn = true,
                Fault::UpdateTakesAll => on.update_takes_all = true,
                Fault::UpdateTakesNew => on.update_takes_new = true,
                Fault::UpdateTakesGang => on.update_takes_gang = true,
                Fault::OldestGoFirst => on.oldest_go_first = true,
                Fault::OrderHoldsScheduling => on.order_holds_scheduling = true,
                Fault::EpochNames => on.epoch_names = true,
            }
        }
        on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let parse = |text: &str| text.parse::<Fault>();
        assert_eq!(parse("early-ungate"), Ok(Fault::EarlyUngate));
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
        for wrong in ["early-ungate=1", "early", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
