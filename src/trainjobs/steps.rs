use conformance_contract::names;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::{self, Limit};
use conformance_history::{Live, Pod, SharedMark, counted_pods};
use serde_json::{Value, json};

use crate::schedulers;
use crate::train_job::{JOB_SET, TrainJob};

pub(crate) trait TrainJobSteps {
    fn runtime(&self, name: &str) -> Result<Value, Stop>;

    /// Creates a TrainJob of the manifest, and its runtime unless that exists.
    async fn submit_train_job(&mut self, name: &str) -> Result<TrainJob, Stop>;

    async fn until_pods_of(&self, clause: &'static str, train_job: &str, count: usize) -> Result<(), Stop>;

    /// Waits until the scheduler considers `count` pods of a TrainJob, so that its next pass includes them.
    async fn until_considered(&self, clause: &'static str, train_job: &str, count: usize)
    -> Result<(), Stop>;

    async fn until_bound_of(&self, clause: &'static str, train_job: &str, count: usize) -> Result<(), Stop>;

    /// Waits until `count` pods of a TrainJob are bound. The scheduler has tried them before, so the limit is
    /// that of one retry ([`TestContext::limit_of_next_try`]).
    async fn until_tried_again(
        &self,
        clause: &'static str,
        train_job: &str,
        count: usize,
    ) -> Result<(), Stop>;

    async fn suspend(&self, train_job: &str, suspended: bool) -> Result<(), Stop>;
}

impl TrainJobSteps for TestContext {
    fn runtime(&self, name: &str) -> Result<Value, Stop> {
        let mut runtime = self.document("TrainingRuntime", name)?;
        schedulers::claim(&mut runtime, self.target);
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

    async fn submit_train_job(&mut self, name: &str) -> Result<TrainJob, Stop> {
        let train_job = self.document("TrainJob", name)?;
        let runtime_name = train_job["spec"]["runtimeRef"]["name"].as_str().unwrap_or_default().to_owned();
        let runtime = self.runtime(&runtime_name)?;
        if self.submitted(&format!("runtime {runtime_name}"), &runtime) {
            self.create("TrainingRuntime", &runtime).await?;
        }
        until_runtime_known(self, &train_job, &runtime_name).await?;
        self.submitted(name, &train_job);
        self.mark(SharedMark::Submitted, json!({"name": name}));
        self.create("TrainJob", &train_job).await?;
        Ok(TrainJob::of(&runtime, &train_job))
    }

    async fn until_pods_of(&self, clause: &'static str, train_job: &str, count: usize) -> Result<(), Stop> {
        let condition = format!("{} of TrainJob {train_job}", counted_pods(count));
        self.until(Awaited::demanded_by(clause, condition), limits::REACTION, |live| {
            let pods = pods_of(live, train_job);
            pods.filter(|pod| pod["spec"]["schedulingGates"].is_null()).count() == count
        })
        .await
    }

    async fn until_considered(
        &self,
        clause: &'static str,
        train_job: &str,
        count: usize,
    ) -> Result<(), Stop> {
        self.until_pods_of(clause, train_job, count).await?;
        let condition =
            format!("{} of TrainJob {train_job} considered by the scheduler", counted_pods(count));
        self.until(Awaited::demanded_by(clause, condition), limits::SCHEDULING, |live| {
            pods_of(live, train_job).filter(|pod| schedulers::considers(self.target, Pod(pod))).count()
                == count
        })
        .await
    }

    async fn until_bound_of(&self, clause: &'static str, train_job: &str, count: usize) -> Result<(), Stop> {
        until_bound_within(self, clause, train_job, count, limits::SCHEDULING).await
    }

    async fn until_tried_again(
        &self,
        clause: &'static str,
        train_job: &str,
        count: usize,
    ) -> Result<(), Stop> {
        let limit = self.limit_of_next_try().await?;
        until_bound_within(self, clause, train_job, count, limit).await
    }

    async fn suspend(&self, train_job: &str, suspended: bool) -> Result<(), Stop> {
        self.patch("TrainJob", train_job, json!({"spec": {"suspend": suspended}})).await.map(drop)
    }
}

/// The trainer's webhook reads runtimes from a watch that may lag, and refuses TrainJobs of an unknown
/// runtime. The caller's create request returns any other refusal.
async fn until_runtime_known(test: &TestContext, train_job: &Value, runtime: &str) -> Result<(), Stop> {
    let known = Awaited::of_harness(format!("runtime {runtime} known to the trainer"));
    test.poll_until(known, limits::REACTION, || async {
        let reply = test.dry_run_create(train_job).await?;
        let is_unknown = reply.is_refused() && says_unknown(&reply.message, runtime);
        Ok((!is_unknown).then_some(()))
    })
    .await
}

async fn until_bound_within(
    test: &TestContext,
    clause: &'static str,
    train_job: &str,
    count: usize,
    limit: Limit,
) -> Result<(), Stop> {
    let condition = format!("{} of TrainJob {train_job} bound", counted_pods(count));
    test.until(Awaited::demanded_by(clause, condition), limit, |live| {
        pods_of(live, train_job).filter(|pod| pod["spec"]["nodeName"].is_string()).count() >= count
    })
    .await
}

fn says_unknown(message: &str, runtime: &str) -> bool {
    message.contains(&format!("{runtime:?} not found"))
}

fn pods_of<'a>(live: &'a Live, train_job: &'a str) -> impl Iterator<Item = &'a Value> {
    live.of("Pod").filter(move |pod| {
        let metadata = &pod["metadata"];
        metadata["labels"][JOB_SET] == train_job && metadata["deletionTimestamp"].is_null()
    })
}
