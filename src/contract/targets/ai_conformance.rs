//! Plain pods with the scheduler's gang resource, as the Kubernetes AI conformance program requires.

use crate::clauses::Workload;
use crate::kinds::{Kind, kind};
use crate::scheduler::Scheduler;
use crate::target::{Target, TargetDescription};

#[allow(missing_docs, reason = "each target is named after its scheduler")]
impl Target {
    pub const AI_CONFORMANCE_KUBE: Self = Self::of(&KUBE);
    pub const AI_CONFORMANCE_VOLCANO: Self = Self::of(&VOLCANO);
    pub const AI_CONFORMANCE_KOORDINATOR: Self = Self::of(&KOORDINATOR);
    pub const AI_CONFORMANCE_KAI: Self = Self::of(&KAI);
    /// Plain pods on kube-scheduler, admitted by Kueue. This is the only target of Kueue.
    pub const AI_CONFORMANCE_KUEUE: Self = Self::of(&KUEUE);
}

impl Scheduler {
    /// Kueue, which admits gangs. kube-scheduler binds their pods, so no pod has this `schedulerName`.
    pub const KUEUE: Self = Self::named("kueue");
}

/// The kinds that only histories of plain pods contain.
pub static KINDS: [Kind; 2] = [
    kind("kueue.x-k8s.io/v1beta2", "LocalQueue", "localqueues").of_scheduler(Scheduler::KUEUE),
    kind("kueue.x-k8s.io/v1beta2", "Workload.kueue.x-k8s.io", "workloads").of_scheduler(Scheduler::KUEUE),
];

/// All targets, in the order of the report.
pub const TARGETS: [Target; 5] = [
    Target::AI_CONFORMANCE_KUBE,
    Target::AI_CONFORMANCE_VOLCANO,
    Target::AI_CONFORMANCE_KOORDINATOR,
    Target::AI_CONFORMANCE_KAI,
    Target::AI_CONFORMANCE_KUEUE,
];

const fn described(id: &'static str, scheduler: Scheduler, program: &'static str) -> TargetDescription {
    TargetDescription::new(id, scheduler, program, Workload::PlainPods)
}

static KUBE: TargetDescription = described("ai-conformance-kube", Scheduler::KUBE, "kube-scheduler");
static VOLCANO: TargetDescription = described("ai-conformance-volcano", Scheduler::VOLCANO, "vc-scheduler");
static KOORDINATOR: TargetDescription =
    described("ai-conformance-koordinator", Scheduler::KOORDINATOR, "koord-scheduler");
static KAI: TargetDescription = described("ai-conformance-kai", Scheduler::KAI, "kai-scheduler");
static KUEUE: TargetDescription = described("ai-conformance-kueue", Scheduler::KUEUE, "kueue");
