//! Submits the PodCliqueSets, waits until they have converged, updates them if requested, and deletes them.
//! Then the scheduler alone gets the same objects.
//!
//! Watch events wake the waits, which check at most four times a second. A check of the whole namespace at
//! each of thousands of changes a second would take a core that the cluster needs. The figures stay precise,
//! because they use the arrival time of each version.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use conformance_cluster::deploy;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::{Limit, QUIET};
use conformance_expect::Gang;
use conformance_facts::leftovers::is_there_anyway;
use conformance_facts::pod_gangs::misnamed;
use conformance_facts::{convergence, updates};
use conformance_history::{Live, MarkName, SharedMark, condition, text};
use conformance_install::part::Part;
use serde_json::Value;

use super::alone::Load;
use super::figures::{Bindings, Figures, Stage, Took, processor_of_all};
use super::judge::UPDATED;
use super::shapes::set_of;

/// Minimum interval between two checks of everything.
const PACE: Duration = Duration::from_millis(250);

/// An API server that uses less processor time per second than this is idle, except for leases. The warm-up
/// ends after `IDLE_SECONDS` of that, and after at most `LONGEST_WARM_UP` seconds.
const IDLE: Duration = Duration::from_millis(150);
const IDLE_SECONDS: u32 = 3;
const LONGEST_WARM_UP: u32 = 60;

/// Limit of one update step, in which a pod is deleted and its replacement becomes Ready.
const TURN: Duration = Duration::from_secs(5);

/// Limit for this many pods: the time that a small cluster needs anyway, plus 0.1 s per pod.
pub(super) fn limit(pods: usize) -> Limit {
    let pods = u32::try_from(pods).unwrap_or(u32::MAX);
    Limit { name: "scale", length: Duration::from_secs(60) + Duration::from_millis(100) * pods }
}

type Sets = BTreeMap<String, Vec<Gang>>;

/// Limit for an update: the limit for all pods, plus the update steps of the PodCliqueSet that has the most.
fn limit_of_update(sets: &Sets, of_pods: Limit) -> Limit {
    let turns = sets.values().map(|gangs| turns(gangs)).max().unwrap_or_default();
    Limit { length: of_pods.length + TURN * u32::try_from(turns).unwrap_or(u32::MAX), ..of_pods }
}

/// Maximum number of sequential update steps of a PodCliqueSet: the sum of the largest clique of each gang.
fn turns(gangs: &[Gang]) -> usize {
    gangs.iter().filter_map(|gang| gang.groups.iter().map(|group| group.replicas).max()).sum()
}

pub(super) async fn drive(test: &mut TestContext, with_update: bool) -> Result<(), Stop> {
    let documents = grove_yaml::documents(test.case.manifest)
        .map_err(|error| Stop::Refused { action: "read the manifest".into(), reason: error.to_string() })?;
    test.take_baseline().await?;
    warm_up(test).await?;
    let all_before = processor_of_all(test.local()?);
    let stage = Stage::begin("operator", test.local()?);
    let mut sets = Sets::new();
    for document in documents {
        let name = text(&document["metadata"]["name"]).to_owned();
        sets.insert(name, test.submit_value(test.at_home(document)).await?);
    }
    let pods = sets.values().flatten().map(Gang::pods).sum::<usize>();
    let limit = limit(pods);
    let bound = Awaited::demanded_by("AON-01", format!("{pods} pods bound"));
    until(test, bound, limit, |live| live.bound() >= pods).await?;
    let ready = Awaited::of_harness(format!("{pods} pods Ready"));
    until(test, ready, limit, |live| live.pods().filter(|pod| is_ready(pod.0)).count() >= pods).await?;
    converge(test, &sets, limit, SharedMark::Converged).await?;
    let history = test.history();
    let bindings = Bindings::of(&history);
    let mut figures = Figures::of(pods, sets.values().flatten().count(), sets.len());
    figures.of_history(&history, bindings);
    figures.of_stage(&stage, bindings, test.local()?);
    let with_operator = processor_of_all(test.local()?).saturating_sub(all_before);
    let load = Load::of(&history);
    drop(history);
    figures.of_writes(&stage, &test.local()?.operator_writes(&test.namespace, stage.begin)?);
    if with_update {
        // The update may not end, so record the figures before it.
        test.mark(SharedMark::Measured, figures.detail());
        update(test, &sets, limit, &mut figures).await?;
    }
    figures.deletion(delete(test, limit).await?, &stage, test.local()?);
    test.mark(SharedMark::Measured, figures.detail());
    test.until_nothing_left().await?;
    // The operator would react to pods that it did not create, which is not measured.
    test.take_away(Part::Controller).await?;
    let before = processor_of_all(test.local()?);
    let alone = load.measure(test, limit).await;
    let alone_took = processor_of_all(test.local()?).saturating_sub(before);
    test.start_ready(Part::Controller).await?;
    match alone {
        Ok(alone) => figures.of_scheduler(alone, test.local()?),
        // This is not a verdict and does not change one.
        Err(stop) => figures.without_scheduler(&stop.to_string()),
    }
    figures.of_all(with_operator, alone_took);
    test.mark(SharedMark::Measured, figures.detail());
    Ok(())
}

/// Binds the first gangs, which find every cache cold, and lets the API server finish its startup work. It
/// builds the OpenAPI documents of all CRDs, which takes one core and 1 GB. Nothing reports the end of that.
async fn warm_up(test: &TestContext) -> Result<(), Stop> {
    test.canaries().await?;
    let cluster = test.local()?;
    let took = || Took::of(cluster, Part::Apiserver).processor;
    let mut idle = 0;
    for _ in 0..LONGEST_WARM_UP {
        let before = took();
        tokio::time::sleep(Duration::from_secs(1)).await;
        idle = if took().saturating_sub(before) < IDLE { idle + 1 } else { 0 };
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
/// converged, then through a period in which there is nothing to do.
async fn update(test: &TestContext, sets: &Sets, limit: Limit, figures: &mut Figures) -> Result<(), Stop> {
    let stage = Stage::begin("update", test.local()?);
    let limit = limit_of_update(sets, limit);
    for set in sets.keys() {
        if !test.revise(set, "2").await? {
            return Ok(());
        }
    }
    let ended = Awaited::demanded_by("UPD-02", "the update of every PodCliqueSet ended");
    every_set(test, ended, sets, limit, |live, set, _| updates::lacks(live, set)).await?;
    let named = Awaited::demanded_by("UPD-31", "every PodGang refers to its existing pods");
    every_set(test, named, sets, limit, |live, set, _| misnamed(live, set)).await?;
    converge(test, sets, limit, UPDATED).await?;
    figures.of_stage(&stage, Bindings::of(&test.history()), test.local()?);
    figures.of_writes(&stage, &test.note_operator_writes(stage.begin)?);
    test.comes_to_rest().await?;
    test.watch_rest(QUIET).await
}

/// Waits until each PodCliqueSet is complete and statuses have followed, then adds a mark.
async fn converge(
    test: &TestContext,
    sets: &Sets,
    limit: Limit,
    mark: impl Into<MarkName>,
) -> Result<(), Stop> {
    let lacks =
        |live: &Live, set: &str, gangs: &[Gang]| convergence::lacks(live, set, gangs).map(|lack| lack.what);
    every_set(test, "every PodCliqueSet converged", sets, limit, lacks).await?;
    // Later writes would overlap with the next step.
    test.until_settled(|_| false).await;
    test.mark(mark, Value::Null);
    Ok(())
}

/// Waits until no PodCliqueSet lacks anything. A timeout reports what the first one lacks.
async fn every_set(
    test: &TestContext,
    condition: impl Into<Awaited<'_>>,
    sets: &Sets,
    limit: Limit,
    lacks: impl Fn(&Live, &str, &[Gang]) -> Option<String>,
) -> Result<(), Stop> {
    let lacking = |live: &Live| {
        let parts = live.parts(set_of);
        let nothing = Live::default();
        sets.iter().find_map(|(set, gangs)| lacks(parts.get(set.as_str()).unwrap_or(&nothing), set, gangs))
    };
    match until(test, condition, limit, |live| lacking(live).is_none()).await {
        Err(Stop::Wait(mut waited)) => {
            let lack = test.look(lacking).unwrap_or_default();
            waited.condition = format!("{} (first: {lack})", waited.condition);
            Err(Stop::Wait(waited))
        }
        other => other,
    }
}

/// Deletes every PodCliqueSet. Returns the time until the watches had delivered the deletion of everything.
/// `None` means that something remains; the check for leftovers reports it.
async fn delete(test: &TestContext, limit: Limit) -> Result<Option<Duration>, Stop> {
    let begin = Instant::now();
    deploy::delete_workloads(&test.test_cluster.client, &test.namespace).await?;
    let gone = until(test, "everything deleted", limit, |live| live.all().all(is_there_anyway)).await;
    match gone {
        Ok(()) => Ok(Some(begin.elapsed())),
        Err(Stop::Wait(_)) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Like [`TestContext::until`], with at most one check per [`PACE`].
async fn until(
    test: &TestContext,
    condition: impl Into<Awaited<'_>>,
    limit: Limit,
    holds: impl Fn(&Live) -> bool,
) -> Result<(), Stop> {
    let begin = Instant::now();
    let mut changes = test.test_cluster.recorder.follow(&test.namespace);
    let wait = async {
        while !test.look(&holds) {
            tokio::time::sleep(PACE).await;
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    match test.within(limit, wait).await {
        Some(()) => Ok(()),
        None => Err(test.ran_out(condition, limit, begin).await),
    }
}

#[cfg(test)]
mod tests {
    use conformance_expect::gangs;

    use super::super::shapes::manifest;
    use super::*;

    #[test]
    fn more_pods_have_more_time() {
        assert_eq!(limit(0).length, Duration::from_secs(60));
        assert_eq!(limit(10_000).length, Duration::from_secs(1060));
    }

    #[test]
    fn an_update_has_more_time_by_its_turns() {
        let documents = grove_yaml::documents(&manifest(300)).unwrap();
        let sets: Sets =
            documents.iter().map(|set| (text(&set["metadata"]["name"]).into(), gangs(set))).collect();
        let turns: Vec<_> = sets.values().map(|gangs| turns(gangs)).collect();
        // Five replicas each, except in the last ones: 8, 6, twice 4 and 8 pods in the largest cliques.
        assert_eq!(turns, [40, 30, 40, 40, 16, 4]);
        assert_eq!(limit_of_update(&sets, limit(300)).length, Duration::from_secs(90 + 40 * 5));
    }
}
