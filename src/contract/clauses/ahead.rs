//! Clauses that no case judges yet: of TrainJobs, and of a PodCliqueSet's later life: status, gang termination, startup
//! order, updates and autoscaling. They are in the contract and in no report. Whoever writes the first case of one moves its entry to
//! [`CLAUSES`](super::CLAUSES), which a test of the cases asks to be judged on every target that owes it.
//!
//! Words, beside those of the other clauses: m, r are `minAvailable` and the live `spec.replicas` of a clique, M, R those of a
//! scaling group, D is `terminationDelay`. A clique is **held** once it had m pods bound in this generation. A pod is
//! **healthy** if it is bound, not terminating, and not (not Ready while a started container is not ready, or a last exit
//! was not 0). **Breached** is a clique that was held and has fewer than m healthy pods, a group replica with a member
//! breached or missing, a group with fewer than M replicas that are not; **since** is the event from which that holds without
//! a break. A **recycle** of a PCS replica or of a group replica deletes its pods because of a breach and makes them anew; a
//! **generation** are the pods between two recycles, to none of which a terminating pod belongs. A **turn** is one pod of a
//! standalone clique, or one replica of a scaling group, taken down by an update; the **floor** is min(m, r − 1), for groups
//! min(M, R − 1).

use super::table::{contract, scheduling};
use super::{Clause, Feature};
use Feature::{
    AtomicPodGang, Claims, FreshGang, HalfGangRelease, Kubelet, Metrics, PodGangStatus, QueueLabel,
    RevisionedRestore, ScaleToZero, TopologyRequired, TrainJob,
};

/// Those clauses, by group.
#[rustfmt::skip] // one clause reads as one paragraph
pub static AHEAD: &[Clause] = &[
    // TrainJobs.
    scheduling("TRN-05", "Required level for the TrainJob: all in one domain; fits the cluster but no domain: nothing \
        ever; without the constraint on the same nodes: bound. With TopologyPerJob each replicatedJob in a domain \
        of its own", "KPG, TRAINER").of(TopologyRequired),
    contract("TRN-06", "The queue that counts: TrainJob's label, else the policy's, else KAI's default queue; a \
        change under a live PodGroup changes nothing", "KPG, T3186").of(QueueLabel),
    scheduling("TRN-09", "Deleted while pending: nothing is bound afterwards. Deleted while bound: a waiting \
        TrainJob gets its room, whole", "BRIEF, OWN").of(TrainJob),
    scheduling("TRN-16", "Trainer, JobSet controller, plugin, podgrouper and scheduler each killed once while a \
        TrainJob is pending and while it is half created: end state and unit as without it", "OWN")
        .of(TrainJob),
    // Status.
    scheduling("STAT-02", "scheduledReplicas and PodCliqueScheduled follow `spec.nodeName` within 5 s, without any \
        container having started", "OWN"),
    scheduling("STAT-05", "Convergence: at every rest all status is the function of the objects that 01-04 say, \
        whatever writes were lost, doubled or in conflict on the way (harness answers the n-th status write with a \
        conflict, a timeout after commit)", "#775, #747"),
    scheduling("STAT-07", "PodGang: `Scheduled` True once every podgroup has minReplicas bound (of the current \
        generation), `Ready` likewise by readiness, both back to False on loss; `Unhealthy` from a breach; phase is \
        not left at Pending", "#763, OWN").of(PodGangStatus),
    scheduling("STAT-09", "A gang that waits says why within 5 s, on its PodGang or PCS: gate (which base), queue, \
        no room (the scheduler's words), missing resource; the reason goes when it is over", "#729, OWN"),
    contract("STAT-10", "A failing backend write is an event and a condition with the cause, retried with growing \
        pauses, and gone after success", "GROVE, OWN"),
    contract("STAT-11", "/metrics: gangs by state, recycles, updates, time to bound; numbers agree with the history",
        "G498").of(Metrics),
    // Gang termination.
    scheduling("TERM-08", "As TERM-07 while an old pod hangs in termination (harness finalizer; lost node): with \
        room, the new generation is bound whole beside it; without, not at all", "#401, OWN").of(FreshGang),
    scheduling("TERM-09", "Freed room is fought for: a waiting gang that fits may win it; then the recycled one \
        waits whole. At no time two gangs hold halves", "OWN"),
    scheduling("TERM-13", "An update suspends the clock of what is in its turn only, not of other replicas; \
        afterwards a whole D. An update that makes no progress for D while breached is no shelter: the recycle \
        comes, with the new template", "GROVE, OWN (no shelter)"),
    scheduling("TERM-14", "The controller is killed at any write of a recycle, and for D/2 in the middle of a \
        clock: each pod of the scope is replaced at least once and at most twice; the clock keeps its start; \
        nothing is left half deleted", "GROVE (one extra), OWN"),
    scheduling("TERM-16", "A group replica of the base gang recycled alone comes back whole or not at all (Σ its \
        minimums), since the gang is below its minimum without it", "OWN").of(AtomicPodGang),
    scheduling("TERM-17", "On a backend without AtomicPodGang: a gang with a bound podgroup and one never bound for \
        D gives its capacity back, so that two half gangs do not hold each other for ever",
        "OWN").of(HalfGangRelease),
    scheduling("TERM-18", "The new generation may take another domain, and must where the old one no longer holds \
        it; all of it in one domain", "OWN").of(TopologyRequired),
    scheduling("TERM-20", "A recycled scope that shares a ResourceClaim is not tied to devices of a lost node: the \
        claim is free once the last old pod is gone, then the gang is bound elsewhere", "OWN").of(Claims),
    // Startup order.
    scheduling("START-04", "No main container of a child starts before an instant at which every parent had its m \
        pods Ready at once; judged by order of watch events, not by second stamps", "GROVE SO1-4, #323").of(Kubelet),
    scheduling("START-06", "Only live pods of the own generation count: prefix namesakes, terminating parents, \
        another PCS replica's parents do not", "OWN").of(Kubelet),
    scheduling("START-07", "Recycle and replacement: order holds again for the new generation; a single replaced \
        child starts when its parents have m Ready, at once if they have", "OWN").of(Kubelet),
    scheduling("START-08", "No standstill with updates: an update of parent and child ends; a child's turn does not \
        begin while a parent stands below its m; a child waiting in grove-initc is not healthy forever: the \
        parent's breach is what recycles", "OWN"),
    contract("START-09", "A child held back by order is told from a broken one: its PodClique names the parents and \
        how many of them are Ready of how many, within 5 s, and no longer than it is so", "OWN"),
    // Updates.
    scheduling("UPD-06", "A waiting gang may take the freed place, only whole; then the update waits, nothing else \
        is taken down, nobody is evicted; room comes: it ends", "OWN"),
    scheduling("UPD-09", "A scaled gang's turn: the new replica is again all-or-nothing and waits for nobody but \
        its base, which is bound", "OWN"),
    scheduling("UPD-13", "Scaling in an update, before or in it, PCS, group or clique, in or out: ends; no pod is \
        made twice, none is left over; new ones have the new template; final counts exact", "GROVE RU11-21"),
    contract("UPD-14", "Scale-in while lower replicas are missing (turn or recycle): exactly indices ≥ R go, at \
        once and for good", "OWN"),
    scheduling("UPD-16", "A pod lost where the turn has not come is replaced with the old template, so that a PCS \
        replica never mixes versions before its turn", "OWN").of(RevisionedRestore),
    scheduling("UPD-17", "The controller is killed at any write of an update; deletion, namespace deletion, PCS \
        scale-in of the replica in turn: ends right, no turn is taken twice", "OWN"),
    scheduling("UPD-19", "A replacement stays in the gang's domain; without room there it waits, and TERM-13 \
        decides", "OWN").of(TopologyRequired),
    contract("UPD-20", "A change that the gang resource cannot follow (priorityClassName on immutable PodGroups, \
        queue) is refused with the field's name; where it can follow it does", "OWN"),
    contract("UPD-23", "OnDelete: scale-in of a clique prefers, among equals, old pods; updatedReplicas counts",
        "GROVE OD3"),
    scheduling("UPD-25", "The controller's Deployment is rolled to another build in the middle of an update and of \
        a clock: no pod is rolled for it, the update ends", "GROVE upgrade test, #709").of(Kubelet),
    // Autoscaling, and `/scale`.
    scheduling("AUTO-06", "0 = idle: the clique leaves the gang, the others run on and stay a gang; back to m: \
        admitted as a whole", "G677, #809").of(ScaleToZero),
];
