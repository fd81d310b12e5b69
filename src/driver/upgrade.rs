//! An upgrade of the operator with live gangs, on a control plane of the case's own
//! ([`super::case::Isolation::Upgrade`]). The old operator serves PodCliqueSets and stops, then the new one
//! starts.
//!
//! Releases name PodGangs differently. Therefore waits use PodCliques and pods, whose names do not change,
//! and identify a PodGang by its podgroups.

use conformance_expect::{Gang, scaling, schedulers};
use conformance_facts::{binding, migration};
use conformance_history::{History, Live, SharedMark, is_of_canary};
use conformance_install::cluster_spec::Upgrade;
use conformance_install::part::Part;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::limits::{FIRST_WRITES, MIGRATION, QUIET, REACTION, SCHEDULING};
use crate::context::{Stop, TestContext};

impl TestContext {
    /// Waits until a PodCliqueSet is complete as last scaled, regardless of the names of its PodGangs.
    pub async fn until_composed(&self, set: &str) -> Result<(), Stop> {
        let gangs = self.gangs_now(set);
        let composed = |live: &Live| migration::differences(live, set, &gangs).is_empty();
        self.until(&format!("PodCliqueSet {set} in the wanted state"), SCHEDULING, composed).await
    }

    /// Waits, as the last step of a case, until every unit of a PodCliqueSet is bound completely. A timeout
    /// is no error, because a check decides on the final state.
    pub async fn bound_whole_at_last(&self, set: &str) -> Result<(), Stop> {
        let units: Vec<_> = self.gangs_now(set).iter().flat_map(|gang| gang.units(self.target)).collect();
        let whole = |live: &Live| binding::not_whole(live, &units).next().is_none();
        judged_anyway(self.until(&format!("PodCliqueSet {set} bound whole"), SCHEDULING, whole).await)
            .map(drop)
    }

    /// Waits until a PodCliqueSet's pending pods are released and the scheduler has made a full pass.
    pub async fn set_is_passed_over(&mut self, set: &str) -> Result<(), Stop> {
        let expectations = schedulers::of(self.target);
        let gangs = self.gangs_now(set);
        let wanted: usize = gangs.iter().map(|gang| expectations.released_at_first(gang)).sum();
        let is_of_set = |clique: &str| {
            let mut groups = gangs.iter().flat_map(|gang| &gang.groups);
            groups.any(|group| group.clique == clique)
        };
        self.until(
            &format!("{wanted} pods of PodCliqueSet {set} released to the scheduler"),
            REACTION,
            |live| {
                let of_set = live.pods().filter(|pod| pod.pod_clique().is_some_and(is_of_set));
                of_set.filter(|pod| pod.gates().is_empty()).count() >= wanted
            },
        )
        .await?;
        self.scheduler_passes().await
    }

    /// The PodGangs that a PodCliqueSet should have, as last scaled.
    pub fn gangs_now(&self, set: &str) -> Vec<Gang> {
        let history = self.history();
        let pcs = history.header.submitted.get(set);
        pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default()
    }

    /// Stops the old operator and installs what the new one needs, without starting it.
    pub async fn begin_upgrade(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.stop_part(Part::Controller, Signal::TERM).await;
        // Events that are not delivered yet belong to the old operator.
        self.caught_up().await?;
        let title = |operator: fn(&Upgrade) -> String| cluster.spec().upgrade.as_ref().map(operator);
        self.mark(SharedMark::UpgradeBegan, json!({"from": title(Upgrade::from), "to": title(Upgrade::to)}));
        Ok(cluster.begin_upgrade().await?)
    }

    /// Starts the new operator and kills it after `writes` writes in the namespace, or earlier if it stops
    /// writing. With 0 it is killed at once.
    pub async fn stop_half_way(&self, writes: usize) -> Result<(), Stop> {
        let cluster = self.local()?;
        let before = written(&self.history());
        let seen = || written(&self.history()) - before;
        cluster.start_part(Part::Controller).await?;
        let mut changes = self.test_cluster.recorder.follow(&self.namespace);
        let enough = async { while seen() < writes && changes.changed().await.is_ok() {} };
        let _ = self.within(FIRST_WRITES, enough).await;
        cluster.stop_part(Part::Controller, Signal::KILL).await;
        self.mark(SharedMark::UpgradeStopped, json!({"writes": seen()}));
        Ok(())
    }

    /// Starts the new operator and waits until the migration is over: no object follows the old scheme, and
    /// no status reports a migration. A quiet period follows, because this may be true before the operator
    /// has started. After a timeout a check decides.
    pub async fn end_upgrade(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.start_part(Part::Controller).await?;
        cluster.controller_ready().await?;
        let history = self.history();
        let migrated = |live: &Live| {
            migration::remnants(&history, live).is_empty() && migration::migrating(live).next().is_none()
        };
        if judged_anyway(self.until("all objects migrated to the new layout", MIGRATION, migrated).await)? {
            self.watch_rest(QUIET).await?;
        }
        self.mark(SharedMark::UpgradeEnded, Value::Null);
        Ok(())
    }
}

/// Whether a wait ended in time. A timeout does not stop a case whose checks decide on the awaited state.
fn judged_anyway(waited: Result<(), Stop>) -> Result<bool, Stop> {
    match waited {
        Ok(()) => Ok(true),
        Err(Stop::Wait { .. }) => Ok(false),
        Err(stop) => Err(stop),
    }
}

/// Number of object changes in a history, without canaries and Events.
fn written(history: &History) -> usize {
    history.versions().filter(|version| version.kind() != "Event" && !is_of_canary(version.object)).count()
}
