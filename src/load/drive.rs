//! Submits PodCliqueSets, lets them converge, updates and deletes them. Then measures the scheduler alone.
//!
//! A wait checks its condition at most four times a second. There are thousands of changes per second. A
//! check of the whole namespace at each change would occupy a processor that the cluster needs. The figures
//! are precise anyway, because they use the arrival time of each version.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use conformance_cluster::deploy;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::{Limit, QUIET};
use conformance_driver::usage::Usage;
use conformance_expect::Gang;
use conformance_facts::leftovers::is_unrelated;
use conformance_facts::pod_gangs::reference_mismatch;
use conformance_facts::{convergence, updates};
use conformance_history::{Live, MarkName, SharedMark, condition, text};
use conformance_install::part::Part;
use serde_json::Value;

use super::alone::Load;
use super::checks::UPDATED;
use super::figures::{Bindings, Figures, Stage, processor_of_all};
use super::shapes::pcs_of;

const INTERVAL: Duration = Duration::from_millis(250);

/// An API server that uses less processor time per second is idle: it only serves leases.
const IDLE: Duration = Duration::from_millis(150);
const IDLE_SECONDS: u32 = 3;
const MAX_WARM_UP_SECONDS: u32 = 60;

/// Time limit for one update step, in which a pod is deleted and its replacement becomes Ready.
const UPDATE_STEP: Duration = Duration::from_secs(5);

/// The time limit for this many pods: one minute, which a small cluster needs anyway, and 0.1 s per pod.
pub(super) fn limit(pods: usize) -> Limit {
    let pods = u32::try_from(pods).unwrap_or(u32::MAX);
    Limit { name: "scale", length: Duration::from_secs(60) + Duration::from_millis(100) * pods }
}

type GangsByPcs = BTreeMap<String, Vec<Gang>>;

/// The limit for all pods, plus the time for the update steps of the PodCliqueSet with the most steps.
fn limit_of_update(submitted: &GangsByPcs, for_pods: Limit) -> Limit {
    let steps = submitted.values().map(|gangs| update_steps(gangs)).max().unwrap_or_default();
    let steps = u32::try_from(steps).unwrap_or(u32::MAX);
    Limit { length: for_pods.length + UPDATE_STEP * steps, ..for_pods }
}

/// The number of update steps: the sum, over all gangs, of the pods in the gang's largest clique.
fn update_steps(gangs: &[Gang]) -> usize {
    gangs.iter().filter_map(|gang| gang.groups.iter().map(|group| group.replicas).max()).sum()
}

pub(super) async fn drive(test: &mut TestContext, with_update: bool) -> Result<(), Stop> {
    let documents = grove_yaml::documents(test.case.manifest)
        .map_err(|error| Stop::Refused { action: "read the manifest".into(), reason: error.to_string() })?;
    test.take_baseline().await?;
    warm_up(test).await?;
    let all_before = processor_of_all(test.local()?);
    let stage = Stage::begin("operator", test.local()?);
    let mut submitted = GangsByPcs::new();
    for document in documents {
        let name = text(&document["metadata"]["name"]).to_owned();
        submitted.insert(name, test.submit_value(test.prepare_manifest(document)).await?);
    }
    let pods = submitted.values().flatten().map(Gang::pods).sum::<usize>();
    let limit = limit(pods);
    let bound = Awaited::demanded_by("AON-01", format!("{pods} pods bound"));
    until(test, bound, limit, |live| live.bound() >= pods).await?;
    let ready = Awaited::of_harness(format!("{pods} pods Ready"));
    until(test, ready, limit, |live| live.pods().filter(|pod| is_ready(pod.0)).count() >= pods).await?;
    converge(test, &submitted, limit, SharedMark::Converged).await?;
    let history = test.history();
    let bindings = Bindings::of(&history);
    let mut figures = Figures::of(pods, submitted.values().flatten().count(), submitted.len());
    figures.add_history(&history, bindings);
    figures.add_stage(&stage, bindings, test.local()?);
    let with_operator = processor_of_all(test.local()?).saturating_sub(all_before);
    let load = Load::of(&history);
    drop(history);
    let writes = test.local()?.operator_writes(&test.namespace, stage.begin, test.audit_from)?;
    figures.add_writes(&stage, &writes);
    if with_update {
        // Record the figures now, because the update may time out.
        test.mark(SharedMark::Measured, figures.detail());
        update(test, &submitted, limit, &mut figures).await?;
    }
    figures.add_deletion(delete(test, limit).await?, &stage, test.local()?);
    test.mark(SharedMark::Measured, figures.detail());
    test.until_nothing_left().await?;
    // Kill the operator, because it would react to the pods that the harness creates.
    test.kill_part(Part::Controller).await?;
    let before = processor_of_all(test.local()?);
    let alone = load.measure(test, limit).await;
    let without_operator = processor_of_all(test.local()?).saturating_sub(before);
    test.start_ready(Part::Controller).await?;
    match alone {
        Ok(alone) => figures.add_scheduler_alone(alone, test.local()?),
        // The comparison decides no clause, so the case continues.
        Err(stop) => figures.add_scheduler_failure(&stop.to_string()),
    }
    figures.add_processor_time(with_operator, without_operator);
    test.mark(SharedMark::Measured, figures.detail());
    Ok(())
}

/// Binds the first gangs, for which every cache is cold, and waits until the API server has finished its
/// startup work. The API server builds the OpenAPI documents of all CRDs, which takes one core and 1 GB. No
/// API reports the end of this work, so the wait observes the processor time.
pub(super) async fn warm_up(test: &TestContext) -> Result<(), Stop> {
    test.canaries().await?;
    let cluster = test.local()?;
    let processor_time = || Usage::of(cluster, Part::Apiserver).processor;
    let mut idle = 0;
    for _ in 0..MAX_WARM_UP_SECONDS {
        let before = processor_time();
        tokio::time::sleep(Duration::from_secs(1)).await;
        idle = if processor_time().saturating_sub(before) < IDLE { idle + 1 } else { 0 };
        if idle == IDLE_SECONDS {
            break;
        }
    }
    Ok(())
}

fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|condition| condition["status"] == "True")
}

/// Changes the templates of all PodCliqueSets at once. Waits until all pods are replaced and everything has
/// converged, and then for a period in which the operator has nothing to do.
async fn update(
    test: &TestContext,
    submitted: &GangsByPcs,
    limit: Limit,
    figures: &mut Figures,
) -> Result<(), Stop> {
    let stage = Stage::begin("update", test.local()?);
    let limit = limit_of_update(submitted, limit);
    for pcs in submitted.keys() {
        if !test.revise(pcs, "2").await? {
            return Ok(());
        }
    }
    let ended = Awaited::demanded_by("UPD-02", "the update of every PodCliqueSet ended");
    until_every_pcs(test, ended, submitted, limit, |live, pcs, _| updates::lacks(live, pcs)).await?;
    let named = Awaited::demanded_by("UPD-31", "every PodGang refers to its existing pods");
    until_every_pcs(test, named, submitted, limit, |live, pcs, _| reference_mismatch(live, pcs)).await?;
    converge(test, submitted, limit, UPDATED).await?;
    figures.add_stage(&stage, Bindings::of(&test.history()), test.local()?);
    figures.add_writes(&stage, &test.record_operator_writes(stage.begin)?);
    test.wait_until_idle().await?;
    test.watch_while_idle(QUIET).await
}

async fn converge(
    test: &TestContext,
    submitted: &GangsByPcs,
    limit: Limit,
    mark: impl Into<MarkName>,
) -> Result<(), Stop> {
    let lacks =
        |live: &Live, pcs: &str, gangs: &[Gang]| convergence::lacks(live, pcs, gangs).map(|lack| lack.what);
    until_every_pcs(test, "every PodCliqueSet converged", submitted, limit, lacks).await?;
    // Writes of this step must not overlap with the next step.
    test.until_settled(|_| false).await;
    test.mark(mark, Value::Null);
    Ok(())
}

/// Waits until no PodCliqueSet lacks anything. A timeout names what the first PodCliqueSet lacks.
async fn until_every_pcs(
    test: &TestContext,
    condition: impl Into<Awaited<'_>>,
    submitted: &GangsByPcs,
    limit: Limit,
    lacks: impl Fn(&Live, &str, &[Gang]) -> Option<String>,
) -> Result<(), Stop> {
    let lacking = |live: &Live| {
        let parts = live.parts(pcs_of);
        let nothing = Live::default();
        submitted
            .iter()
            .find_map(|(pcs, gangs)| lacks(parts.get(pcs.as_str()).unwrap_or(&nothing), pcs, gangs))
    };
    match until(test, condition, limit, |live| lacking(live).is_none()).await {
        Err(Stop::Timeout(mut waited)) => {
            let lack = test.look(lacking).unwrap_or_default();
            waited.condition = format!("{} (first: {lack})", waited.condition);
            Err(Stop::Timeout(waited))
        }
        other => other,
    }
}

/// Deletes every PodCliqueSet. Returns the time until the watches have delivered the deletion of every
/// object, or `None` after a timeout. The check for leftovers reports the remaining objects.
pub(super) async fn delete(test: &TestContext, limit: Limit) -> Result<Option<Duration>, Stop> {
    let begin = Instant::now();
    deploy::delete_workloads(&test.test_cluster.client, &test.namespace).await?;
    let deleted = until(test, "everything deleted", limit, |live| live.all().all(is_unrelated)).await;
    match deleted {
        Ok(()) => Ok(Some(begin.elapsed())),
        Err(Stop::Timeout(_)) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Like [`TestContext::until`], with at most one check per [`INTERVAL`].
pub(super) async fn until(
    test: &TestContext,
    condition: impl Into<Awaited<'_>>,
    limit: Limit,
    is_satisfied: impl Fn(&Live) -> bool,
) -> Result<(), Stop> {
    let begin = Instant::now();
    let mut changes = test.test_cluster.recorder.follow(&test.namespace);
    let wait = async {
        while !test.look(&is_satisfied) {
            tokio::time::sleep(INTERVAL).await;
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    match test.within(limit, wait).await {
        Some(()) => Ok(()),
        None => Err(test.timed_out(condition, limit, begin).await),
    }
}

#[cfg(test)]
mod tests {
    use conformance_expect::gangs;

    use super::super::shapes::manifest;
    use super::*;

    #[test]
    fn the_time_limit_grows_with_the_number_of_pods() {
        assert_eq!(limit(0).length, Duration::from_secs(60));
        assert_eq!(limit(10_000).length, Duration::from_secs(1060));
    }

    #[test]
    fn the_time_limit_of_an_update_grows_with_its_steps() {
        let documents = grove_yaml::documents(&manifest(300)).unwrap();
        let submitted: GangsByPcs =
            documents.iter().map(|pcs| (text(&pcs["metadata"]["name"]).into(), gangs(pcs))).collect();
        let update_steps: Vec<_> = submitted.values().map(|gangs| update_steps(gangs)).collect();
        // Five replicas each, except for the last ones. Largest cliques: 8, 6, twice 4, and 8 pods.
        assert_eq!(update_steps, [40, 30, 40, 40, 16, 4]);
        assert_eq!(limit_of_update(&submitted, limit(300)).length, Duration::from_secs(90 + 40 * 5));
    }
}
