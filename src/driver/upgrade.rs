//! An upgrade of the operator or of Kubernetes while gangs run, on the case's own control plane
//! ([`super::case::Isolation::Upgrade`]). Releases name PodGangs differently, so waits identify a PodGang by
//! its podgroups, and use PodCliques and pods, whose names are stable.

use conformance_expect::{Gang, scaling, schedulers};
use conformance_facts::{binding, migration};
use conformance_history::{History, Live, SharedMark, counted_pods, is_of_canary};
use conformance_install::part::Part;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::limits::{FIRST_WRITES, MIGRATION, QUIET, REACTION, SCHEDULING};
use crate::context::{Awaited, Stop, TestContext};

impl TestContext {
    /// Waits until the PodCliqueSet has all its objects after the last scaling, under any PodGang names.
    /// Before the upgrade, these are objects of the previous release, and no clause demands them.
    pub async fn until_composed(&self, set: &str) -> Result<(), Stop> {
        let gangs = self.wanted_gangs(set);
        let is_complete = |live: &Live| migration::differences(live, set, &gangs).is_empty();
        let condition = format!("PodCliqueSet {set} in the wanted state");
        let awaited = match self.history().reached(SharedMark::UpgradeStarted) {
            Ok(_) => Awaited::from(condition),
            Err(_) => Awaited::of_harness(condition),
        };
        self.until(awaited, SCHEDULING, is_complete).await
    }

    /// Waits until all gangs are bound. A timeout is no error, because a check decides on the final state.
    pub async fn try_until_bound(&self, set: &str) -> Result<(), Stop> {
        let units: Vec<_> = self.wanted_gangs(set).iter().flat_map(|gang| gang.units(self.target)).collect();
        let are_whole = |live: &Live| binding::not_fully_bound(live, &units).next().is_none();
        in_time(self.until(&format!("PodCliqueSet {set} bound whole"), SCHEDULING, are_whole).await).map(drop)
    }

    pub async fn scheduler_passes_over_set(&mut self, set: &str) -> Result<(), Stop> {
        let expectations = schedulers::of(self.target);
        let gangs = self.wanted_gangs(set);
        let wanted: usize = gangs.iter().map(|gang| expectations.initially_released(gang)).sum();
        let is_of_set = |clique: &str| {
            let mut groups = gangs.iter().flat_map(|gang| &gang.groups);
            groups.any(|group| group.clique == clique)
        };
        self.until(
            &format!("{} of PodCliqueSet {set} released to the scheduler", counted_pods(wanted)),
            REACTION,
            |live| {
                let of_set = live.pods().filter(|pod| pod.pod_clique().is_some_and(is_of_set));
                of_set.filter(|pod| pod.gates().is_empty()).count() >= wanted
            },
        )
        .await?;
        self.scheduler_passes().await
    }

    pub fn wanted_gangs(&self, set: &str) -> Vec<Gang> {
        let history = self.history();
        let pcs = history.header.submitted.get(set);
        pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default()
    }

    /// Stops the old operator, records the mark and upgrades the control plane, but starts no new operator.
    pub async fn begin_upgrade(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.stop_part(Part::Controller, Signal::TERM).await;
        // Record the events that the old operator caused before the mark.
        self.caught_up().await?;
        let spec = cluster.spec();
        let detail = spec.upgrade.as_ref().map(|upgrade| {
            let [from, to] = upgrade.titles(spec.kubernetes);
            json!({"of": upgrade.replaced(), "from": from, "to": to})
        });
        self.mark(SharedMark::UpgradeStarted, detail.unwrap_or_default());
        if cluster.delete_dropped_objects().await? {
            // The new API server cannot serve the old objects, nor the events of their deletion.
            self.caught_up().await?;
        }
        cluster.begin_upgrade().await?;
        Ok(self.test_cluster.recorder.look_up_versions().await?)
    }

    /// Starts the new operator, and kills it after `writes` written objects, or earlier if it stops writing.
    pub async fn kill_operator_after_writes(&self, writes: usize) -> Result<(), Stop> {
        let cluster = self.local()?;
        let before = changes(&self.history());
        let count = || changes(&self.history()) - before;
        cluster.start_part(Part::Controller).await?;
        let mut log = self.test_cluster.recorder.follow(&self.namespace);
        let enough = async { while count() < writes && log.changed().await.is_ok() {} };
        let _ = self.within(FIRST_WRITES, enough).await;
        cluster.stop_part(Part::Controller, Signal::KILL).await;
        self.mark(SharedMark::UpgradeStopped, json!({"writes": count()}));
        Ok(())
    }

    /// Starts the new operator, and waits until no object has the old layout and no status reports a
    /// migration. This may be true before the operator acts, so the harness then watches for a period. After
    /// a timeout, a check decides.
    pub async fn end_upgrade(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.start_part(Part::Controller).await?;
        cluster.controller_ready().await?;
        let history = self.history();
        let migrated = |live: &Live| {
            migration::remnants(&history, live).is_empty() && migration::migrating(live).next().is_none()
        };
        if in_time(self.until("all objects migrated to the new layout", MIGRATION, migrated).await)? {
            self.watch_while_idle(QUIET).await?;
        }
        self.mark(SharedMark::UpgradeEnded, Value::Null);
        Ok(())
    }
}

/// Turns a timeout into `false`, for a case whose checks decide on the awaited state.
fn in_time(waited: Result<(), Stop>) -> Result<bool, Stop> {
    match waited {
        Ok(()) => Ok(true),
        Err(Stop::Timeout(_)) => Ok(false),
        Err(stop) => Err(stop),
    }
}

fn changes(history: &History) -> usize {
    history.versions().filter(|version| version.kind() != "Event" && !is_of_canary(version.object)).count()
}
