use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use conformance_contract::clauses::Clause;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_contract::verdict::Outcome;
use conformance_driver::case::{Case, Isolation, Need};
use conformance_driver::limits;
use conformance_report::{CaseResult, Shard};

use crate::deviations;
use crate::environment::runs_in_other_scope;
use crate::suites;
use crate::verdict::{checked_clauses, result_without_run};

#[derive(Debug, Clone)]
pub struct RunPlan {
    pub targets: Vec<Target>,
    pub chosen: Vec<&'static Case>,
    pub left_out: Vec<&'static Case>,
    /// Each with the word of `--skip` that it matches.
    pub skipped: Vec<(&'static Case, String)>,
    /// `None` for a whole run.
    pub shard: Option<ShardSelection>,
    /// The whole contract, or the clauses that a user's own workload can show.
    pub clauses: Vec<Clause>,
}

#[derive(Debug, Clone)]
pub struct ShardSelection {
    pub shard: Shard,
    pub elsewhere: Vec<&'static Case>,
}

impl RunPlan {
    /// Reduces the plan to one shard. Cases are assigned to the shards in turn, so each case is in exactly
    /// one shard and the shards have equal sizes. Cases for none of the plan's targets are left out.
    #[must_use]
    pub fn of_shard(mut self, shard: Shard) -> Self {
        let targets = &self.targets;
        let is_for_targets = |case: &&Case| targets.iter().any(|target| case.is_for(*target));
        let (cases, for_others): (Vec<_>, Vec<_>) = self.chosen.into_iter().partition(is_for_targets);
        self.left_out.extend(for_others);
        let (mut chosen, mut elsewhere) = (Vec::new(), Vec::new());
        for (index, case) in cases.into_iter().enumerate() {
            if shard.contains(index) { chosen.push(case) } else { elsewhere.push(case) }
        }
        Self { chosen, shard: Some(ShardSelection { shard, elsewhere }), ..self }
    }

    /// Returns the initial number of control planes for dedicated cases, which mostly wait, by scheduler.
    ///
    /// Each scheduler gets one; there are up to three in all, or one more than schedulers. An extra one goes
    /// to the longest queue per control plane, if it has at least five cases, which justify the start.
    pub fn control_planes(&self, lifecycle_scope: Option<Target>) -> BTreeMap<Scheduler, u32> {
        let lengths_on = |target: Target| {
            let runs_here = move |case: &Case| {
                lifecycle_scope.is_none_or(|scope| !runs_in_other_scope(case, target, scope))
            };
            let dedicated = self.chosen.iter().filter(|case| case.isolation == Isolation::Dedicated);
            let cases = dedicated.filter(move |case| case.is_for(target) && runs_here(case));
            cases.map(move |case| usual_length(case, target))
        };
        let lengths = |scheduler: Scheduler| -> Vec<Duration> {
            let targets = self.targets.iter().filter(|target| target.scheduler() == scheduler);
            targets.flat_map(|target| lengths_on(*target)).collect()
        };
        let mut planes: BTreeMap<Scheduler, u32> =
            self.targets.iter().map(|target| (target.scheduler(), 1)).collect();
        for _ in planes.len()..(planes.len() + 1).max(3) {
            let all = planes.iter_mut().map(|(scheduler, planes)| (lengths(*scheduler), planes));
            let candidates = all.filter(|(lengths, planes)| lengths.len() / 5 > **planes as usize);
            match candidates.max_by_key(|(lengths, planes)| lengths.iter().sum::<Duration>() / **planes) {
                Some((_, planes)) => *planes += 1,
                None => break,
            }
        }
        planes
    }

    pub(crate) fn in_order(&self) -> Vec<(&'static Case, Target)> {
        let mut in_order: Vec<(&'static Case, Target)> = Vec::new();
        for case in &self.chosen {
            let targets = self.targets.iter().filter(|target| case.is_for(**target));
            in_order.extend(targets.map(|target| (*case, *target)));
        }
        in_order.sort_by_cached_key(|(case, target)| start_order(case, *target));
        in_order
    }

    fn cases_left_out(&self) -> impl Iterator<Item = (&'static Case, Outcome)> {
        let left_out = self.left_out.iter().map(|case| (*case, conformance_report::not_selected()));
        let skipped = self.skipped.iter().map(|(case, word)| (*case, conformance_report::skipped(word)));
        let elsewhere = self.shard.iter().flat_map(|selection| {
            let outcome = selection.shard.elsewhere();
            selection.elsewhere.iter().map(move |case| (*case, outcome.clone()))
        });
        left_out.chain(skipped).chain(elsewhere)
    }
}

/// The sort key of the start order: dedicated cases first, because they run one at a time and shared cases
/// fill the remaining time; then exclusive cases, which wait until the running cases have ended. Within each
/// group the longest start first, so that a run does not end with one long case.
pub fn start_order(case: &Case, target: Target) -> (u8, Reverse<Duration>) {
    let rank = match case.isolation {
        Isolation::Dedicated | Isolation::Upgrade => 0,
        Isolation::Exclusive => 1,
        Isolation::Shared => 2,
    };
    (rank, Reverse(usual_length(case, target)))
}

/// Whether the case can decide a clause of the target on a local control plane. Cases with kubelets and
/// upgrades have tests of their own: an upgrade needs an older operator.
pub fn runs_locally(case: &Case, target: Target) -> bool {
    !checked_clauses(case, target).is_empty()
        && !case.needs.contains(&Need::Kubelets)
        && case.group() != "mig"
}

/// A case that may show a known deviation may also wait for a timeout.
fn usual_length(case: &Case, target: Target) -> Duration {
    let timeout =
        if deviations::may_show(case.id, target) { limits::SCHEDULING.length } else { Duration::ZERO };
    suites::usual_length(case.id) + timeout
}

impl RunPlan {
    /// Adds a result for each case without one, and sorts all results in the order of the suite. A case that
    /// the run leaves out gets that reason as its outcome. Any other case gets `lacking`.
    pub(crate) fn fill(&self, results: &mut BTreeMap<Target, Vec<CaseResult>>, lacking: &Outcome) {
        for target in &self.targets {
            let of_target = results.entry(*target).or_default();
            let is_missing =
                |case: &&&Case| case.is_for(*target) && of_target.iter().all(|result| result.id != case.id);
            let missing: Vec<_> = self.chosen.iter().filter(is_missing).collect();
            of_target.extend(missing.into_iter().map(|case| result_without_run(case, *target, lacking)));
            let left_out = self.cases_left_out().filter(|(case, _)| case.is_for(*target));
            of_target.extend(left_out.map(|(case, outcome)| result_without_run(case, *target, &outcome)));
            // A generated case is not in the suite, so its position in the selection counts.
            let position = |id: &str| {
                let selected = self.chosen.iter().position(|case| case.id == id);
                (suites::cases().position(|case| case.id == id), selected)
            };
            of_target.sort_by_key(|result| position(&result.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(targets: &[Target]) -> RunPlan {
        let chosen = suites::cases().collect();
        RunPlan {
            targets: targets.into(),
            chosen,
            left_out: Vec::new(),
            skipped: Vec::new(),
            shard: None,
            clauses: Vec::new(),
        }
    }

    fn control_planes(targets: &[Target], lifecycle_scope: Option<Target>) -> BTreeMap<Scheduler, u32> {
        plan(targets).control_planes(lifecycle_scope)
    }

    #[test]
    fn a_case_that_may_time_out_starts_early() {
        let in_order = plan(&[Target::KUBE_POD_GANG, Target::KOORDINATOR]).in_order();
        let position = |id: &str, target: Target| {
            let wanted = |(case, on): &(&Case, Target)| case.id == id && *on == target;
            in_order.iter().position(wanted).unwrap()
        };
        let (kube, koordinator) = (Target::KUBE_POD_GANG, Target::KOORDINATOR);
        // On koord-scheduler the case may time out: a later small gang is sometimes never bound.
        assert!(position("aon/room-for-one", koordinator) < position("aon/one-clique-too-large", kube));
        assert!(position("aon/room-for-one", koordinator) < position("aon/room-for-one", kube));
        let is_dedicated = |case: &Case| matches!(case.isolation, Isolation::Dedicated | Isolation::Upgrade);
        let first = in_order.iter().take_while(|(case, _)| is_dedicated(case)).count();
        assert_eq!(first, in_order.iter().filter(|(case, _)| is_dedicated(case)).count());
    }

    #[test]
    fn a_skipped_case_is_not_run_and_its_reason_names_the_word() {
        let mut plan = plan(&[Target::VOLCANO]);
        let place = plan.chosen.iter().position(|case| case.id == "aon/one-pod-short").unwrap();
        plan.skipped.push((plan.chosen.remove(place), "aon/*-short".to_owned()));
        let mut results = BTreeMap::new();
        plan.fill(&mut results, &Outcome::error("lost"));
        let result =
            results[&Target::VOLCANO].iter().find(|result| result.id == "aon/one-pod-short").unwrap();
        assert_eq!(result.outcome.reasons, ["skipped by --skip aon/*-short"]);
    }

    #[test]
    fn the_scheduler_with_most_dedicated_cases_gets_the_extra_control_planes() {
        let scopes = [Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG];
        let kube = |count| (Scheduler::KUBE, count);
        assert_eq!(control_planes(&scopes[..1], None), [kube(3)].into());
        assert_eq!(control_planes(&scopes, Some(scopes[0])), [kube(3)].into());
        let (volcano, kai) = (Target::VOLCANO.scheduler(), Target::KAI.scheduler());
        let both = control_planes(&[scopes[0], scopes[1], Target::KAI], None);
        assert_eq!(both, [kube(2), (kai, 1)].into());
        let three = control_planes(&[scopes[0], scopes[1], Target::VOLCANO, Target::KAI], Some(scopes[0]));
        assert_eq!(three, [kube(2), (volcano, 1), (kai, 1)].into());
    }
}
