//! The clusters of a run: a shared one, and control planes for dedicated cases. `execute` runs one case.
//!
//! A cluster starts when the first case needs it. After an interruption, no case and no cluster starts.
//! [`Environment::close`] ends the existing clusters.

mod bring_up;
mod cancellation;
mod closing;
mod execute;
mod held;
mod preview;
mod renewable;
mod requirements;
mod seats;
mod settings;
mod stays;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

pub use self::cancellation::Cancellation;
pub use self::execute::Observed;
pub use self::held::HeldCase;
use self::held::HeldCases;
pub use self::preview::Preview;
use self::renewable::Renewable;
pub use self::requirements::{choose_lifecycle_scope, runs_in_other_scope};
use self::seats::Seats;
pub use self::settings::{Origin, Settings};
use self::stays::{Stay, Stays};
use conformance_cluster::ClusterError;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::{self, Target};
use conformance_driver::case::Isolation;
use conformance_driver::test_cluster::TestCluster;
use conformance_install::memory;
use conformance_programs::available_memory;
use conformance_programs::processors::Processors;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::first_failure::FirstFailure;
use crate::interruption::Interruption;

/// The maximum number of concurrent cases, as a multiple of the initial number.
const MOST_SEATS: u32 = 3;
const MOST_CONTROL_PLANES: u32 = 6;
/// The maximum number of concurrent upgrade cases. They mostly wait, each on a control plane of its own.
const MOST_UPGRADES: u32 = 2;
const PACE: Duration = Duration::from_millis(500);
const IDLE: f64 = 0.4;
const BUSY: f64 = 0.1;

#[derive(Debug)]
pub struct Environment {
    pub settings: Settings,
    shared: ClusterSlot,
    dedicated: BTreeMap<Scheduler, Vec<ClusterSlot>>,
    dedicated_started: AtomicU32,
    /// Limits the number of concurrent upgrade cases. Their control planes are not stored in this slot.
    upgrades: ClusterSlot,
    /// The control planes of upgrade cases, for as long as the cases use them.
    upgraded: Mutex<Vec<Weak<TestCluster>>>,
    cases: AtomicU32,
    stays: Stays,
    interruption: Arc<Interruption>,
    first_failure: Option<Arc<FirstFailure>>,
    held: HeldCases,
}

#[derive(Debug)]
struct ClusterSlot {
    test_cluster: Renewable<Result<Arc<TestCluster>, Arc<ClusterError>>>,
    seats: Seats,
}

impl ClusterSlot {
    fn new(seats: u32) -> Self {
        Self { test_cluster: Renewable::new(), seats: Seats::new(seats) }
    }
}

/// One, and another one if there is memory for it in addition to the planned control planes.
fn concurrent_upgrades(planned: &BTreeMap<Scheduler, u32>, fit: Option<u32>) -> u32 {
    let left = fit.map_or(MOST_UPGRADES, |fit| fit.saturating_sub(planned.values().sum()));
    left.clamp(1, MOST_UPGRADES)
}

fn limited(mut planned: BTreeMap<Scheduler, u32>, fit: Option<u32>) -> BTreeMap<Scheduler, u32> {
    while fit.is_some_and(|fit| planned.values().sum::<u32>() > fit) {
        match planned.values_mut().max().filter(|most| **most > 1) {
            Some(most) => *most -= 1,
            None => break,
        }
    }
    planned
}

impl Environment {
    pub fn new(settings: Settings) -> Self {
        let shared = ClusterSlot::new(u32::try_from(settings.concurrency).unwrap_or(u32::MAX));
        let schedulers = settings.spec.schedulers.len();
        let fit = available_memory::in_mib().map(|available| memory::planes_within(available, schedulers));
        let planned = limited(settings.dedicated.clone(), fit);
        let slots = |scheduler| {
            let open = planned.get(&scheduler).copied().unwrap_or(1).max(1);
            let all = if settings.grows { open.max(MOST_CONTROL_PLANES) } else { open };
            (0..all).map(|index| ClusterSlot::new(u32::from(index < open))).collect()
        };
        let schedulers = target::every().map(Target::scheduler);
        let dedicated = schedulers.map(|scheduler| (scheduler, slots(scheduler))).collect();
        let upgrades = ClusterSlot::new(concurrent_upgrades(&planned, fit));
        Self {
            settings,
            shared,
            dedicated,
            dedicated_started: AtomicU32::new(0),
            upgrades,
            upgraded: Mutex::default(),
            cases: AtomicU32::new(0),
            stays: Stays::default(),
            interruption: Arc::default(),
            first_failure: None,
            held: HeldCases::default(),
        }
    }

    #[must_use]
    pub fn interrupted_by(self, interruption: Arc<Interruption>) -> Self {
        Self { interruption, ..self }
    }

    #[must_use]
    pub fn ended_by(self, first_failure: Option<Arc<FirstFailure>>) -> Self {
        Self { first_failure, ..self }
    }

    pub fn interruption(&self) -> &Interruption {
        &self.interruption
    }

    /// Runs more cases at once while CPUs are idle, until the returned JoinSet is shut down or dropped.
    pub fn grow_in_background(self: &Arc<Self>) -> JoinSet<()> {
        let mut growing = JoinSet::new();
        if self.settings.grows {
            let environment = self.clone();
            growing.spawn(async move { environment.grow().await });
        }
        growing
    }

    /// CPUs are idle on more than two cores, or if most cases wait, as with an operator of many violations.
    async fn grow(&self) {
        let at_first = u32::try_from(self.settings.concurrency).unwrap_or(u32::MAX);
        let most = at_first.saturating_mul(MOST_SEATS);
        let mut processors = Processors::default();
        loop {
            match processors.idle() {
                Some(idle) if idle > IDLE && !self.shared.seats.add(most) => self.open_control_plane().await,
                Some(idle) if idle < BUSY => self.shared.seats.remove(at_first),
                _ => {}
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Starts one more control plane for waiting dedicated cases, if memory allows. A failure is only logged.
    async fn open_control_plane(&self) {
        let in_use = self.settings.dedicated.keys().filter_map(|scheduler| self.dedicated.get(scheduler));
        let open: u32 = in_use.flatten().map(|slot| slot.seats.count()).sum();
        if open >= MOST_CONTROL_PLANES || !memory::another_fits() {
            return;
        }
        let is_closed = |slot: &&ClusterSlot| slot.seats.count() == 0;
        let is_untried = |slot: &&ClusterSlot| slot.test_cluster.get().is_none();
        let wanted = target::every().find_map(|target| {
            let mut slots = self.dedicated.get(&target.scheduler())?.iter();
            let slot = slots.find(is_closed).filter(is_untried).filter(|slot| slot.seats.is_wanted())?;
            Some((slot, target))
        });
        let Some((slot, target)) = wanted else { return };
        match self.test_cluster_at(slot, Isolation::Dedicated, target).await {
            Ok(_) if slot.seats.add(1) => {}
            // No case waits any more.
            Ok(_) => self.end_control_plane(slot).await,
            Err(error) => tracing::warn!(%error, "failed to start another control plane"),
        }
    }

    /// Ends the control planes of dedicated cases for which no case waits, to save CPU time and memory.
    pub(crate) async fn end_unwanted_control_planes(&self, isolation: Isolation, target: Target) {
        if isolation != Isolation::Dedicated || !self.held.is_empty() || self.interruption.is_requested() {
            return;
        }
        for slot in self.slots(isolation, target) {
            let Some(_seat) = slot.seats.unwanted() else { continue };
            self.end_control_plane(slot).await;
        }
    }

    async fn end_control_plane(&self, slot: &ClusterSlot) {
        if let Some(Ok(unwanted)) = slot.test_cluster.take_if(Result::is_ok)
            && let Err(error) = self.end(unwanted).await
        {
            tracing::warn!(%error, "failed to stop an unused control plane");
        }
    }

    pub fn at_once(&self) -> u32 {
        self.shared.seats.most()
    }

    fn slots(&self, isolation: Isolation, target: Target) -> &[ClusterSlot] {
        let shared = std::slice::from_ref(&self.shared);
        match isolation {
            Isolation::Shared | Isolation::Exclusive => shared,
            Isolation::Dedicated => self.dedicated.get(&target.scheduler()).map_or(shared, Vec::as_slice),
            Isolation::Upgrade => std::slice::from_ref(&self.upgrades),
        }
    }

    /// Returns the first cluster for the isolation and target, and starts it on the first call. For an
    /// upgrade, each call starts a new cluster, which the caller must end. A failed start is not repeated.
    pub async fn test_cluster(
        &self,
        isolation: Isolation,
        target: Target,
    ) -> Result<Arc<TestCluster>, Arc<ClusterError>> {
        self.test_cluster_at(&self.slots(isolation, target)[0], isolation, target).await
    }

    /// Returns the slot's cluster, started on the first call or, for an upgrade, on each call.
    async fn test_cluster_at(
        &self,
        slot: &ClusterSlot,
        isolation: Isolation,
        target: Target,
    ) -> Result<Arc<TestCluster>, Arc<ClusterError>> {
        let settings = &self.settings;
        let bring_up = async || {
            // A new number for each cluster: the folder of an earlier cluster may still exist.
            let number = || self.dedicated_started.fetch_add(1, Ordering::Relaxed) + 1;
            // Boxed, because each move of this future takes stack space in an unoptimised build.
            let starting = Box::pin(async {
                match isolation {
                    Isolation::Shared | Isolation::Exclusive => self.bring_up_shared().await,
                    Isolation::Dedicated => {
                        let name = dedicated_name(target.scheduler(), number());
                        self.bring_up_local(&name, self.dedicated_spec(target)).await
                    }
                    Isolation::Upgrade => {
                        let no_upgrade = ClusterError::OtherProvider { needed: "a cluster with an upgrade" };
                        let spec = self.dedicated_spec(target).before_upgrade().ok_or(no_upgrade)?;
                        self.bring_up_local(&format!("upgrade-{}", number()), spec).await
                    }
                }
            });
            let started = match settings.origin {
                Origin::Local | Origin::Kind(_) => self.interruption.unless_requested(starting).await,
                // The setup in a user's cluster handles interruptions: it must delete what it has created.
                Origin::Up(_) | Origin::Existing { .. } => Some(starting.await),
            };
            started.unwrap_or(Err(ClusterError::Interrupted)).map(Arc::new).map_err(Arc::new)
        };
        match isolation {
            Isolation::Upgrade => {
                let started = bring_up().await;
                self.upgraded.lock().extend(started.as_ref().map(Arc::downgrade));
                started
            }
            _ => slot.test_cluster.get_or_create(bring_up).await,
        }
    }

    /// Ends a dedicated cluster with a failed component, which the next case replaces, if it ever started.
    async fn end_if_broken(&self, slot: &ClusterSlot, isolation: Isolation, target: Target) {
        if isolation != Isolation::Dedicated || !self.held.is_empty() {
            return;
        }
        let is_broken = |started: &Result<Arc<TestCluster>, _>| {
            started.as_ref().is_ok_and(|started| {
                started.cluster.dead().is_some() || started.cluster.scheduler_ended(target.scheduler())
            })
        };
        if let Some(Ok(broken)) = slot.test_cluster.take_if(is_broken)
            && let Err(error) = self.end(broken).await
        {
            tracing::warn!(%error, "failed to remove a cluster with a failed component");
        }
    }

    pub fn shared(&self) -> Option<Arc<TestCluster>> {
        self.shared.test_cluster.get()?.ok()
    }

    pub(crate) fn critical_path(&self) -> Vec<Stay> {
        self.stays.critical_path()
    }

    pub fn cluster_ready(&self) -> Option<Duration> {
        self.shared()?.cluster.ready_in()
    }
}

/// The caller prepends the run's id. The whole name has at most 40 characters.
fn dedicated_name(scheduler: Scheduler, number: u32) -> String {
    format!("{}-{number}", scheduler.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::enough_memory(Some(6), [3, 1])]
    #[case::no_limit(None, [3, 1])]
    #[case::less_memory(Some(3), [2, 1])]
    #[case::none(Some(0), [1, 1])]
    fn control_planes_are_limited_to_the_number_that_fits(
        #[case] fit: Option<u32>,
        #[case] planes: [u32; 2],
    ) {
        let schedulers = [Scheduler::KUBE, Target::VOLCANO.scheduler()];
        let planned = schedulers.into_iter().zip([3, 1]).collect();
        assert_eq!(limited(planned, fit), schedulers.into_iter().zip(planes).collect());
    }

    #[rstest::rstest]
    #[case::unknown_memory(None, 2)]
    #[case::none_left(Some(3), 1)]
    #[case::one_left(Some(4), 1)]
    #[case::two_left(Some(5), 2)]
    fn a_second_upgrade_case_needs_memory_that_no_planned_control_plane_uses(
        #[case] fit: Option<u32>,
        #[case] upgrades: u32,
    ) {
        let planned = BTreeMap::from([(Scheduler::KUBE, 2), (Target::VOLCANO.scheduler(), 1)]);
        assert_eq!(concurrent_upgrades(&planned, fit), upgrades);
    }

    #[test]
    fn names_of_dedicated_clusters_are_not_too_long() {
        for target in target::every() {
            let name = format!("0123456-{}", dedicated_name(target.scheduler(), 99));
            assert!(name.len() <= 40, "{name}");
        }
    }
}
