//! TrainJobs of the Kubeflow Trainer, on four schedulers.

use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::scheduler::Scheduler;
use crate::target::{Target, TargetDescription};

impl Target {
    /// TrainJobs on kube-scheduler: the Job controller creates the gangs.
    pub const TRAINJOB_KUBE: Self = Self::of(&KUBE);
    /// TrainJobs on Volcano: the trainer creates the gang.
    pub const TRAINJOB_VOLCANO: Self = Self::of(&VOLCANO);
    /// TrainJobs on scheduler-plugins: the trainer creates the gang. This is the scheduler's only target.
    pub const COSCHEDULING: Self = Self::of(&COSCHEDULING);
    /// TrainJobs on KAI: its podgrouper creates the gang.
    pub const TRAINJOB_KAI: Self = Self::of(&KAI);
}

/// All targets, in the order of the report.
pub const TARGETS: [Target; 4] =
    [Target::TRAINJOB_KUBE, Target::TRAINJOB_VOLCANO, Target::COSCHEDULING, Target::TRAINJOB_KAI];

const SCHEDULER_PLUGINS: Scheduler = Scheduler::named("scheduler-plugins-scheduler");

/// The kinds that only histories of TrainJobs contain.
pub static KINDS: [Kind; 6] = [
    kind("trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs"),
    kind("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", "trainingruntimes"),
    kind("jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets"),
    kind("batch/v1", "Job", "jobs"),
    kind("v1", "ConfigMap", "configmaps"),
    kind("scheduling.x-k8s.io/v1alpha1", "PodGroup.scheduling.x-k8s.io", "podgroups")
        .of_scheduler(SCHEDULER_PLUGINS),
];

const NO_TOPOLOGY_IN_COSCHEDULING: &str = "the PodGroup of scheduler-plugins has no topology constraint";

static KUBE: TargetDescription = TargetDescription {
    // With CompositePodGroup, Kubernetes 1.37 expects the parent of a JobSet's Jobs to create the Workload,
    // and no trainer creates one yet.
    trees: Some(false),
    features: &[Feature::TrainJob, Feature::JobWorkload],
    why_not: &[
        (Feature::AtomicTrainJob, "the Job controller creates one gang per Job, and none spans several Jobs"),
        (Feature::TopologyRequired, "the Workload of a Job has no topology constraint"),
        (Feature::TopologyPerJob, "the Workload of a Job has no topology constraint"),
    ],
    ..TargetDescription::new("trainjob-kube", Scheduler::KUBE, "kube-scheduler", Workload::TrainJobs)
};

static VOLCANO: TargetDescription = TargetDescription {
    features: &[Feature::TrainJob, Feature::AtomicTrainJob, Feature::TopologyRequired],
    why_not: &[(
        Feature::TopologyPerJob,
        "the trainer's PodGroup has one networkTopology for all replicated Jobs together",
    )],
    ..TargetDescription::new("trainjob-volcano", Scheduler::VOLCANO, "vc-scheduler", Workload::TrainJobs)
};

static COSCHEDULING: TargetDescription = TargetDescription {
    features: &[Feature::TrainJob, Feature::AtomicTrainJob],
    why_not: &[
        (Feature::TopologyRequired, NO_TOPOLOGY_IN_COSCHEDULING),
        (Feature::TopologyPerJob, NO_TOPOLOGY_IN_COSCHEDULING),
    ],
    ..TargetDescription::new(
        "trainjob-coscheduling",
        SCHEDULER_PLUGINS,
        "scheduler-plugins-scheduler",
        Workload::TrainJobs,
    )
};

static KAI: TargetDescription = TargetDescription {
    features: &[
        Feature::TrainJob,
        Feature::AtomicTrainJob,
        Feature::TopologyRequired,
        Feature::TopologyPerJob,
        Feature::QueueLabel,
    ],
    ..TargetDescription::new("trainjob-kai", Scheduler::KAI, "kai-scheduler", Workload::TrainJobs)
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_declared_feature_has_a_clause_that_the_target_must_satisfy() {
        for target in TARGETS {
            for feature in target.features() {
                assert!(feature.shown_by().any(|clause| target.owes(clause)), "{target}: {feature}");
            }
        }
    }
}
