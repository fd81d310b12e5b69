use std::sync::LazyLock;
use std::time::Duration;

use conformance_contract::clauses::{CLAUSES, Workload};
use conformance_driver::case::Case;
use conformance_driver::suite::Suite;

static SUITES: [&Suite; 3] =
    [&conformance_cases::SUITE, &conformance_trainjobs::SUITE, &conformance_plainpods::SUITE];

pub fn of(workload: Workload) -> &'static Suite {
    match SUITES.into_iter().find(|suite| suite.workload == workload) {
        Some(suite) => suite,
        None => unreachable!("{workload:?} has no suite"),
    }
}

/// In the order of their first clauses.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    static IN_ORDER: LazyLock<Vec<&Case>> = LazyLock::new(|| {
        let place = |case: &&Case| CLAUSES.iter().position(|clause| Some(&clause.id) == case.clauses.first());
        let mut all: Vec<_> = SUITES.into_iter().flat_map(|suite| suite.cases).collect();
        all.sort_by_key(|case| (place(case), case.id));
        all
    });
    IN_ORDER.iter().copied()
}

pub fn covering(clause: &str) -> impl Iterator<Item = &'static Case> {
    cases().filter(move |case| case.clauses.contains(&clause))
}

pub fn case(id: &str) -> Option<&'static Case> {
    SUITES.into_iter().find_map(|suite| suite.case(id))
}

/// The measured length of the case on two cores, with other cases running. `None` if not measured.
pub fn usual_seconds(id: &str) -> Option<f64> {
    SUITES.into_iter().find_map(|suite| suite.usual_seconds(id))
}

pub fn is_quick(id: &str) -> bool {
    SUITES.into_iter().any(|suite| suite.is_quick(id))
}

/// The length of a case that was not measured: the median of the measured cases.
const UNMEASURED: Duration = Duration::from_secs(6);
/// The median of the generated workloads of seeds 1 to 25.
const GENERATED: Duration = Duration::from_secs(22);

pub fn usual_length(id: &str) -> Duration {
    let is_generated = id.split_once('/').is_some_and(|(group, _)| group == conformance_fuzz::GROUP);
    let unmeasured = if is_generated { GENERATED } else { UNMEASURED };
    usual_seconds(id).map_or(unmeasured, Duration::from_secs_f64)
}

#[cfg(test)]
mod tests {
    use conformance_contract::renamed_cases::RENAMED;
    use conformance_contract::target::{self, Target};
    use conformance_driver::case::Isolation;

    use super::*;

    #[test]
    fn every_target_belongs_to_the_suite_of_its_workload() {
        let of_suites: Vec<_> = SUITES.into_iter().flat_map(|suite| suite.targets).copied().collect();
        assert_eq!(of_suites, target::every().collect::<Vec<_>>());
        for target in of_suites {
            assert!(of(target.workload()).targets.contains(&target), "{target}");
        }
    }

    #[test]
    fn measured_cases_exist() {
        for suite in SUITES {
            let lines = suite.usual_seconds.lines().filter(|line| !line.starts_with('#'));
            let measured = suite.cases.iter().filter(|case| suite.usual_seconds(case.id).is_some());
            assert_eq!(measured.count(), lines.count(), "{:?}", suite.workload);
        }
    }

    #[test]
    fn a_quick_run_has_cases_of_each_group_that_every_scheduler_owes() {
        let suite = of(Workload::PodCliqueSets);
        let lines = suite.quick.lines().filter(|line| !line.starts_with('#'));
        for id in lines {
            assert!(suite.case(id).is_some_and(|case| case.isolation == Isolation::Shared), "{id}");
        }
        for target in [Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG, Target::VOLCANO, Target::KOORDINATOR] {
            let cases = suite.cases.iter().filter(|case| suite.is_quick(case.id) && case.is_for(target));
            let cases: Vec<_> = cases.collect();
            assert!(cases.len() >= 25, "{target}: {}", cases.len());
            for group in ["adm", "gang", "aon", "topo", "del", "stat", "term", "upd", "start", "auto"] {
                assert!(cases.iter().any(|case| case.id.starts_with(group)), "{target}: {group}");
            }
        }
    }

    #[test]
    fn a_renamed_case_has_its_current_id_only() {
        for (former, current) in RENAMED {
            assert!(case(former).is_none() && case(current).is_some(), "{former}: {current}");
        }
    }

    #[test]
    fn every_case_runs_on_a_target() {
        let without: Vec<_> = cases()
            .filter(|case| !target::every().any(|target| case.is_for(target)))
            .map(|case| case.id)
            .collect();
        assert!(without.is_empty(), "no target meets the requirements of {without:?}");
    }

    #[test]
    fn every_clause_has_a_case_on_every_target_that_owes_it() {
        let has_case =
            |id: &str, target: Target| cases().any(|case| case.is_for(target) && case.clauses.contains(&id));
        let owed = target::every().flat_map(|target| CLAUSES.iter().map(move |clause| (target, clause)));
        let missing: Vec<_> = owed
            .filter(|(target, clause)| target.owes(clause) && !has_case(clause.id, *target))
            .map(|(target, clause)| format!("{} on {target}", clause.id))
            .collect();
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
