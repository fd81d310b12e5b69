//! Gang scheduling as the Kubernetes AI conformance programme requires it of a platform: plain pods in the
//! scheduler's own gang resource, without an operator. These targets have their own control planes, and are
//! tested only with `run --profile ai-conformance`.

use crate::clauses::Workload;
use crate::scheduler::Scheduler;
use crate::target::{Column, ReportedVersion, Target};

impl Target {
    /// Plain pods on kube-scheduler.
    pub const AI_CONFORMANCE_KUBE: Self = Self::of(&KUBE);
    /// Plain pods on Volcano.
    pub const AI_CONFORMANCE_VOLCANO: Self = Self::of(&VOLCANO);
    /// Plain pods on Koordinator.
    pub const AI_CONFORMANCE_KOORDINATOR: Self = Self::of(&KOORDINATOR);
    /// Plain pods on KAI.
    pub const AI_CONFORMANCE_KAI: Self = Self::of(&KAI);
}

/// Every target, in the order of the report.
pub const TARGETS: [Target; 4] = [
    Target::AI_CONFORMANCE_KUBE,
    Target::AI_CONFORMANCE_VOLCANO,
    Target::AI_CONFORMANCE_KOORDINATOR,
    Target::AI_CONFORMANCE_KAI,
];

const fn column(id: &'static str, scheduler: Scheduler, program: &'static str) -> Column {
    Column {
        id,
        scheduler,
        backend: scheduler.name(),
        name: id,
        scope: None,
        trees: None,
        features: &[],
        why_not: &[],
        gates: &[],
        version: ReportedVersion::OfProgram(program),
        external: None,
        workload: Workload::PlainPods,
    }
}

static KUBE: Column = column("ai-conformance-kube", Scheduler::KUBE, "kube-scheduler");
static VOLCANO: Column = column("ai-conformance-volcano", Scheduler::named("volcano"), "vc-scheduler");
static KOORDINATOR: Column =
    column("ai-conformance-koordinator", Scheduler::named("koord-scheduler"), "koord-scheduler");
static KAI: Column = column("ai-conformance-kai", Scheduler::named("kai-scheduler"), "kai-scheduler");
