//! The conformance cases: each is one `.rs` file and its manifest, in a folder per group of clauses. To add a
//! case, add these two files and a `mod` line; the build script registers it under the name of its file.

mod adm;
mod aic;
mod aon;
mod auto;
mod backends;
mod before_restore;
mod coex;
mod crash_points;
mod del;
mod disturbances;
mod ext;
mod gang;
mod kai;
mod klt;
mod koord;
mod kube;
mod levels;
mod mig;
mod prelude;
mod start;
mod stat;
mod term;
mod topo;
mod trn;
mod upd;
#[cfg(test)]
mod upstream_tests;
mod vol;

use std::sync::LazyLock;
use std::time::Duration;

use conformance_contract::clauses::CLAUSES;
use conformance_driver::case::Case;

include!(concat!(env!("OUT_DIR"), "/cases.rs"));

/// Every case, in the order of its first clause.
pub fn all() -> impl Iterator<Item = &'static Case> {
    static IN_ORDER: LazyLock<Vec<&Case>> = LazyLock::new(|| {
        let place = |case: &&Case| CLAUSES.iter().position(|clause| Some(&clause.id) == case.clauses.first());
        let mut all: Vec<_> = CASES.iter().collect();
        all.sort_by_key(|case| (place(case), case.id));
        all
    });
    IN_ORDER.iter().copied()
}

/// The cases that decide a clause.
pub fn covering(clause: &str) -> impl Iterator<Item = &'static Case> {
    all().filter(move |case| case.clauses.contains(&clause))
}

pub fn case(id: &str) -> Option<&'static Case> {
    all().find(|case| case.id == id)
}

/// Seconds that a case usually takes on two cores with other cases running; `None` if not measured.
pub fn usual_seconds(id: &str) -> Option<f64> {
    let lines = include_str!("usual-seconds.txt").lines();
    lines.filter_map(|line| line.split_once(' ')).find(|(case, _)| *case == id)?.1.parse().ok()
}

/// Assumed for a case that was not measured: the median of the others.
const UNMEASURED: Duration = Duration::from_secs(6);

/// The usual duration of a case, or [`UNMEASURED`].
pub fn usual_length(id: &str) -> Duration {
    usual_seconds(id).map_or(UNMEASURED, Duration::from_secs_f64)
}

#[cfg(test)]
fn manifest(id: &str) -> &'static str {
    case(id).map(|case| case.manifest).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use conformance_contract::clauses::Clause;
    use conformance_contract::external_scheduler::DECLARABLE;
    use conformance_contract::renamed_cases::RENAMED;
    use conformance_contract::target::{self, AI_CONFORMANCE_TARGETS, TARGETS, Target};
    use conformance_driver::case::{Isolation, Need};
    use conformance_driver::pod_health::UNSTARTED;

    use super::*;

    #[test]
    fn measured_cases_exist() {
        let lines = include_str!("usual-seconds.txt").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(all().filter(|case| usual_seconds(case.id).is_some()).count(), lines.count());
    }

    #[test]
    fn a_renamed_case_has_its_current_id_only() {
        for (former, current) in RENAMED {
            assert!(case(former).is_none() && case(current).is_some(), "{former}: {current}");
        }
    }

    /// A kubelet sets container statuses itself, so a case cannot set them on its nodes.
    #[test]
    fn cases_that_set_container_statuses_need_simulated_nodes() {
        // On kubelets, the first pods of this case become Ready early, which does not affect its result.
        const ON_KUBELETS_TOO: [&str; 1] = ["aon/scaled-waits-for-base"];
        let sets_statuses = |case: &Case| {
            let file = format!("{}/{}.rs", env!("CARGO_MANIFEST_DIR"), case.id.replace('-', "_"));
            let source = std::fs::read_to_string(file).unwrap();
            let words = ["set_pod_status(", "set_first_pod_status(", ".start_clock(", "UNSTARTED"];
            words.iter().any(|word| source.contains(word)) || case.manifest.contains(UNSTARTED)
        };
        let wrong: Vec<_> = all()
            .filter(|case| sets_statuses(case) && !ON_KUBELETS_TOO.contains(&case.id))
            .filter(|case| !case.needs.contains(&Need::SimulatedNodes))
            .map(|case| case.id)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn every_case_runs_on_a_target() {
        let without: Vec<_> = all()
            .filter(|case| !target::every().any(|target| case.is_for(target)))
            .map(|case| case.id)
            .collect();
        assert!(without.is_empty(), "no target meets the requirements of {without:?}");
    }

    #[test]
    fn every_clause_has_a_case_on_every_target_that_owes_it() {
        let has_case = |id: &str, target| all().any(|case| case.is_for(target) && case.clauses.contains(&id));
        let targets = TARGETS.into_iter().chain(AI_CONFORMANCE_TARGETS);
        let owed = targets.flat_map(|target| CLAUSES.iter().map(move |clause| (target, clause)));
        let missing: Vec<_> = owed
            .filter(|(target, clause)| target.owes(clause) && !has_case(clause.id, *target))
            .map(|(target, clause)| format!("{} on {target}", clause.id))
            .collect();
        assert!(missing.is_empty(), "{missing:#?}");
    }

    /// KAI 0.17 identifies a PodGroup by name alone, so PodCliqueSets of one name in two namespaces would be
    /// one gang.
    #[test]
    fn names_of_pod_clique_sets_are_unique_where_cases_share_a_kai() {
        let mut cases: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for case in all().filter(|case| case.isolation == Isolation::Shared && case.is_for(Target::KAI)) {
            for document in grove_yaml::documents(case.manifest).unwrap() {
                let name = document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                cases.entry(name).or_default().push(case.id);
            }
        }
        let shared: Vec<_> = cases.into_iter().filter(|(_, cases)| cases.len() > 1).collect();
        assert!(shared.is_empty(), "{shared:?}");
    }

    #[test]
    fn pods_of_plain_gangs_have_a_gang_size_annotation() {
        let of_plain_pods = all().filter(|case| case.is_for(Target::AI_CONFORMANCE_KUBE));
        let documents: Vec<_> =
            of_plain_pods.flat_map(|case| grove_yaml::documents(case.manifest).unwrap()).collect();
        assert_eq!(documents.len(), 4);
        for pod in documents {
            let size = &pod["metadata"]["annotations"][conformance_contract::names::GANG_SIZE];
            assert!(size.as_str().is_some_and(|size| size.parse::<usize>().is_ok()), "{pod}");
        }
    }

    #[test]
    fn every_clause_that_an_external_scheduler_owes_has_a_case_or_follows_from_others() {
        for features in [&DECLARABLE[..0], &DECLARABLE[..]] {
            let target = Target::external_scheduler("mine", features).unwrap();
            let has_case =
                |id: &str| all().any(|case| case.is_for(target) && case.clauses_on(target).contains(&id));
            let needs_case = |clause: &&Clause| target.owes(clause) && clause.rests_on.is_none();
            let owed = CLAUSES.iter().filter(needs_case).map(|clause| clause.id);
            let missing: Vec<_> = owed.filter(|id| !has_case(id)).collect();
            assert!(missing.is_empty(), "{missing:?}");
        }
    }
}
