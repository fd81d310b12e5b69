//! Which cases `cargo test` runs on which targets. `ci/full` also runs the others.
//!
//! Every case runs on [`DEFAULT`]. Another target repeats only the cases on which its scheduler, its gang
//! resources or one of its mutants has an effect. For all other cases, the operator runs the same code.

use std::ops::RangeInclusive;

use conformance_contract::clauses::{Clause, Party, clause};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_driver::case::Case;

use crate::{MUTANTS, Mutant, MutantTier, TableError};

/// The gang scope in which a default run judges lifecycle cases.
pub const DEFAULT: Target = Target::KUBE_POD_GANG;

/// Seeds of the generated workloads that are tests, those of them that run on [`DEFAULT`], and those that run
/// on every target.
pub const SEEDS: RangeInclusive<u64> = 1..=25;
const SEEDS_OF_DEFAULT: RangeInclusive<u64> = 1..=10;
const SEEDS_OF_EVERY_TARGET: RangeInclusive<u64> = 1..=5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The target is [`DEFAULT`], or the case decides a clause there that it does not decide on [`DEFAULT`].
    Default,
    /// The case decides a clause on which the scheduler or its gang resources have an effect.
    Backend,
    Mutant,
}

impl Reason {
    pub const ALL: [Self; 3] = [Self::Default, Self::Backend, Self::Mutant];

    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Backend => "backend",
            Self::Mutant => "mutant",
        }
    }
}

/// Why `cargo test` runs the case on the target; `None` if only `ci/full` runs it there.
pub fn reason(case: &Case, target: Target) -> Result<Option<Reason>, TableError> {
    if target == DEFAULT || owed(case, target).iter().any(|id| !owed(case, DEFAULT).contains(id)) {
        return Ok(Some(Reason::Default));
    }
    if case.clauses.iter().filter_map(|id| clause(id)).any(|clause| depends_on_backend(clause, target)) {
        return Ok(Some(Reason::Backend));
    }
    // The same case on the default target kills the mutants of the other gang scope.
    let is_of_target = !is_other_scope(target) && has_mutant(case, target)?;
    Ok(is_of_target.then_some(Reason::Mutant))
}

/// Whether `cargo test` runs the workload of the seed on the target. A mutant must name it to run it.
pub fn runs_generated(case: &Case, seed: u64, target: Target) -> Result<bool, TableError> {
    let is_named = mutants_of(target)?.any(|mutant| mutant.cases.iter().any(|name| name == case.id));
    let seeds = if target == DEFAULT { SEEDS_OF_DEFAULT } else { SEEDS_OF_EVERY_TARGET };
    Ok(seeds.contains(&seed) || is_named)
}

fn has_mutant(case: &Case, target: Target) -> Result<bool, TableError> {
    Ok(mutants_of(target)?.any(|mutant| mutant.runs(case)))
}

fn mutants_of(target: Target) -> Result<impl Iterator<Item = &'static Mutant>, TableError> {
    let all = MUTANTS.as_ref().map_err(Clone::clone)?;
    let of_target =
        move |(tier, mutant): &&(MutantTier, Mutant)| *tier == MutantTier::Local && mutant.target == target;
    Ok(all.iter().filter(of_target).map(|(_, mutant)| mutant))
}

fn owed(case: &Case, target: Target) -> Vec<&'static str> {
    if case.is_for(target) { case.clauses_on(target) } else { Vec::new() }
}

/// Lifecycle clauses that involve the scheduler only require that it binds pods, which AON shows.
fn depends_on_backend(clause: &Clause, target: Target) -> bool {
    let is_about_scheduling = !clause.is_lifecycle()
        && (clause.backend().is_some() || clause.depends_on.contains(&Party::Scheduler));
    target.is_subject_to(clause) && (clause.needs_gang_resources || is_about_scheduling)
}

/// Whether the target is another gang scope of the default target's backend.
fn is_other_scope(target: Target) -> bool {
    target.backend() == DEFAULT.backend()
        && Kubernetes::ALL.into_iter().any(|version| target.is_on(version) && DEFAULT.is_on(version))
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::{self, TARGETS};
    use conformance_driver::test_cluster::DEFAULT_SEED;
    use conformance_run::environment::choose_lifecycle_scope;
    use conformance_run::suites;

    use super::*;

    fn is_run(case: &Case, target: Target) -> bool {
        reason(case, target).unwrap().is_some()
    }

    #[test]
    fn the_default_target_is_the_one_with_the_lifecycle_cases_of_a_default_run() {
        let judged: Vec<_> = TARGETS
            .into_iter()
            .filter(|target| target.backend() == DEFAULT.backend() && target.is_on(Kubernetes::default()))
            .collect();
        assert_eq!(choose_lifecycle_scope(&judged, DEFAULT_SEED), Some(DEFAULT));
    }

    #[rstest::rstest]
    #[case("term/group-replica", Target::KUBE_POD_GANG, Some(Reason::Default))]
    #[case("term/group-replica", Target::KUBE_POD_GROUP, None)]
    #[case("term/group-replica", Target::VOLCANO, None)]
    #[case("term/group-replica", Target::KUBE_TREE, None)]
    #[case("adm/longest-names-bound", Target::KOORDINATOR, None)]
    #[case("vol/queues", Target::VOLCANO, Some(Reason::Default))]
    #[case("auto/scale-to-zero", Target::KOORDINATOR, Some(Reason::Default))]
    #[case("aon/one-pod-short", Target::VOLCANO, Some(Reason::Backend))]
    #[case("aon/one-pod-short", Target::KUBE_POD_GROUP, Some(Reason::Backend))]
    #[case("gang/shape", Target::KOORDINATOR, Some(Reason::Backend))]
    #[case("upd/replacement-stays-in-rack", Target::KOORDINATOR, Some(Reason::Mutant))]
    #[case("upd/replacement-stays-in-rack", Target::VOLCANO, None)]
    fn a_backend_repeats_only_the_cases_that_it_affects(
        #[case] id: &str,
        #[case] target: Target,
        #[case] wanted: Option<Reason>,
    ) {
        assert_eq!(reason(suites::case(id).unwrap(), target).unwrap(), wanted);
    }

    /// A mutant of the other gang scope may be killed on the default target.
    #[test]
    fn every_case_of_a_mutant_runs() {
        for mutant in MutantTier::Local.mutants().unwrap() {
            let target = mutant.target;
            let is_judged = |case: &&Case| mutant.runs(case) && !owed(case, target).is_empty();
            for case in suites::cases().filter(is_judged) {
                let runs = is_run(case, target)
                    || (is_other_scope(target) && !owed(case, DEFAULT).is_empty() && is_run(case, DEFAULT));
                assert!(runs, "{}: {} on {target}", mutant.id, case.id);
            }
        }
    }

    #[rstest::rstest]
    #[case::of_the_default_target(10, Target::KUBE_POD_GANG, true)]
    #[case::on_no_target(11, Target::KUBE_POD_GANG, false)]
    #[case::of_every_target(5, Target::VOLCANO, true)]
    #[case::named_by_a_mutant(18, Target::KUBE_POD_GROUP, true)]
    // Its clauses are those of many mutants, which do not run it.
    #[case::named_by_no_mutant(17, Target::KUBE_POD_GROUP, false)]
    #[case::named_on_another_target(18, Target::VOLCANO, false)]
    fn a_target_repeats_few_generated_workloads(
        #[case] seed: u64,
        #[case] target: Target,
        #[case] wanted: bool,
    ) {
        let case = conformance_fuzz::case(&format!("{}/{seed}", conformance_fuzz::GROUP)).unwrap();
        assert_eq!(runs_generated(case, seed, target).unwrap(), wanted);
    }

    #[test]
    fn every_generated_workload_of_a_mutant_runs() {
        for mutant in MutantTier::Local.mutants().unwrap() {
            for id in &mutant.cases {
                let Some(case) = conformance_fuzz::case(id) else { continue };
                let seed: u64 = id.rsplit('/').next().unwrap().parse().unwrap();
                let runs = runs_generated(case, seed, mutant.target).unwrap();
                assert!(runs || !SEEDS.contains(&seed), "{}: {id} on {}", mutant.id, mutant.target);
            }
        }
    }

    #[test]
    fn every_clause_of_a_case_runs_on_some_target() {
        for case in suites::cases() {
            let (run, left_out): (Vec<_>, Vec<_>) = target::every().partition(|target| is_run(case, *target));
            let decided: Vec<_> = run.into_iter().flat_map(|target| owed(case, target)).collect();
            let mut missing = left_out.into_iter().flat_map(|target| owed(case, target));
            assert_eq!(missing.find(|id| !decided.contains(id)), None, "{}", case.id);
        }
    }
}
