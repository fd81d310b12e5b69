//! Plain pods in the scheduler's own gang resource, as the Kubernetes AI conformance programme requires.

use crate::clauses::Workload;
use crate::scheduler::Scheduler;
use crate::target::{ReportedVersion, Target, TargetDescription};

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

const fn described(id: &'static str, scheduler: Scheduler, program: &'static str) -> TargetDescription {
    TargetDescription {
        id,
        scheduler,
        backend: scheduler.name(),
        name: id,
        scope: None,
        trees: None,
        features: &[],
        why_not: &[],
        properties: &[],
        gates: &[],
        version: ReportedVersion::OfProgram(program),
        external: None,
        workload: Workload::PlainPods,
    }
}

static KUBE: TargetDescription = described("ai-conformance-kube", Scheduler::KUBE, "kube-scheduler");
static VOLCANO: TargetDescription = described("ai-conformance-volcano", Scheduler::VOLCANO, "vc-scheduler");
static KOORDINATOR: TargetDescription =
    described("ai-conformance-koordinator", Scheduler::KOORDINATOR, "koord-scheduler");
static KAI: TargetDescription = described("ai-conformance-kai", Scheduler::KAI, "kai-scheduler");
