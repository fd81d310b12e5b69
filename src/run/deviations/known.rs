//! The table of known deviations. Entries that several cases or targets share are functions below the table,
//! or in the file of their scheduler.

mod koordinator;

use conformance_check::binding::{
    BOUND_IN_PART, NOT_BOUND_WHOLE, PODS_UNBOUND, WRONG_NUMBER_OF_BOUND_PODS, WRONG_NUMBER_OF_WHOLE_GANGS,
};
use conformance_check::placement::EMPTY_LABEL;
use conformance_check::preemption::{EVICTED_BY_NEVER, EVICTED_FOR_SURPLUS};
use conformance_check::wake_up::BOUND_TOO_LATE;
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_trainjobs::EVICTED;

use super::{DID_NOT_HAPPEN, Deviation, Occurs};

/// A deviation that occurs in half of all attempts occurs five times in a row about once in 30 runs.
const RACE: Occurs = Occurs::Race { tries: 5 };

const IN_PART: &[Code] = &[BOUND_IN_PART];
const NOT_WHOLE: &[Code] = &[NOT_BOUND_WHOLE];
const UNBOUND: &[Code] = &[PODS_UNBOUND];
const TOO_FEW: &[Code] = &[WRONG_NUMBER_OF_WHOLE_GANGS, PODS_UNBOUND];
const TOO_LATE: &[Code] = &[BOUND_TOO_LATE];
const LATE: &[Code] = &[DID_NOT_HAPPEN];
const EVICTED_ONLY: &[Code] = &[EVICTED];
const EVICTED_FOR_NEVER: &[Code] = &[EVICTED_BY_NEVER];
const EVICTED_FOR_MORE: &[Code] = &[EVICTED_FOR_SURPLUS];

pub const DEVIATIONS: &[Deviation] = &[
    Deviation {
        target: Target::KUBE_POD_GROUP,
        clause: "AON-08",
        case: "aon/one-clique-too-large",
        shows: IN_PART,
        version: "v1.36.5",
        occurs: Occurs::Always,
        reason: "proposal 531 calls the flat mapping all-or-nothing across the PodGroups of one Workload; \
                 kube-scheduler 1.36 schedules each PodGroup for itself, so one clique is bound while another cannot be",
    },
    kube_counts_empty_label(Target::KUBE_POD_GROUP, "v1.36.5"),
    kube_counts_empty_label(Target::KUBE_POD_GANG, "v1.36.5"),
    kube_counts_empty_label(Target::KUBE_TREE, "v1.37.2"),
    Deviation {
        target: Target::KUBE_POD_GROUP,
        clause: "AON-01",
        case: "del/shared-claims",
        shows: LATE,
        version: "v1.36.5",
        occurs: RACE,
        reason: "kube-scheduler 1.36 sometimes allocates a ResourceClaim that pods of two PodGroups share, and keeps treating \
                 the claim as still being allocated: the pods that are not bound by then stay pending indefinitely, \
                 including those of a PodGroup that it reports as scheduled",
    },
    kube_binds_away_from_device(Target::KUBE_POD_GROUP),
    kube_binds_away_from_device(Target::KUBE_POD_GANG),
    kube_keeps_claim_pending(Target::KUBE_POD_GROUP),
    kube_keeps_claim_pending(Target::KUBE_POD_GANG),
    Deviation {
        target: Target::KUBE_TREE,
        clause: "AON-01",
        case: "del/shared-claims",
        shows: LATE,
        version: "v1.37.2",
        occurs: Occurs::Always,
        reason: "pods of one PodGroup can share a ResourceClaim that kube-scheduler 1.37 is still allocating, but pods of two \
                 PodGroups cannot, not even in one tree: a tree whose podgroups share a new claim stays pending \
                 indefinitely, even if it fits",
    },
    Deviation {
        target: Target::VOLCANO,
        clause: "AON-02",
        case: "aon/nothing-requested",
        shows: IN_PART,
        version: "v1.15.1",
        occurs: Occurs::Always,
        reason: "Volcano treats a pod without resource requests as best effort: its backfill action binds \
                 the pod regardless of the gang (allocate skips it, and it counts as ready from the start)",
    },
    Deviation {
        target: Target::VOLCANO,
        clause: "TERM-16",
        case: "term/replica-in-base",
        shows: IN_PART,
        version: "v1.15.1",
        occurs: Occurs::ByPace,
        reason: "Volcano counts succeeded pods towards minMember, even while they are being deleted: a \
                 deleted pod whose process exits with 0 counts until its kubelet has removed it, and \
                 meanwhile a single pod of the next generation is bound (with real kubelets; simulated pods \
                 are removed at once)",
    },
    Deviation {
        target: Target::KOORDINATOR,
        clause: "GANG-26",
        case: "gang/restored-while-pending",
        shows: NOT_WHOLE,
        version: "v1.8.0",
        occurs: Occurs::ByPace,
        reason: "koord-scheduler 1.8 adds an existing pod to a PodGroup that was deleted and recreated only \
                 when the pod changes. A pod changes if it is being tried at that moment (most pods on a \
                 busy machine, none on an idle one). Otherwise the pending gang stays pending, even if it \
                 fits",
    },
    koordinator::remembers_name("del/same-name-again"),
    koordinator::remembers_name("del/same-name-api-faults"),
    koordinator::drops_tombstones("AON-02", IN_PART),
    koordinator::drops_tombstones("DEL-08", NOT_WHOLE),
    Deviation {
        target: Target::KOORDINATOR,
        clause: "GANG-26",
        case: "gang/restored-despite-api-faults",
        shows: NOT_WHOLE,
        version: "v1.8.0",
        occurs: RACE,
        reason: "koord-scheduler 1.8 adds an existing pod to a PodGroup that was deleted and recreated only \
                 when the pod changes: sometimes it receives that change before it receives the PodGroup",
    },
    koordinator::loses_retried_gang("AON-03", "aon/one-pod-short", NOT_WHOLE),
    koordinator::loses_retried_gang("AON-07", "aon/scaled-gang-short", TOO_FEW),
    koordinator::loses_retried_gang("AON-18", "aon/binding-refused", NOT_WHOLE),
    koordinator::loses_retried_gang("WAKE-01", "wake/koordinator", TOO_LATE),
    koordinator::loses_retried_gang("WAKE-02", "wake/koordinator", TOO_LATE),
    koordinator::loses_retried_gang("WAKE-03", "wake/koordinator", TOO_LATE),
    koordinator::loses_retried_gang("WAKE-04", "wake/koordinator", TOO_LATE),
    koordinator::loses_retried_gang("WAKE-05", "wake/koordinator", TOO_LATE),
    koordinator::loses_retried_gang("WAKE-09", "wake/koordinator", TOO_LATE),
    koordinator::loses_retried_gang("WAKE-14", "wake/koordinator", TOO_LATE),
    Deviation {
        target: Target::KOORDINATOR,
        clause: "AUTO-14",
        case: "auto/scale-to-zero-briefly",
        shows: &[WRONG_NUMBER_OF_BOUND_PODS],
        version: "v1.8.0",
        occurs: RACE,
        reason: "koord-scheduler 1.8 sometimes rejects a pod in PreEnqueue at the moment in which it accepts the \
                 pod's PodGroup (its log: \"PreEnqueue failed\" right after \"TryInitByPodGroup done\"), and no \
                 later change of the PodGroup brings the pod back into the queue",
    },
    Deviation {
        target: Target::KOORDINATOR,
        clause: "TERM-16",
        case: "term/replica-in-base",
        shows: IN_PART,
        version: "v1.8.0",
        occurs: Occurs::Always,
        reason: "koord-scheduler 1.8 treats a gang that was satisfied once as satisfied indefinitely (match \
                 policy once-satisfied): pods that are recreated later, such as those of one terminated \
                 scaling group replica, are bound one by one",
    },
    Deviation {
        target: Target::KOORDINATOR,
        clause: "UPD-36",
        case: "upd/on-delete-all-pods",
        shows: IN_PART,
        version: "v1.8.0",
        occurs: Occurs::Always,
        reason: "koord-scheduler 1.8 treats a gang that was satisfied once as satisfied indefinitely (match \
                 policy once-satisfied), even after all of its pods have been deleted: their replacements \
                 are bound one by one",
    },
    koordinator::starves_small_gang("AON-10", "aon/room-for-one"),
    koordinator::starves_small_gang("AON-10", "aon/pending-blocks-nobody"),
    Deviation {
        target: Target::TRAINJOB_VOLCANO,
        clause: "TRN-13",
        case: "trn/initializer",
        shows: NOT_WHOLE,
        version: "v1.15.1",
        occurs: Occurs::Always,
        reason: "the trainer 2.3.0 counts the pods of all replicated Jobs in its PodGroup's minMember, \
                 including those that are created only after an initializer has succeeded: Volcano waits for \
                 pods that wait for the initializer",
    },
    Deviation {
        target: Target::COSCHEDULING,
        clause: "TRN-13",
        case: "trn/initializer",
        shows: NOT_WHOLE,
        version: "v0.35.4-devel",
        occurs: Occurs::Always,
        reason: "the trainer 2.3.0 counts the pods of all replicated Jobs in its PodGroup's minMember, \
                 including those that are created only after an initializer has succeeded: Coscheduling \
                 rejects a pod whose group has fewer pods than minMember",
    },
    Deviation {
        target: Target::TRAINJOB_KAI,
        clause: "TRN-13",
        case: "trn/initializer",
        shows: NOT_WHOLE,
        version: "v0.17.0",
        occurs: Occurs::Always,
        reason: "KAI's podgrouper (0.16 and later) counts all replicated Jobs of a TrainJob in its gang, \
                 including those that are created only after an initializer has succeeded: the initializer \
                 waits for pods that wait for it",
    },
    Deviation {
        target: Target::TRAINJOB_KAI,
        clause: "TRN-25",
        case: "trn/initializer-not-evicted",
        shows: EVICTED_ONLY,
        version: "v0.17.0",
        occurs: Occurs::Always,
        reason: "the annotation batch-min-member lets an initializer start, but KAI still treats the gang as \
                 stale, because a subgroup lacks pods that are created later: an initializer that runs \
                 longer than the grace period (60 s by default) is evicted",
    },
    coscheduling_does_not_retry("TRN-18", "trn/one-pod-short", NOT_WHOLE),
    coscheduling_does_not_retry("TRN-18", "trn/capacity-freed", NOT_WHOLE),
    coscheduling_does_not_retry("TRN-16", "trn/components-killed", LATE),
    kai_merges_gangs_of_one_name("AON-01", UNBOUND),
    kai_merges_gangs_of_one_name("AON-02", IN_PART),
    Deviation {
        target: Target::VOLCANO,
        clause: "PRE-07",
        case: "pre/never",
        shows: EVICTED_FOR_NEVER,
        version: "v1.15.1",
        occurs: Occurs::Always,
        reason: "Volcano's action gangpreempt ignores preemptionPolicy, unlike preempt and reclaim: a gang \
                 whose PriorityClass says Never evicts gangs of lower priority",
    },
    Deviation {
        target: Target::KAI,
        clause: "PRE-07",
        case: "pre/never",
        shows: EVICTED_FOR_NEVER,
        version: "v0.17.0",
        occurs: Occurs::Always,
        reason: "KAI reads the value of a PriorityClass, and not its preemptionPolicy: a gang whose PriorityClass \
                 says Never evicts gangs of lower priority",
    },
    preempts_for_surplus(
        Target::KUBE_TREE,
        "v1.37.2",
        "a surplus pod is in no group of its tree, so kube-scheduler preempts for it as for any pod, and evicts \
         whole gangs of lower priority",
    ),
    preempts_for_surplus(
        Target::VOLCANO,
        "v1.15.1",
        "Volcano's action gangpreempt makes room for all pending pods of a gang, not only for its minimum",
    ),
    preempts_for_surplus(
        Target::KAI,
        "v0.17.0",
        "KAI's action preempt also runs for a gang whose minimum is bound, and evicts gangs of lower priority for \
         each further pod",
    ),
];

const fn preempts_for_surplus(target: Target, version: &'static str, reason: &'static str) -> Deviation {
    Deviation {
        target,
        clause: "PRE-08",
        case: "pre/surplus-evicts-nobody",
        shows: EVICTED_FOR_MORE,
        version,
        occurs: Occurs::Always,
        reason,
    }
}

const EMPTY: &[Code] = &[EMPTY_LABEL];

const fn kube_counts_empty_label(target: Target, version: &'static str) -> Deviation {
    Deviation {
        target,
        clause: "TOPO-18",
        case: "topo/empty-label",
        shows: EMPTY,
        version,
        occurs: Occurs::Always,
        reason: "kube-scheduler treats nodes whose topology label is empty as one more domain \
                 (kubernetes/kubernetes#140308): a gang that fits in no rack is bound to nodes without a \
                 rack",
    }
}

/// Has the same cause as the deviation of `del/shared-claims`. It has not been observed in this case.
const fn kube_keeps_claim_pending(target: Target) -> Deviation {
    Deviation {
        target,
        clause: "AON-03",
        case: "aon/device-elsewhere",
        shows: NOT_WHOLE,
        version: "v1.36.5",
        occurs: RACE,
        reason: "kube-scheduler 1.36 sometimes allocates a ResourceClaim that pods share, and keeps treating the claim as \
                 still being allocated (kubernetes/kubernetes#140053): a pod that is not bound by then stays pending \
                 indefinitely",
    }
}

const fn kube_binds_away_from_device(target: Target) -> Deviation {
    Deviation {
        target,
        clause: "AON-02",
        case: "aon/device-elsewhere",
        shows: IN_PART,
        version: "v1.36.5",
        occurs: Occurs::ByPace,
        reason: "kube-scheduler 1.36 places the second pod of a PodGroup without regard to the devices that a claim of \
                 its first pod is about to get (kubernetes/kubernetes#140087, fixed in 1.37.0): it also considers nodes \
                 without the device",
    }
}

/// Coscheduling does not retry a rejected gang when capacity is added. Events of other pods trigger a retry,
/// so concurrent cases hide the deviation.
const fn coscheduling_does_not_retry(
    clause: &'static str,
    case: &'static str,
    shows: &'static [Code],
) -> Deviation {
    Deviation {
        target: Target::COSCHEDULING,
        clause,
        case,
        shows,
        version: "v0.35.4-devel",
        occurs: Occurs::ByPace,
        reason: "Coscheduling 0.35.4 rejects a gang whose minResources exceed the free resources of all \
                 nodes together, and retries it only when pods are created or PodGroups change: on an idle \
                 cluster it notices a new node or a deleted pod only when unschedulable pods are flushed, \
                 after five minutes",
    }
}

/// Affects KAI 0.17 and earlier. Fixed upstream by KAI-Scheduler #2095 (backport #2138). On 0.15.2 the
/// deviation did not occur in every attempt; on 0.17.0 it occurred in each of fifteen attempts.
const fn kai_merges_gangs_of_one_name(clause: &'static str, shows: &'static [Code]) -> Deviation {
    Deviation {
        target: Target::KAI,
        clause,
        case: "aon/same-name-two-namespaces",
        shows,
        version: "v0.17.0",
        occurs: Occurs::ByPace,
        reason: "KAI identifies a PodGroup by its name alone: PodGroups of the same name in two namespaces \
                 form one gang, and pods in one namespace count towards the minimum of the other PodGroup",
    }
}
