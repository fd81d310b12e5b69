//! Creates TrainJobs of the Kubeflow Trainer with their runtimes, and waits for their pods.

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_expect::domains::LEVELS;
use conformance_expect::schedulers;
use conformance_expect::train_job::TrainJob;
use conformance_history::{Live, Pod, SharedMark};
use serde_json::{Value, json};

use crate::context::{Awaited, Stop, TestContext};
use crate::limits::{self, Limit};

/// Annotation of a case's runtime: the level, as node label key, in whose domain a TrainJob must fit. The
/// harness translates it for each scheduler.
const REQUIRED_LEVEL: &str = "conformance.grove.io/required-level";

/// Label by which JobSet marks its pods.
const JOB_SET: &str = "jobset.sigs.k8s.io/jobset-name";

impl TestContext {
    /// A training runtime of the manifest, on the case's nodes, for the target's scheduler by default.
    pub fn runtime(&self, name: &str) -> Result<Value, Stop> {
        let mut runtime = self.document("TrainingRuntime", name)?;
        claim(&mut runtime, self.target);
        let jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"].as_array_mut();
        for job in jobs.into_iter().flatten() {
            let pod = &mut job["template"]["spec"]["template"]["spec"];
            pod["nodeSelector"][names::POOL] = self.namespace.clone().into();
            pod["tolerations"] =
                json!([{"key": names::POOL, "value": self.namespace, "effect": "NoSchedule"}]);
            pod["terminationGracePeriodSeconds"] = 0.into();
        }
        Ok(runtime)
    }

    /// An unmodified object of the manifest, in the case's namespace.
    pub fn document(&self, kind: &str, name: &str) -> Result<Value, Stop> {
        let refused = |reason: String| Stop::Refused {
            action: format!("read the manifest of {}", self.case.id),
            reason,
        };
        let documents =
            grove_yaml::documents(self.case.manifest).map_err(|error| refused(error.to_string()))?;
        let is_wanted = |document: &Value| document["kind"] == kind && document["metadata"]["name"] == name;
        let found = documents.into_iter().find(is_wanted);
        let mut found = found.ok_or_else(|| refused(format!("the manifest has no {kind} {name}")))?;
        found["metadata"]["namespace"] = self.namespace.clone().into();
        Ok(found)
    }

    /// Creates a TrainJob of the manifest. Its runtime is created first unless it exists.
    pub async fn submit_train_job(&mut self, name: &str) -> Result<TrainJob, Stop> {
        let train_job = self.document("TrainJob", name)?;
        let runtime_name = train_job["spec"]["runtimeRef"]["name"].as_str().unwrap_or_default().to_owned();
        let runtime = self.runtime(&runtime_name)?;
        if self.submitted(&format!("runtime {runtime_name}"), &runtime) {
            self.create("TrainingRuntime", &runtime).await?;
        }
        self.until_runtime_known(&train_job, &runtime_name).await?;
        self.submitted(name, &train_job);
        self.mark(SharedMark::Submitted, json!({"name": name}));
        self.create("TrainJob", &train_job).await?;
        Ok(TrainJob::of(&runtime, &train_job))
    }

    /// Waits until the trainer's webhook knows the runtime of a TrainJob. The webhook reads from a watch that
    /// may lag, and refuses TrainJobs of an unknown runtime. The actual request returns any other refusal.
    async fn until_runtime_known(&self, train_job: &Value, runtime: &str) -> Result<(), Stop> {
        let known = Awaited::of_harness(format!("runtime {runtime} known to the trainer"));
        self.poll_until(known, limits::REACTION, || async {
            let reply = self.dry_run_create(train_job).await?;
            let is_unknown = reply.is_refused() && says_unknown(&reply.message, runtime);
            Ok((!is_unknown).then_some(()))
        })
        .await
    }

    /// Waits until a TrainJob has `count` pods that are neither terminating nor gated.
    pub async fn until_pods_of(
        &self,
        clause: &'static str,
        train_job: &str,
        count: usize,
    ) -> Result<(), Stop> {
        let condition = format!("{count} pods of TrainJob {train_job}");
        self.until(Awaited::demanded_by(clause, condition), limits::REACTION, |live| {
            let pods = pods_of(live, train_job);
            pods.filter(|pod| pod["spec"]["schedulingGates"].is_null()).count() == count
        })
        .await
    }

    /// Waits until the scheduler considers `count` pods of a TrainJob, so that its next pass includes them.
    pub async fn until_considered(
        &self,
        clause: &'static str,
        train_job: &str,
        count: usize,
    ) -> Result<(), Stop> {
        self.until_pods_of(clause, train_job, count).await?;
        let condition = format!("{count} pods of TrainJob {train_job} considered by the scheduler");
        let expectations = schedulers::of(self.target);
        self.until(Awaited::demanded_by(clause, condition), limits::SCHEDULING, |live| {
            pods_of(live, train_job).filter(|pod| expectations.considers(Pod(pod))).count() == count
        })
        .await
    }

    /// Waits until at least `count` pods of a TrainJob are bound; `clause` demands this.
    pub async fn until_bound_of(
        &self,
        clause: &'static str,
        train_job: &str,
        count: usize,
    ) -> Result<(), Stop> {
        self.until_bound_within(clause, train_job, count, limits::SCHEDULING).await
    }

    /// Waits until `count` pods of a TrainJob are bound that the scheduler has already tried. The limit is
    /// that of one retry ([`TestContext::limit_of_next_try`]).
    pub async fn until_tried_again(
        &self,
        clause: &'static str,
        train_job: &str,
        count: usize,
    ) -> Result<(), Stop> {
        let limit = self.limit_of_next_try().await?;
        self.until_bound_within(clause, train_job, count, limit).await
    }

    async fn until_bound_within(
        &self,
        clause: &'static str,
        train_job: &str,
        count: usize,
        limit: Limit,
    ) -> Result<(), Stop> {
        let condition = format!("{count} pods of TrainJob {train_job} bound");
        self.until(Awaited::demanded_by(clause, condition), limit, |live| {
            pods_of(live, train_job).filter(|pod| pod["spec"]["nodeName"].is_string()).count() >= count
        })
        .await
    }

    pub async fn suspend(&self, train_job: &str, suspended: bool) -> Result<(), Stop> {
        self.patch("TrainJob", train_job, json!({"spec": {"suspend": suspended}})).await.map(drop)
    }
}

/// Whether the trainer's webhook refuses a TrainJob because it does not know the runtime.
pub fn says_unknown(message: &str, runtime: &str) -> bool {
    message.contains(&format!("{runtime:?} not found"))
}

/// The pods of a TrainJob that are not terminating.
pub fn pods_of<'a>(live: &'a Live, train_job: &'a str) -> impl Iterator<Item = &'a Value> {
    live.of("Pod").filter(move |pod| {
        let metadata = &pod["metadata"];
        metadata["labels"][JOB_SET] == train_job && metadata["deletionTimestamp"].is_null()
    })
}

/// Assigns a runtime to the target's scheduler, with the policy by which the trainer creates a gang for it,
/// if it can. A policy in the manifest takes precedence; `null` there means no policy.
pub fn claim(runtime: &mut Value, target: Target) {
    let level = runtime["metadata"]["annotations"][REQUIRED_LEVEL].as_str().map(str::to_owned);
    let spec = &mut runtime["spec"];
    // The narrowest level is tier 1.
    let tier = level.as_ref().and_then(|level| LEVELS.iter().rev().position(|(_, key)| key == level));
    if let Some(level) = level.filter(|_| target == Target::TRAINJOB_KAI) {
        let annotations = &mut spec["template"]["metadata"]["annotations"];
        annotations["kai.scheduler/topology"] = names::TOPOLOGY.into();
        annotations["kai.scheduler/topology-required-placement"] = level.into();
    }
    let policy = match target.scheduler().name() {
        "volcano" => Some(match tier {
            Some(tier) => {
                json!({"volcano": {"networkTopology": {"mode": "hard", "highestTierAllowed": tier + 1}}})
            }
            None => json!({"volcano": {}}),
        }),
        // The timeout differs from the defaults of the trainer and of the scheduler.
        "scheduler-plugins-scheduler" => Some(json!({"coscheduling": {"scheduleTimeoutSeconds": 15}})),
        "kai-scheduler" => Some(json!({"kaiScheduler": {"queue": "default-queue"}})),
        _ => None,
    };
    if let (Some(policy), None) = (policy, spec.get("podGroupPolicy")) {
        spec["podGroupPolicy"] = policy;
    }
    for job in spec["template"]["spec"]["replicatedJobs"].as_array_mut().into_iter().flatten() {
        let name = &mut job["template"]["spec"]["template"]["spec"]["schedulerName"];
        if name.is_null() {
            *name = target.backend().into();
        }
    }
}
