//! The clauses as data, in the order in which reports print them.
//!
//! Words of the contract: **bound** is `spec.nodeName` set; **ever** is in the whole watch history of the
//! case, at any resourceVersion; **converged** is every wanted object exists and no controller has work left.
//! The **hard gang** of a PodGang is `minReplicas` pods of every podgroup, pods beyond are **surplus**. A
//! **unit** is what the backend promises to bind atomically: the hard gang of the whole PodGang where it
//! declares AtomicPodGang, else the `minReplicas` pods of one podgroup. **Fits** means that there is room in
//! whatever order the pods are placed.

use super::{Clause, Feature, Level, Tier};
use Feature::{
    AtomicPodGang, AtomicTrainJob, Autoscaling, Claims, CompositePodGroup, External, FreshGang,
    HalfGangRelease, JobWorkload, Kubelet, Metrics, PodGangStatus, QueueLabel, RevisionedRestore,
    ScaleToZero, SelfHealing, StartupOrder, StuckGangRelease, TopologyNested, TopologyPerClique,
    TopologyPerGroup, TopologyPerJob, TopologyPerReplica, TopologyPreferred, TopologyRequired,
    TopologyResource, TrainJob,
};

pub(super) const fn contract(id: &'static str, text: &'static str, source: &'static str) -> Clause {
    Clause {
        id,
        tier: Tier::Contract,
        level: Level::Core,
        text,
        source,
        of_external: true,
        needs_topology: false,
        not_in_scope: None,
        across_kinds: false,
        restates: &[],
        rests_on: None,
        also_shows: None,
    }
}

pub(super) const fn scheduling(id: &'static str, text: &'static str, source: &'static str) -> Clause {
    Clause { tier: Tier::Scheduling, ..contract(id, text, source) }
}

impl Clause {
    /// Owed only by backends that declare the feature.
    pub(super) const fn of(self, feature: Feature) -> Clause {
        Clause { level: Level::Extended(feature), ..self }
    }

    const fn not_of_external(self) -> Clause {
        Clause { of_external: false, ..self }
    }

    const fn needs_topology(self) -> Clause {
        Clause { needs_topology: true, ..self }
    }

    const fn not_in_scope(self, scope: &'static str) -> Clause {
        Clause { not_in_scope: Some(scope), ..self }
    }

    const fn across_kinds(self) -> Clause {
        Clause { across_kinds: true, ..self }
    }

    const fn restates(self, restates: &'static [&'static str]) -> Clause {
        Clause { restates, ..self }
    }

    const fn rests_on(self, group: &'static str) -> Clause {
        Clause { rests_on: Some(group), ..self }
    }

    const fn also_shows(self, feature: Feature) -> Clause {
        Clause { also_shows: Some(feature), ..self }
    }
}

/// Every clause this suite judges, by group.
#[rustfmt::skip] // one clause reads as one paragraph
pub static CLAUSES: &[Clause] = &[
    // Admission of PodCliqueSets.
    contract("ADM-01", "All clique templates resolve to one backend; two different `schedulerName`s are \
        rejected, an empty one counts as the default", "G525"),
    contract("ADM-02", "A PCS that names an enabled non-default backend is admitted; one that names a \
        backend that is not enabled is rejected, and the message names it", "G525"),
    contract("ADM-03", "Gang shape is immutable: clique set and names, clique `minAvailable`, scaling-group \
        membership and `minAvailable`, `schedulerName`, startup type and `startsAfter`, topology constraints \
        at all three places (set, group, clique). That the message says to recreate the PodCliqueSet is \
        judged apart, as OWN. Cliques in another order where order means nothing: admitted, nothing \
        recreated. Pod templates are mutable (UPD)", "G531, GROVE"),
    contract("ADM-04", "Structural rules: ≥ 1 clique, unique DNS names, clique and group replicas > 0 (0 in \
        a template only where ScaleToZero is declared; live: AUTO-05, 06), PCS replicas ≥ 0, 0 < \
        minAvailable ≤ replicas, known scaling-group members, known and acyclic `startsAfter`, name length \
        limit, for standalone and grouped cliques. Each rule on create and on update, at each place it \
        speaks of, with an admitted neighbour that lives: the longest admitted name converges, omitted \
        counts become 1", "GROVE"),
    contract("ADM-05", "A rejected create or update leaves no object and no change behind", "OWN"),
    contract("ADM-06", "Backend rules apply only to PodCliqueSets that select that backend", "G537")
        .not_of_external(),
    contract("ADM-07", "Topology: unknown domain, missing or two topology names, child broader than parent, \
        unknown ClusterTopologyBinding are rejected: for `required` and `preferred`, at set, group and \
        clique, clique below group included", "GROVE").needs_topology(),
    contract("ADM-08", "Deletion (background and foreground), and metadata edits of keys that no backend \
        reads, are never blocked by admission, whatever became of queues, topology or rules since (a PCS \
        stored under older rules can be deleted, finalizers taken off)", "OWN").not_of_external(),
    contract("ADM-09", "A topology level a backend cannot honour: `required` is rejected, never ignored; \
        `preferred` that has no effect is rejected or admitted with a warning that names the level",
        "G375, G537").not_of_external(),
    contract("ADM-10", "A backend whose CRDs, API or minimum version (KAI 0.15, Volcano 1.14, Workload API) \
        are missing says so at start and in readiness detail, and its PodCliqueSets are rejected with that \
        reason; the other backends go on", "G525, GROVE").not_of_external(),
    contract("ADM-11", "A backend disabled under live PodCliqueSets: they keep running, an event says so, \
        new ones are rejected, deletion works", "G537").not_of_external(),
    contract("ADM-12", "A refusal to change the shape of gangs (ADM-03) says to recreate the PodCliqueSet", "OWN")
        .needs_topology(),

    // Gang creation.
    contract("GANG-01", "Per PCS replica exactly one PodGang holds the standalone cliques and the group \
        replicas below minAvailable (the base, upstream's *anchor*); controller-owned by the PCS; its name \
        is free, stable while it lives, and the one that the labels of its cliques and pods say", "GROVE"),
    contract("GANG-02", "Its podgroups: standalone cliques in template order, then for each scaling group, \
        each replica j < minAvailable, its cliques in `cliqueNames` order; name = PodClique name, \
        `minReplicas` = clique minAvailable. As of creation; it stays so while no member is scaled below its \
        minimum and no update runs. A clique's pods are in exactly one gang each", "GROVE"),
    contract("GANG-03", "Each scaling-group replica j ≥ minAvailable is a PodGang of its own, of exactly \
        that replica's cliques, whatever minAvailable is (tried with 2 and more)", "GROVE"),
    contract("GANG-04", "Each PodGang carries `grove.io/scheduler-name` = resolved backend; the PodGang \
        controller resolves from it and falls back to the default only if the label is absent or invalid",
        "G525"),
    contract("GANG-05", "Each pod, the late ones (replacement, scale-out) included, carries Grove's \
        scheduling gate at creation and no other of Grove's; its podgang label names the PodGang that lists \
        it; `schedulerName` and membership fields of its backend and of no other; nothing that the user \
        wrote in the template (containers and init containers and their order, service account, labels, \
        tolerations) is removed, changed or reordered; documented additions (environment, hostname, \
        subdomain, affinity, grove-initc) are free. A gate of somebody else's survives the release",
        "GROVE, G531, G537, OWN (fidelity)"),
    contract("GANG-06", "`Initialized` is False until every pod of the gang exists and is referenced, then \
        True and never False again, whatever is lost, scaled or updated; at convergence `podReferences` is \
        the set of live pods, sorted", "GROVE"),
    contract("GANG-07", "Order: PodGang, then the backend's gang resources (parents first), then \
        `Initialized=True`, then the first gate removed. No pod is ever ungated before its own PodGang is \
        Initialized and its backend resources exist, scaled gangs beside a bound base included", "G375, G531")
        .across_kinds(),
    contract("GANG-08", "Every PodGang has backend resources, controlled without a pod in between by an \
        object that goes when the PodGang or its PCS goes, and they say what the backend's clauses say",
        "G525, G531, G537").not_of_external(),
    contract("GANG-09", "The backend reacts to create, delete and generation changes of a PodGang; a \
        status-only or foreign-annotation change causes no write to backend resources, not even one that \
        changes nothing (audit log)", "G525").not_of_external(),
    contract("GANG-10", "Scaling a PCS, a scaling group or a clique changes PodGangs, podReferences and \
        backend resources accordingly and leaves unrelated objects' UIDs and resourceVersions alone",
        "GROVE"),
    contract("GANG-11", "Quiet at rest: a converged, bound workload changes in no object for 10 s, \
        cluster-scoped ones included, and its operator sends no write at all, no-ops included, Leases and \
        Events excepted (audit log, where there is one; what schedulers and KWOK write of their own accord \
        excepted and listed, exactly and per scheduler)", "OWN").not_of_external(),
    contract("GANG-12", "Backend resources deleted or edited by hand are restored; where the API forbids it \
        (immutable PodGroups with live pods) the running gang is unharmed and an event says what is wrong",
        "OWN").of(SelfHealing),
    contract("GANG-13", "`priorityClassName` reaches the PodGang and the backend's resources where their API \
        has the field (that pods carry it too is the reference's own)", "GROVE"),

    // All-or-nothing.
    scheduling("AON-01", "A unit that fits is bound whole, and nothing is bound beyond what its node can \
        hold (Σ requests ≤ allocatable on every node at every resourceVersion; a Failed pod is not bound)",
        "BRIEF"),
    scheduling("AON-02", "A unit one pod short of capacity: no pod of it is ever bound, at the first attempt \
        and at every later one (a node joins that still leaves it short, a pod of it is replaced, its gang \
        resource is deleted and restored (by the operator where SelfHealing is declared, else by the \
        harness), the scheduler's own gang timeout runs out), and the workload says why (pod condition or \
        gang resource status)", "BRIEF"),
    scheduling("AON-03", "The missing capacity appears: the same unit is bound whole", "GROVE GS1"),
    scheduling("AON-04", "Two units of one clique each (with AtomicPodGang also of two cliques each), room \
        for one: one bound whole, the other not at all, ever; neither holds the other's capacity", "OWN"),
    scheduling("AON-05", "Room for the minimum only (also with two cliques, where the surplus of one would \
        fit in the place of the other's minimum): the hard gang is bound and surplus waits; surplus is never \
        bound where the hard gang does not become bound (released together, the order of single binds is \
        free)", "GROVE GS5"),
    scheduling("AON-06", "No pod of a scaled PodGang is ever bound before the minimum of every podgroup of \
        its base had been bound, at an earlier resourceVersion, in the same generation of the base; a base \
        that is bound and never Ready holds nobody back", "GROVE GS6-8, #209"),
    scheduling("AON-07", "A scaled PodGang is all-or-nothing by its own units; its failure leaves the base \
        gang running", "GROVE"),
    scheduling("AON-08", "Atomic across cliques: clique A fits, clique B does not; or each fits alone and \
        both do not: nothing is ever bound", "GROVE, G537").of(AtomicPodGang),
    scheduling("AON-09", "Minimums hold per clique, not just in sum: room for many of A but too few of B \
        binds none of B (and with AtomicPodGang none of A)", "GROVE"),
    scheduling("AON-10", "A pending gang does not block a later, smaller workload that fits", "OWN"),
    scheduling("AON-11", "A pod of a running gang is lost: its replacement joins the same gang and is bound; \
        the others keep UID and node. Lost: deleted at once, deleted with grace, Failed, evicted", "OWN"),
    scheduling("AON-12", "The scheduler is killed and restarted with a gang pending, and with a gang half \
        bound (the harness holds the k-th `pods/binding`): AON-01..04 still hold in the end. Likewise when \
        the k-th `pods/binding` is refused once, and when the scheduler sees the gang resource later than \
        the pods (held watch)", "OWN"),
    scheduling("AON-13", "The controller exits after its n-th write, for every n: the end state is the one \
        without it. On a PCS with a standalone clique with surplus, a scaling group with a scaled replica, \
        two PCS replicas; over creation, scale-out, scale-in, a lost pod, deletion. A state that gets stuck \
        is a failure", "OWN"),

    // Topology packing. Layouts leave room for a wrong placement, so that luck cannot pass.
    scheduling("TOPO-01", "Required level on the PCS: all pods of a base PodGang, surplus included, in one \
        domain of that level", "G537, GROVE").of(TopologyRequired),
    scheduling("TOPO-02", "It fits the cluster but no single domain: nothing is ever bound",
        "GROVE TAS13").of(TopologyRequired),
    scheduling("TOPO-03", "Only one domain has room, and it is not the emptiest one: that one is used",
        "OWN").of(TopologyRequired),
    scheduling("TOPO-04", "Control: TOPO-02's workload without its constraint, on TOPO-02's nodes, is bound",
        "OWN").of(TopologyRequired),
    scheduling("TOPO-05", "Constraint on a scaling group: each of its replicas in one domain, replicas free \
        to differ", "GROVE TAS4").of(TopologyPerGroup),
    scheduling("TOPO-06", "Constraint on a clique: its pods in one domain of that level",
        "GROVE TAS5").of(TopologyPerClique),
    scheduling("TOPO-07", "PCS block, group rack, clique host, all at once", "GROVE TAS8").of(TopologyNested),
    scheduling("TOPO-08", "Preferred level: used when possible, not an obstacle when not",
        "GROVE TAS23").of(TopologyPreferred),
    contract("TOPO-09", "A ClusterTopologyBinding becomes the backend's topology resource (KAI Topology, \
        Volcano HyperNodes) or is compared with a referenced one (drift condition). Where a backend can hold \
        only one, a second binding is refused with a condition; a resource with another owner is never taken \
        over; comparing reports missing, different and equal. A synthetic root above all levels is free",
        "GROVE").of(TopologyResource),
    scheduling("TOPO-10", "Scaled PodGangs obey every constraint above them: the PCS's, with \
        TopologyPerGroup the group's, with TopologyPerClique those of their cliques", "GROVE TAS10").of(TopologyRequired),
    scheduling("TOPO-11", "A node without the level's label takes no pod of a constrained gang (the backend \
        may add node affinity on the key); a label with an empty value is no domain", "OWN").of(TopologyRequired),
    scheduling("TOPO-12", "A PCS constraint holds for the whole PCS replica, base and scaled gangs in one domain \
        (upstream's promise to users, grove #648; no backend has it per gang)", "GROVE").of(TopologyPerReplica),
    scheduling("TOPO-13", "TOPO-01..03 with a required level that is not the rack: block and host", "OWN")
        .of(TopologyRequired),

    // Deletion and cleanup. Event objects excepted.
    contract("DEL-01", "Delete a PCS: every object it caused is gone, its backend resources and Services \
        included; nothing is stuck on a finalizer", "BRIEF"),
    contract("DEL-02", "PCS scale-in removes all of the highest replica's objects, Services included, and \
        touches no other", "GROVE, OWN (Services)"),
    contract("DEL-03", "Scaling-group scale-in removes the scaled PodGang, its pods and backend resources",
        "GROVE"),
    scheduling("DEL-04", "Deleted while pending: nothing is bound afterwards, nothing is left; with a \
        foreign gate or finalizer on its pods it ends when that goes; while the scheduler is down too", "OWN"),
    scheduling("DEL-05", "The capacity it held is given to a waiting unit, whole", "BRIEF"),
    contract("DEL-06", "Deleted while the controller is down: gone after it returns", "OWN"),
    contract("DEL-07", "Namespace deletion ends with nothing stuck", "OWN"),
    scheduling("DEL-08", "A PCS of the same name created right after schedules as if it were the first, also \
        after a scale and a template change, and when the scheduler's watch of its gang resources is late",
        "OWN"),
    contract("DEL-09", "Topology resources outlive workloads and go with their ClusterTopologyBinding",
        "GROVE").of(TopologyResource),

    // Several backends in one cluster.
    scheduling("COEX-01", "PodCliqueSets of every enabled backend at once: each pod is bound by its own \
        scheduler (evidence: the user of its `pods/binding` request, each scheduler having its own \
        identity), each gang by its own rules. Gangs of two schedulers on the same nodes, room for one, the \
        second submitted once the first is bound: none of it is bound", "G537, OWN").not_of_external(),
    contract("COEX-02", "A backend writes only its own resources, and only for its own PodGangs; no pod \
        carries membership keys of another backend", "G525")
        .not_of_external(),

    // KAI, PodGroup of `scheduling.run.ai/v2alpha2`.
    contract("KAI-01", "Judged by shape: labels and annotations of the PodGang reach the PodGroup, foreign \
        ones are kept; every pod names a PodGroup and a leaf that exist, pods of one podgroup share a leaf \
        whose minMember is its minReplicas, all leaves of a PodGang hang below one node that needs them all, \
        a scaled gang's node is not needed by the base's (upstream's aggregate PodGroup per replica, KAI \
        #735, is as right as one per PodGang). KAI's admission webhook takes each (rules of 0.17.0)", "G525, GROVE"),
    contract("KAI-02", "PodGang and pods carry `kai.scheduler/skip-podgrouper: \"true\"`, so that the \
        podgrouper leaves them alone; the annotation survives later syncs", "G525"),
    contract("KAI-03", "Pods carry annotation `pod-group-name` and label `kai.scheduler/subgroup-name`",
        "GROVE"),
    contract("KAI-04", "Queue from `kai.scheduler/queue` (label, then annotation; PCS, then cliques); none, \
        or conflicting ones, rejected at admission; a change once a gang exists is rejected with the reason",
        "GROVE, OWN (change)"),
    contract("KAI-05", "What KAI manages after creation survives an update: queue, markUnschedulable, \
        schedulingBackoff, node-pool and queue labels", "GROVE"),
    contract("KAI-06", "Topology constraints at all three levels, required and preferred, land in the \
        PodGroup; Topology from ClusterTopologyBinding, recreated when levels change", "GROVE").needs_topology(),
    contract("KAI-08", "A constraint without a topology name fails clearly: event, no PodGroup, pods stay \
        gated", "G525").needs_topology(),
    contract("KAI-09", "Node pool from the label `kai.scheduler/node-pool` (PCS, then cliques), on the PodGroup and on \
        every pod; conflicting ones, and a change once a gang exists, are rejected at admission", "OWN"),
    scheduling("KAI-07", "With KAI's podgrouper running beside: no pod ever names a PodGroup that the \
        podgrouper made, and none of its making is left", "G525"),

    // kube-scheduler through `scheduling.k8s.io` of Kubernetes 1.36 and 1.37, profile `gangScheduling: true`.
    contract("KUBE-01", "1.36 flat: per PodGang a Workload of its name, and per podgroup a template of the \
        podgroup's name (cut and hashed where that is no DNS label of 63 characters, which the API demands) \
        and a PodGroup `<podgang>-<podgroup>` (cut and hashed beyond 253 characters) with \
        `podGroupTemplateRef` to it, gang `minCount` = minReplicas. (Here and in KUBE-08, 10, KOORD-01: \
        names may carry a generation's suffix where FreshGang is declared)", "G531").not_in_scope("Tree"),
    contract("KUBE-04", "Gang resources are never patched, nor deleted and recreated, to change the shape of \
        a live gang, on any API version, even where the API would let a field move", "G531"),
    contract("KUBE-05", "What the API cannot name or hold is refused at admission, never half-created: more \
        than 8 podgroups in a flat PodGang, names that no cut can make valid", "G531"),
    contract("KUBE-06", "The API's support is detected, not assumed: discovery for the API group (one \
        installed later is found without a restart), a dry-run create read back for fields that an API \
        server with the gate off silently drops. The scheduler's own gates cannot be seen from the API: they \
        are declared in the profile and the report says *declared* until AON-02 has shown them. Without \
        support, gang workloads are rejected with the missing API or gate named; they never run as loose \
        pods", "G531, OWN"),
    contract("KUBE-07", "1.36 topology key per PodGroup (TopologyAwareWorkloadScheduling; newer than the \
        flat proposal, which rejects all). Flat: a PCS constraint only where every PodGang has one podgroup; \
        a clique constraint only where the PCS has none; a group constraint never. `PodGang` scope: the PCS \
        constraint only. All else is rejected (ADM-09)", "OWN").of(TopologyRequired).not_in_scope("Tree"),
    scheduling("KUBE-08", "`gangScope: PodGang`: one PodGroup `<podgang>` holds exactly the hard gang (pods \
        of the lowest pod indexes of each clique; a replacement takes the lost pod's place), minCount = Σ \
        minReplicas. Surplus pods stay gated until the hard gang is bound, then are released as ordinary \
        pods, with node affinity to the gang's domain if it has one. No limit of 8", "OWN").of(AtomicPodGang).needs_topology()
        .not_in_scope("Tree"),
    contract("KUBE-09", "The mapping follows what is served: v1alpha2, or v1beta1 without CompositePodGroup: as \
        above (with `workloadRef`); with it the tree. The choice is logged, is in the report, and never changes \
        under a live PodGang", "G531"),
    contract("KUBE-10", "A Workload `<podgang>` with the template tree; a root CompositePodGroup `<podgang>`, \
        `minGroupCount` = number of its children; a child CompositePodGroup `<podgang>-<group config>` per \
        topology group config with members (its plain name would collide with a scaled PodGang's root); a \
        PodGroup `<podgang>-<podgroup>` per podgroup, minCount = minReplicas (template names are free, judged \
        by reference); pods stay gated until the tree for the PodGang's current generation stands. The tree \
        holds exactly the hard gang (pods of the lowest pod indexes of each clique; a replacement takes the lost \
        pod's place). Surplus pods are in no PodGroup: they stay gated until the hard gang is bound, then are \
        released as ordinary pods, with node affinity to the domain of each required level above them", "G531, OWN (surplus)")
        .of(CompositePodGroup),
    scheduling("KUBE-11", "AON-08, TOPO-01..07, 10 and 11 hold natively: atomic across cliques, constraints nest",
        "G531").of(CompositePodGroup)
        .restates(&[
            "AON-08", "TOPO-01", "TOPO-02", "TOPO-03", "TOPO-04", "TOPO-05", "TOPO-06", "TOPO-07", "TOPO-10",
            "TOPO-11",
        ]),
    contract("KUBE-12", "Over the limits (8 entries per list, depth 4), or minReplicas 0 at first (preferred \
        levels: ADM-09): refused at admission or, at the latest, failed closed before a pod is ungated; \
        never loose pods", "G531").of(CompositePodGroup),
    contract("KUBE-13", "`gangScheduling: false`: pods get the schedulerName, nothing else is created or set \
        (and the suite's AON-02 is red on it: a standing negative control)", "G531"),
    scheduling("KUBE-14", "A pod the scheduler sees before its PodGroup is retried when the PodGroup appears",
        "G531"),
    contract("KUBE-15", "Escape hatch: a clique template that pre-sets `spec.schedulingGroup` keeps it, the \
        PodGang is labelled `grove.io/external-workload-managed=true`, and nothing is created for it; \
        pre-set without gangScheduling is rejected", "G531"),

    // Volcano from 1.14 on, PodGroup of `scheduling.volcano.sh/v1beta1`.
    contract("VOL-01", "One PodGroup per PodGang: minMember Σ, one subGroupPolicy per podgroup (a selector \
        that takes exactly the podgroup's pods, subGroupSize, minSubGroups 1); Volcano's own fields survive \
        (`job-allocated-hypernode` ends with the generation, TERM-18)", "GROVE"),
    contract("VOL-02", "Pods carry both group-name annotations", "GROVE"),
    contract("VOL-03", "Queue annotation on PCS and cliques resolves to one queue that exists and is Open; \
        one set only on cliques reaches the PodGroup (upstream loses it); a change once a gang exists is \
        rejected with the reason", "GROVE, OWN"),
    contract("VOL-05", "A ClusterTopologyBinding becomes HyperNodes; required constraints become \
        `networkTopology` hard at PodGang and podgroup level; what two levels cannot express is rejected \
        (upstream rejects every constraint)", "OWN").of(TopologyRequired),

    // Koordinator, PodGroup of `scheduling.sigs.k8s.io/v1alpha1`.
    contract("KOORD-01", "Per podgroup one PodGroup `<podgang>-<podgroup>`: label `grove.io/podgang`, \
        minMember = minReplicas, scheduleTimeoutSeconds (30), priorityClassName, annotations `mode` \
        (Strict), `match-policy` (once-satisfied, or what TERM-07 needs: the backend says which and why), \
        `total-number` = podReferences when not below minReplicas. Longer than 63 characters (a label's \
        limit, and common: `<podgroup>` repeats the PCS name) the name is cut and ends in a hash, the same \
        everywhere. All of a PodGang are joined by `gang.scheduling.koordinator.sh/groups`, listing each as \
        `namespace/name`", "G537, OWN (cut)"),
    contract("KOORD-02", "Pods carry `schedulerName`, membership by label `pod-group.scheduling.sigs.k8s.io` or \
        annotation `gang.scheduling.koordinator.sh/name`, and `koordinator.sh/qosClass` when \
        `defaultQoSClass` is set", "G537"),
    contract("KOORD-03", "PodGang `packConstraint.required` becomes `network-topology-spec` with one \
        MustGather rule; hostname, rack and block keys map to hostLayer, rackLayer, blockLayer exactly, \
        `topologyKeyMappings` adds keys for those three; any other required key fails closed at reconcile \
        (event, no PodGroup, gated), an unknown preferred key is skipped with an event. A layer that the \
        cluster's ClusterNetworkTopology does not declare fails closed too (Koordinator would leave the gang \
        pending for ever)", "G537, OWN (layer check)").of(TopologyRequired),
    contract("KOORD-04", "Rejected at admission, with the reason: MNNVL (`grove.io/auto-mnnvl: enabled`, or \
        today's `grove.io/mnnvl-group` other than `none`), a topology constraint on a scaling group; and one \
        on a clique where a PodGang has more than one podgroup (Koordinator honours one spec per GangGroup)",
        "G537, OWN (clique)"),
    contract("KOORD-05", "A PodGang that nevertheless carries `topologyConstraintGroupConfigs` fails closed \
        at reconcile: event, no PodGroup, pods stay gated", "G537"),
    contract("KOORD-06", "Profile config (`gangMode`, `matchPolicy`, `scheduleTimeoutSeconds`, \
        `defaultQoSClass`, `topologyKeyMappings`): each value reaches the resources; an invalid one stops \
        the start with its path", "G537"),
    contract("KOORD-07", "The `groups` annotation stays a complete, identical list on every member when the \
        PodGang changes; create and update before prune (except between two generations of a recycled gang, \
        TERM-07); a PodGroup of another controller is never overwritten; foreign metadata is kept", "G537"),

    // Profiles of type External: any scheduler that reads PodGangs itself.
    contract("EXT-01", "Pods get the profile's name as schedulerName and Grove's gate and labels; the \
        backend creates nothing", "G787"),
    contract("EXT-02", "Required topology is rejected unless `topologyConstraints: true` is declared; \
        preferred is admitted with a warning; unknown config fields, a name that shadows a built-in one, \
        duplicates stop the start with their path", "G787")
        // What admission makes of a profile is shown where the harness writes the profile: `run --backend external`.
        .not_of_external(),
    scheduling("EXT-03", "What the profile declares is judged on the scheduler (`run --backend \
        external:NAME`): AON and TOPO by the declared features, so a declaration becomes evidence",
        "OWN").of(External).rests_on("AON"),

    // What only real kubelets show (kind).
    scheduling("KLT-01", "Containers of a bound gang run; PodClique, scaling group and PCS status follow",
        "OWN").of(Kubelet),
    scheduling("KLT-02", "Each fake GPU is allocated to at most one container; Σ allocated = Σ requested",
        "BRIEF").of(Kubelet),
    scheduling("KLT-03", "GPUs turn unhealthy: allocatable shrinks, no new unit uses them, running pods stay",
        "OWN").of(Kubelet),
    scheduling("KLT-04", "A kubelet restarts: the plugin registers again, capacity returns, the gang is \
        untouched", "OWN").of(Kubelet),
    scheduling("KLT-05", "A node goes NotReady (with short grace and toleration): its pods are replaced and \
        join the same gang", "OWN").of(Kubelet),
    scheduling("KLT-06", "One clique's image cannot be pulled: the gang is bound whole, and status tells \
        which clique is not ready and why", "OWN").of(Kubelet),
    scheduling("KLT-07", "The controller's Deployment is rolled while gangs are pending and scaling: one \
        leader at a time, end state as without it", "OWN").of(Kubelet),

    // An operator takes the place of an earlier release (`run --upgrade-from`). Both are the harness's to start, so an
    // external scheduler, which is judged on its user's cluster, is not asked.
    scheduling("MIG-01", "No bound pod is restarted, moved or deleted by the upgrade; PodCliqueSets that ran \
        run on, at every resourceVersion", "GROVE (its upgrade tests), OWN").not_of_external(),
    contract("MIG-02", "Membership fields, labels and gates change only to gang resources and PodGangs that \
        exist at that moment; a gate stays until they do; objects of the old scheme are gone in the end, and \
        none is left without an owner", "OWN").not_of_external().across_kinds(),
    scheduling("MIG-03", "A gang that is pending throughout stays all-or-nothing: AON-02 up to the end of the \
        upgrade, AON-03 after it", "OWN").not_of_external(),
    scheduling("MIG-04", "Afterwards the PodCliqueSets scale out and in (from zero too), replace a lost pod, \
        and are deleted, as new ones do", "OWN, #808").not_of_external(),
    contract("MIG-05", "The new operator is stopped in the middle, at any of its writes: the end is the same; \
        conditions that speak of a migration come and go", "OWN").not_of_external().across_kinds(),

    // TrainJobs of the Kubeflow Trainer (`run --trainjob`). The unit of a TrainJob is all pods of all its replicated Jobs where
    // AtomicTrainJob is declared, else those of one replicated Job.
    contract("TRN-01", "A policy `kaiScheduler{queue}` puts label `kai.scheduler/queue` on every pod of every \
        replicatedJob; an empty or absent queue, or no `kaiScheduler`, puts none; other labels stay; \
        schedulerName stays what the runtime's template says. Nothing but the label: no gang resource is \
        written by trainer or plugin, ever, and the policy has no timeout field", "T3186").of(QueueLabel),
    scheduling("TRN-02", "Pod, Job, JobSet, TrainJob: exactly one PodGroup per TrainJob, \
        `pg-<trainjob>-<JobSet uid>`, owned by the JobSet; minSubGroup = number of replicatedJobs, per \
        replicatedJob a subgroup (minSubGroup = replicas) with a leaf per replica (minMember = \
        parallelism); each pod names PodGroup and leaf. It is not bound before it does", "T3186, KPG")
        .of(QueueLabel),
    scheduling("TRN-03", "AON-01, 02, 03 and 04 for the unit: whole where it fits; one pod short never a pod \
        bound, and the pods say why; the missing node comes: whole; two TrainJobs and room for one: one \
        whole, the other not at all", "BRIEF").of(TrainJob),
    scheduling("TRN-04", "Two replicatedJobs, the first fits and the second does not: nothing is ever bound",
        "OWN").of(AtomicTrainJob),
    scheduling("TRN-05", "Required level for the TrainJob: all in one domain; fits the cluster but no domain: nothing \
        ever; without the constraint on the same nodes: bound. With TopologyPerJob each replicatedJob in a domain \
        of its own", "KPG, TRAINER").of(TopologyRequired).also_shows(TopologyPerJob),
    contract("TRN-06", "The queue that counts: TrainJob's label, else the policy's, else KAI's default queue; a \
        change under a live PodGroup changes nothing", "KPG, T3186").of(QueueLabel),
    contract("TRN-07", "Refused with the reason: a queue that is no label value; `kaiScheduler` beside another \
        policy; JobSet's exclusive-topology annotation. Admitted with a warning: a replicatedJob that is \
        not on kai-scheduler; `dependsOn`. A refused object leaves nothing behind; TrainJobs and runtimes \
        without `kaiScheduler` pass unchanged", "OWN").of(QueueLabel),
    contract("TRN-08", "Deleted TrainJob: JobSet, Jobs, pods, Service, ConfigMap, gang resources (KAI: \
        BindRequests too) are gone, nothing hangs on a finalizer, the runtime can be deleted; a TrainJob of \
        the same name right after is as the first", "BRIEF").of(TrainJob),
    scheduling("TRN-09", "Deleted while pending: nothing is bound afterwards. Deleted while bound: a waiting \
        TrainJob gets its room, whole", "BRIEF, OWN").of(TrainJob),
    contract("TRN-10", "Trainer, JobSet controller and plugin do all of this under the roles of their own \
        manifests; no request of theirs is refused", "OWN").of(TrainJob),
    scheduling("TRN-11", "A lost pod is replaced, joins the same gang and is bound; the others keep UID and \
        node", "OWN").of(TrainJob),
    scheduling("TRN-12", "Suspended: no pod left, nothing bound. Resumed: whole or not at all, as TRN-03, and \
        never two gangs of one TrainJob", "TRAINER, OWN").of(TrainJob),
    scheduling("TRN-13", "Initializers: with a replicatedJob that another waits for (`dependsOn: Complete`) \
        the first is bound without pods that do not exist yet; when it has succeeded, the trainer's pods \
        are bound whole or not at all; a running initializer is not evicted", "TRAINER").of(TrainJob),
    contract("TRN-14", "Trainer's own gang resource (Volcano, coscheduling): PodGroup `<trainjob>`, \
        controller-owned by the TrainJob, minMember = pods of all replicatedJobs, minResources their sum, \
        queue, timeout, networkTopology from runtime or patch; pods join by annotation or label", "TRAINER")
        .of(TrainJob),
    contract("TRN-15", "Per Job one Workload and PodGroup, minCount = parallelism, owned by the Job, gone with \
        it; every pod has `schedulingGroup` from its creation", "K5547").of(JobWorkload),
    scheduling("TRN-16", "Trainer, JobSet controller, plugin, podgrouper and scheduler each killed once while a \
        TrainJob is pending and while it is half created: end state and unit as without it", "OWN")
        .of(TrainJob),
    // Gang scheduling as the AI conformance programme demands it (`run --profile ai-conformance`): the harness makes plain pods
    // and the scheduler's own gang resource, and no operator is there.
    scheduling("AIC-01", "A gang of plain pods that fits is bound whole, and all its pods become Ready", "KAR53"),
    scheduling("AIC-02", "One pod short of its room, none of a gang's pods is ever bound; the room comes: it is bound \
        whole, and all its pods become Ready", "KAR53"),
    scheduling("AIC-03", "Two gangs and room for one: one is bound whole and becomes Ready, of the other no pod is \
        ever bound; the first is deleted: its pods are gone, and the other has its room, whole", "KAR53, OWN"),
    // Status.
    contract("STAT-01", "PodClique: replicas, scheduled, ready, gated, updated = counts over pods that do not \
        terminate; ready ≤ scheduled ≤ replicas, gated + scheduled ≤ replicas", "GROVE, OWN (terminating)"),
    scheduling("STAT-02", "scheduledReplicas and PodCliqueScheduled follow `spec.nodeName` within 5 s, without any \
        container having started", "OWN"),
    contract("STAT-03", "Group: scheduled = replicas with every member held now; available = of these, every member \
        ready ≥ its m; updated = of these, every member current; indices ≥ R count nowhere", "GROVE"),
    contract("STAT-04", "PCS: available = replicas with every standalone clique ready ≥ m and every group available \
        ≥ M; updated = of these, all current", "GROVE"),
    scheduling("STAT-05", "Convergence: at every rest all status is the function of the objects that 01-04 say, \
        whatever writes were lost, doubled or in conflict on the way (harness answers the n-th status write with a \
        conflict, a timeout after commit)", "#775, #747"),
    contract("STAT-06", "observedGeneration never runs ahead of what was done, and reaches generation at rest, also \
        while pods wait for room", "GROVE, OWN").across_kinds(),
    scheduling("STAT-07", "PodGang: `Scheduled` True once every podgroup has minReplicas bound (of the current \
        generation), `Ready` likewise by readiness, both back to False on loss; `Unhealthy` from a breach; phase is \
        not left at Pending", "#763, OWN").of(PodGangStatus),
    contract("STAT-08", "lastTransitionTime moves with status only; a condition is not rewritten with another text \
        for the same fact more than once per 5 s; no write loops while anything waits (pending gang, stuck update, \
        running clock)", "#692, OWN"),
    scheduling("STAT-09", "A gang that waits says why within 5 s, on its PodGang or PCS: gate (which base, or which pod \
        and which gate of somebody else), queue, no room (the scheduler's words, within 15 s those about a pod that lacks \
        something before those about one that waits for its gang), missing resource; the reason goes when it is over",
        "#729, OWN"),
    contract("STAT-10", "A failing backend write is an event and a condition with the cause, retried with growing \
        pauses, and gone after success", "GROVE, OWN").not_of_external(),
    scheduling("STAT-11", "/metrics: gangs by state, recycles, updates, time to bound; numbers agree with the history",
        "G498").of(Metrics),

    // Gang termination.
    contract("TERM-01", "Arithmetic of `MinAvailableBreached`: scheduled < m → \
        True/ScheduledReplicasBelowMinAvailable; else healthy < m → True/InsufficientReadyPods; else False. Group: \
        ok replicas < M → True. A replica without observed members is not ok, and not a reason to call the group \
        healthy. Terminating pods count nowhere", "GROVE, OWN (terminating and unobserved)"),
    scheduling("TERM-02", "A breach of a PCS replica lasts D: then every pod of that replica, base and scaled, is \
        replaced. First deletion in [since + D − 1 s, since + D + 10 s] (API times have whole seconds); before it \
        nobody deletes any of its pods", "GROVE GT1-3, G787"),
    scheduling("TERM-03", "Healed in time: healthy ≥ m before D → nothing is deleted, and a later breach gets a \
        whole new D. One of r > m lost: nothing, however long", "GROVE GT3 and GT6"),
    scheduling("TERM-04", "Group replica breached and the group is not: that replica alone is replaced. R − \
        breached < M: the PCS replica is. One loss leads to one recycle: no pod that a recycle made is deleted \
        again for the same loss, whatever mix of lost and never bound replicas there is", "GROVE GT4 and GT5, OWN"),
    scheduling("TERM-05", "Never held, never recycled: pending for 3·D (no room, closed queue, unready backend), \
        with slow first status (harness delays status writes 6 s) and a controller restart: pod UIDs unchanged; \
        room comes: those pods are bound", "GROVE, #789"),
    scheduling("TERM-06", "The new generation finds no room: it waits and is not recycled again (3·D); room comes: \
        bound whole; a next breach is recycled after D (the guard is armed again)", "GROVE, #798"),
    scheduling("TERM-07", "The new generation is a gang like the first: one pod short → none of it is ever bound; \
        room → whole, in the backend's units; gates open only after PodGang and gang resources speak of it, and \
        after the last pod of the old generation is gone or no longer counts with the scheduler", "BRIEF, LIFE").across_kinds(),
    scheduling("TERM-08", "As TERM-07 while an old pod hangs in termination (harness finalizer; lost node): with \
        room, the new generation is bound whole beside it; without, not at all", "#401, OWN").of(FreshGang),
    scheduling("TERM-09", "Freed room is fought for: a waiting gang that fits may win it; then the recycled one \
        waits whole. At no time two gangs hold halves", "OWN"),
    scheduling("TERM-10", "After a recycle of the PCS replica no pod of a scaled gang is bound before generation 2 \
        of the base has its minimum bound; scaled gangs of generation 1 do not survive", "GROVE, OWN"),
    contract("TERM-11", "Readiness counts: bound but crash-looping or unready below m for D → recycle; \
        ContainerCreating, image pull, a waiting grove-initc → never", "GROVE, OWN"),
    scheduling("TERM-12", "Kept over a recycle: live replicas of cliques and groups, PodGang names, Services, HPAs, \
        claims of PCS and groups, other PCS replicas and their resourceVersions", "GROVE, #826"),
    scheduling("TERM-13", "An update suspends the clock of what is in its turn only, not of other replicas; \
        afterwards a whole D. An update that makes no progress for D while breached is no shelter: the recycle \
        comes, with the new template", "GROVE, OWN (no shelter)"),
    scheduling("TERM-14", "The controller is killed at any write of a recycle, and for D/2 in the middle of a \
        clock: each pod of the scope is replaced at least once and at most twice; the clock keeps its start; \
        nothing is left half deleted", "GROVE (one extra), OWN"),
    contract("TERM-15", "D changed while a clock runs counts for it; scale-in or deletion of the scope while a \
        clock runs: no recycle, nothing left; a standalone PodClique deleted by hand comes back with its live \
        replicas and no recycle of its neighbours", "OWN"),
    scheduling("TERM-16", "A group replica of the base gang recycled alone comes back whole or not at all (Σ its \
        minimums), since the gang is below its minimum without it", "OWN").of(AtomicPodGang),
    scheduling("TERM-17", "On a backend without AtomicPodGang: a gang with a bound podgroup and one never bound for \
        D gives its capacity back, after a whole D each time, so that two half gangs do not hold each other for ever",
        "OWN").of(HalfGangRelease),
    scheduling("TERM-18", "The new generation may take another domain, and must where the old one no longer holds \
        it; all of it in one domain", "OWN").of(TopologyRequired),
    scheduling("TERM-19", "Told: one Normal event per recycle with index and cause, AllScheduledReplicasLost where \
        true, `GangTerminationInProgress` True from the recycle until the scope is healthy and not before, PCS \
        availableReplicas one less meanwhile", "GROVE"),
    scheduling("TERM-20", "A recycled scope that shares a ResourceClaim is not tied to devices of a lost node: the \
        claim is free once the last old pod is gone, then the gang is bound elsewhere", "OWN").of(Claims),

    scheduling("TERM-21", "Some pods of a gang are bound, and one waits for a volume after its scheduler has chosen a node. \
        On every backend: after D, and after a whole D each time, all pods of the gang are recycled; if the volume is \
        created within D, none is. Meanwhile STAT-09 applies: pod and claim within 15 s", "OWN").of(StuckGangRelease),

    // Startup order.
    contract("START-01", "AnyOrder: pods untouched. InOrder, Explicit: pods of a clique with parents end their init \
        containers with `grove-initc`, one `--podcliques=<fqn>:<m of the parent>` per parent; the user's own \
        containers, order, service account untouched; order changes no hash: an upgraded image reaches new pods \
        only", "GROVE").of(StartupOrder),
    contract("START-02", "Parents. InOrder: the clique before it. Base gang: a group parent stands for its replicas \
        0…M−1. Scaled replica: its own replica's member, none outside the group. Names that are prefix or suffix of \
        others resolve exactly", "GROVE, OWN (names)").of(StartupOrder),
    contract("START-03", "Least rights: get, list, watch on pods in the namespace; token in grove-initc only; Role, \
        binding, Secret gone with the PCS", "GROVE, OWN").of(StartupOrder),
    scheduling("START-04", "No main container of a child starts before an instant at which every parent had its m \
        pods Ready at once; judged by order of watch events, not by second stamps", "GROVE SO1-4, #323").of(StartupOrder),
    scheduling("START-05", "Order holds containers, never scheduling: the hard gang is bound whole before any \
        container starts, with room for exactly it", "GROVE").of(StartupOrder),
    scheduling("START-06", "Only live pods of the own generation count: prefix namesakes, terminating parents, \
        another PCS replica's parents do not", "OWN").of(StartupOrder),
    scheduling("START-07", "Recycle and replacement: order holds again for the new generation; a single replaced \
        child starts when its parents have m Ready, at once if they have", "OWN").of(StartupOrder),
    scheduling("START-08", "No standstill with updates: an update of parent and child ends; a child's turn does not \
        begin while a parent stands below its m; a child waiting in grove-initc is not healthy forever: the \
        parent's breach is what recycles", "OWN").of(StartupOrder),
    contract("START-09", "A child held back by order is told from a broken one: its PodClique names the parents and \
        how many of them are Ready of how many, within 5 s, and no longer than it is so", "OWN").of(StartupOrder),

    // Updates.
    contract("UPD-01", "An update starts when a clique template's labels, annotations, podSpec or priorityClassName \
        change in meaning, and for nothing else: not replicas, scale configs, D, PCS metadata, order of map keys, \
        API defaulting, controller restart or upgrade", "GROVE, #709"),
    scheduling("UPD-02", "It ends: every pod has the new template; updateEndedAt, hashes and updatedReplicas = \
        replicas say so; and not before: at the event of updateEndedAt no live pod is old and every clique has ≥ \
        min(m, r) Ready", "GROVE RU7-9, #786").across_kinds(),
    scheduling("UPD-03", "One PCS replica at a time, ascending after those without bound pods and the breached: the \
        updater deletes in replica b only when no earlier one has a pod missing, old or unready", "GROVE").across_kinds(),
    scheduling("UPD-04", "One turn at a time per clique and group: the updater takes a Ready pod only if ≥ floor \
        stay Ready, an available group replica only if ≥ floor stay available; terminating ones are not Ready. Old \
        pods that are not Ready may go at once; a Ready pod is Ready whatever its past restarts", "GROVE, #697, #740"),
    scheduling("UPD-05", "Without room elsewhere it proceeds in place (delete first), r = m, cluster exactly full",
        "GROVE RU10"),
    scheduling("UPD-06", "A waiting gang may take the freed place, only whole; then the update waits, nothing else \
        is taken down, nobody is evicted; room comes: it ends", "OWN"),
    contract("UPD-07", "PodGangs, podgroups' minReplicas and gang resources keep UID and shape through an update; \
        each write of podReferences adds only pods that exist, and a gone pod's name is gone within 5 s",
        "GROVE, G531, G537").across_kinds(),
    scheduling("UPD-08", "A replacement is ungated only when its PodGang names it and its gang resource exists; it \
        carries the same membership fields and is bound as a member; the others keep UID and node", "OWN").across_kinds(),
    scheduling("UPD-09", "A scaled gang's turn: the new replica is again all-or-nothing and waits for nobody but \
        its base, which is bound", "OWN"),
    scheduling("UPD-10", "Second change mid-way: all end on the last; no pod with the middle template is made after \
        the last was accepted (+ 5 s); still one PCS replica at a time", "#400, #565"),
    scheduling("UPD-11", "Back to the first template mid-way: pods still on it are not touched", "OWN"),
    scheduling("UPD-12", "A broken update (unready image, impossible request) stops after its first turn per clique \
        and group; the rest keeps running; the next change repairs it without hands", "GROVE, #840"),
    scheduling("UPD-13", "Scaling in an update, before or in it, PCS, group or clique, in or out: ends; no pod is \
        made twice, none is left over; new ones have the new template; final counts exact", "GROVE RU11-21"),
    contract("UPD-14", "Scale-in while lower replicas are missing (turn or recycle): exactly indices ≥ R go, at \
        once and for good", "OWN"),
    scheduling("UPD-15", "A pod lost where the turn has not come is replaced once, is counted by its true template, \
        and is not replaced again if it is already new", "OWN"),
    scheduling("UPD-16", "A pod lost where the turn has not come is replaced with the old template, so that a PCS \
        replica never mixes versions before its turn", "OWN").of(RevisionedRestore),
    scheduling("UPD-17", "The controller is killed at any write of an update; deletion, namespace deletion, PCS \
        scale-in of the replica in turn: ends right, no turn is taken twice", "OWN"),
    contract("UPD-18", "Progress is true at every event: updatedReplicas ≤ live new pods (replicas), completed and \
        current name pods or indices that had their turn, counts never fall within one update but by loss",
        "GROVE, #785").across_kinds(),
    scheduling("UPD-19", "A replacement stays in the gang's domain; without room there it waits, and TERM-13 decides",
        "OWN").of(TopologyRequired),
    contract("UPD-20", "A change that the gang resource cannot follow (priorityClassName on immutable PodGroups, \
        queue) is refused with the field's name; where it can follow it does", "OWN"),
    scheduling("UPD-21", "OnDelete: the controller deletes nothing; updateEndedAt at once; whatever is made later, \
        for any reason (hand, eviction, recycle, scale-out, lost node), is new", "GROVE OD1-2 and OD4-7"),
    scheduling("UPD-22", "OnDelete: a pod deleted by hand comes back as a member of its running gang, nobody else \
        moves; all pods of a gang deleted at once come back all-or-nothing", "GROVE OD8, OWN"),
    contract("UPD-23", "OnDelete: scale-in of a clique prefers, among equals, old pods; updatedReplicas counts",
        "GROVE OD3"),
    scheduling("UPD-24", "Strategy changed: to RollingRecreate with old pods left → they are rolled; to OnDelete \
        mid-way → the turn in hand ends, no other begins, updateEndedAt", "OWN"),
    scheduling("UPD-25", "The controller's Deployment is rolled to another build in the middle of an update and of \
        a clock: no pod is rolled for it, the update ends", "GROVE upgrade test, #709").of(Kubelet),

    // Autoscaling, and `/scale`.
    contract("AUTO-01", "One HPA (autoscaling/v2) per PCS replica for each clique and group with a scale \
        configuration: named after its target, min, max, metrics as given (min default: template replicas); gone \
        with target or replica; an HPA of another owner is not taken over", "GROVE, OWN (foreign)").of(Autoscaling),
    contract("AUTO-02", "/scale works on PCS, groups and standalone cliques: spec and status replicas, and a \
        selector that selects the target's live pods and no others", "GROVE, #591, #744"),
    scheduling("AUTO-03", "A clique scaled out adds surplus: running pods, minReplicas and gang resources' minimum \
        untouched; without room the new ones wait and disturb nobody", "GROVE"),
    scheduling("AUTO-04", "A group scaled 1 → 5 in one step with room for two: exactly whole replicas bound, the \
        others not at all; each its own gang", "GROVE GS6-8"),
    contract("AUTO-05", "0 < r < m and 0 < R < M: refused on every path, /scale included, or accepted with status \
        saying breached and the rest running on; 0 likewise unless ScaleToZero is declared. That it is refused is \
        judged apart, as OWN", "OWN, #676, G677"),
    scheduling("AUTO-06", "0 = idle: the clique leaves the gang, the others run on and stay a gang; back to m: \
        admitted as a whole", "G677, #809").of(ScaleToZero),
    scheduling("AUTO-07", "Scale-in takes, in order: gated or unbound, not Ready, old template, newest; groups the \
        highest indices; with r ≥ m the hard gang is never touched", "GROVE, OWN"),
    contract("AUTO-08", "Five changes within a second, out and in: end state of the last; no gang, pod or claim \
        left over; no pod bound for an index that was gone before it was made", "#565"),
    scheduling("AUTO-09", "Out while the base waits, during a clock, during an update: gangs as AON-06, TERM-12, \
        UPD-13 say; an HPA's last value is not lost", "OWN"),
    contract("AUTO-10", "Template replicas of a live PCS changed: live objects keep theirs, and the admission \
        warning says so; new PCS replicas get the new number", "GROVE, OWN (warning)"),
];
