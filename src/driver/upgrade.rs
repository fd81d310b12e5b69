//! An upgrade of the operator under live gangs, on a control plane of the case's own
//! ([`super::case::Isolation::Upgrade`]): the old operator makes PodCliqueSets and stops, the new one starts.
//!
//! Releases name PodGangs differently. Waits here ask for PodCliques and pods, whose names do not change, and know a
//! PodGang by its podgroups.

use conformance_cluster::local::{Part, Upgrade};
use conformance_expect::{Gang, scaling, schedulers};
use conformance_history::{History, Live, SharedMark, is_of_canary};
use conformance_judge::{binding, migration};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::limits::{FIRST_WRITES, MIGRATION, QUIET, REACTION, SCHEDULING};
use crate::context::{Stop, TestContext};

impl TestContext {
    /// Waits until a PodCliqueSet is what it should be, as it was scaled last, whatever its PodGangs are called.
    ///
    /// # Errors
    /// [`Stop::Wait`].
    pub async fn until_composed(&self, set: &str) -> Result<(), Stop> {
        let gangs = self.gangs_now(set);
        let composed = |live: &Live| migration::composed(live, set, &gangs).is_ok();
        self.until(&format!("{set} as it should be"), SCHEDULING, composed).await
    }

    /// Waits until every unit of a PodCliqueSet is bound whole, as the last step of a case: its judge looks at the end,
    /// whether or not it came to that.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn bound_whole_at_last(&self, set: &str) -> Result<(), Stop> {
        let units: Vec<_> = self.gangs_now(set).iter().flat_map(|gang| gang.units(self.target)).collect();
        let whole = |live: &Live| binding::whole(live, &units).is_ok();
        judged_anyway(self.until(&format!("{set} bound whole"), SCHEDULING, whole).await).map(drop)
    }

    /// Waits until the pods of a pending PodCliqueSet are in the scheduler's hands, and the scheduler has had a whole pass
    /// since.
    ///
    /// # Errors
    /// [`Stop::Wait`].
    pub async fn set_is_passed_over(&mut self, set: &str) -> Result<(), Stop> {
        let expectations = schedulers::of(self.target);
        let gangs = self.gangs_now(set);
        let wanted: usize = gangs.iter().map(|gang| expectations.released_at_first(gang)).sum();
        let is_of_set = |clique: &str| {
            let mut groups = gangs.iter().flat_map(|gang| &gang.groups);
            groups.any(|group| group.clique == clique)
        };
        self.until(&format!("{wanted} pods of {set} released to the scheduler"), REACTION, |live| {
            let of_set = live.pods().filter(|pod| pod.pod_clique().is_some_and(is_of_set));
            of_set.filter(|pod| pod.gates().is_empty()).count() >= wanted
        })
        .await?;
        self.scheduler_passes().await
    }

    /// The PodGangs that a PodCliqueSet should have, as it was scaled last.
    pub fn gangs_now(&self, set: &str) -> Vec<Gang> {
        let history = self.history();
        let pcs = history.header.submitted.get(set);
        pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default()
    }

    /// Stops the old operator and puts in place what the new one needs. The new one is not started yet.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn begin_upgrade(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.stop_part(Part::Controller, Signal::TERM).await;
        // What the watches have not told of yet is the old one's.
        self.caught_up().await?;
        let title = |operator: fn(&Upgrade) -> String| cluster.spec().upgrade.as_ref().map(operator);
        self.mark(SharedMark::UpgradeBegan, json!({"from": title(Upgrade::from), "to": title(Upgrade::to)}));
        Ok(cluster.begin_upgrade().await?)
    }

    /// Starts the new operator and kills it after so many writes in the namespace; sooner if it has made no more of them
    /// for a while. With 0 it is killed at once.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
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

    /// Starts the new operator and waits until it has come to rest: nothing is of the old scheme, nothing says that it is
    /// being migrated, and a while of quiet has passed, in case that it was so before the operator had begun. If the limit
    /// has run out instead, the judge decides what that means.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn end_upgrade(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.start_part(Part::Controller).await?;
        cluster.controller_ready().await?;
        let history = self.history();
        let migrated =
            |live: &Live| migration::one_scheme(&history, live).is_ok() && migration::migrated(live).is_ok();
        if judged_anyway(self.until("the old scheme gone", MIGRATION, migrated).await)? {
            self.watch_rest(QUIET).await?;
        }
        self.mark(SharedMark::UpgradeEnded, Value::Null);
        Ok(())
    }
}

/// Whether a wait was over in time. One that ran out does not stop a case whose judge looks at what it was for.
///
/// # Errors
/// Any other [`Stop`].
fn judged_anyway(waited: Result<(), Stop>) -> Result<bool, Stop> {
    match waited {
        Ok(()) => Ok(true),
        Err(Stop::Wait { .. }) => Ok(false),
        Err(stop) => Err(stop),
    }
}

/// How many changes of objects a history has, but for those of canaries and Events.
fn written(history: &History) -> usize {
    history.versions().filter(|version| version.kind() != "Event" && !is_of_canary(version.object)).count()
}
