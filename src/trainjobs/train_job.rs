//! The pods that a TrainJob should have, derived from the submitted TrainJob and runtime.

use conformance_history::{counted_pods, list, text};
use serde_json::Value;

/// Label of a runtime's replicated Job to which the trainer's `numNodes` applies.
const STEP: &str = "trainer.kubeflow.org/trainjob-ancestor-step";

/// The pod label with the name of the JobSet, which is the TrainJob's name.
pub(crate) const JOB_SET: &str = "jobset.sigs.k8s.io/jobset-name";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrainJob {
    pub name: String,
    pub jobs: Vec<ReplicatedJob>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplicatedJob {
    pub name: String,
    pub replicas: usize,
    /// Pods per Job at a time.
    pub parallelism: usize,
    /// Whether JobSet creates the Job only after another replicated Job has made progress.
    pub waits: bool,
    pub gpus: usize,
}

/// Pods that must be bound all together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrainUnit {
    pub train_job: String,
    pub jobs: Vec<(String, usize)>,
}

impl TrainJob {
    pub(crate) fn of(runtime: &Value, train_job: &Value) -> Self {
        let of_trainer =
            [&train_job["spec"]["trainer"]["numNodes"], &runtime["spec"]["mlPolicy"]["numNodes"]];
        let nodes = of_trainer.into_iter().find_map(Value::as_u64).unwrap_or(1);
        let jobs = list(&runtime["spec"]["template"]["spec"]["replicatedJobs"]);
        Self {
            name: text(&train_job["metadata"]["name"]).to_owned(),
            jobs: jobs.iter().map(|job| replicated_job(job, nodes)).collect(),
        }
    }

    pub(crate) fn pods(&self) -> usize {
        self.jobs.iter().map(ReplicatedJob::pods).sum()
    }

    pub(crate) fn gpus(&self) -> usize {
        self.jobs.iter().map(|job| job.pods() * job.gpus).sum()
    }

    pub(crate) fn has_stages(&self) -> bool {
        self.jobs.iter().any(|job| job.waits)
    }

    /// The whole TrainJob if `is_atomic`, otherwise each replicated Job.
    pub(crate) fn units(&self, is_atomic: bool) -> Vec<TrainUnit> {
        let unit = |jobs: &[ReplicatedJob]| TrainUnit {
            train_job: self.name.clone(),
            jobs: jobs.iter().map(|job| (job.name.clone(), job.pods())).collect(),
        };
        if is_atomic { vec![unit(&self.jobs)] } else { self.jobs.chunks(1).map(unit).collect() }
    }
}

impl ReplicatedJob {
    pub(crate) fn pods(&self) -> usize {
        self.replicas * self.parallelism
    }
}

impl TrainUnit {
    pub(crate) fn pods(&self) -> usize {
        self.jobs.iter().map(|(_, pods)| pods).sum()
    }
}

impl std::fmt::Display for TrainUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let jobs = self.jobs.iter();
        let jobs: Vec<_> = jobs.map(|(job, pods)| format!("{} of {job}", counted_pods(*pods))).collect();
        write!(f, "TrainJob {} ({})", self.train_job, jobs.join(", "))
    }
}

fn replicated_job(job: &Value, nodes: u64) -> ReplicatedJob {
    let template = &job["template"];
    let is_the_trainers = template["metadata"]["labels"][STEP] == "trainer";
    let parallelism = template["spec"]["parallelism"].as_u64().unwrap_or(1);
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let containers = list(&template["spec"]["template"]["spec"]["containers"]);
    let gpus = containers.iter().map(|container| &container["resources"]["requests"]["nvidia.com/gpu"]);
    let gpus = gpus.filter_map(|gpus| gpus.as_u64().or_else(|| gpus.as_str()?.parse().ok()));
    ReplicatedJob {
        name: text(&job["name"]).to_owned(),
        replicas: number(job["replicas"].as_u64().unwrap_or(1)),
        parallelism: number(if is_the_trainers { nodes } else { parallelism }),
        waits: !list(&job["dependsOn"]).is_empty(),
        gpus: number(gpus.sum()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_trainers_pods_are_its_nodes() {
        let gpus = json!({"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}});
        let trainer =
            json!({"metadata": {"labels": {STEP: "trainer"}}, "spec": {"parallelism": 9, "template": gpus}});
        let jobs = json!([
            {"name": "leader", "replicas": 2, "template": {"spec": {"parallelism": 3}}},
            {"name": "node", "template": trainer, "dependsOn": [{"name": "leader", "status": "Complete"}]},
        ]);
        let runtime =
            json!({"spec": {"mlPolicy": {"numNodes": 4}, "template": {"spec": {"replicatedJobs": jobs}}}});
        let mut train_job = json!({"metadata": {"name": "t"}, "spec": {}});
        let found = TrainJob::of(&runtime, &train_job);
        assert_eq!((found.pods(), found.gpus()), (2 * 3 + 4, 32));
        assert_eq!((found.jobs[0].waits, found.jobs[1].waits), (false, true));
        assert!(found.has_stages());
        assert_eq!(found.units(true)[0].to_string(), "TrainJob t (6 pods of leader, 4 pods of node)");
        assert_eq!(found.units(false).iter().map(TrainUnit::pods).collect::<Vec<_>>(), [6, 4]);
        train_job["spec"]["trainer"] = json!({"numNodes": 1});
        assert_eq!(TrainJob::of(&runtime, &train_job).pods(), 7);
    }
}
