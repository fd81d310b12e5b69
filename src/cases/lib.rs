//! The registry: every case, by group. A new case is a file in its group's folder, its manifest beside it, and a line
//! in the group's `CASES`.

mod adm;
mod aon;
mod coex;
mod del;
mod ext;
mod gang;
mod kai;
mod klt;
mod koord;
mod kube;
mod topo;
mod vol;

use conformance_driver::case::Case;

/// The groups, in the order of the contract.
const GROUPS: [&[&Case]; 12] = [
    adm::CASES,
    gang::CASES,
    aon::CASES,
    topo::CASES,
    del::CASES,
    coex::CASES,
    kai::CASES,
    kube::CASES,
    vol::CASES,
    koord::CASES,
    ext::CASES,
    klt::CASES,
];

/// Every case.
pub fn all() -> impl Iterator<Item = &'static Case> {
    GROUPS.into_iter().flatten().copied()
}

/// The case of that id.
pub fn case(id: &str) -> Option<&'static Case> {
    all().find(|case| case.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use conformance_contract::clauses::CLAUSES;
    use conformance_contract::external_scheduler::{DECLARABLE, ExternalScheduler};
    use conformance_contract::target::{TARGETS, Target};
    use conformance_driver::case::Lane;

    use super::*;

    #[test]
    fn every_clause_has_a_case_on_every_target_that_owes_it() {
        let judged = |id: &str, target| all().any(|case| case.is_for(target) && case.clauses.contains(&id));
        let owed = TARGETS.into_iter().flat_map(|target| CLAUSES.iter().map(move |clause| (target, clause)));
        let missing: Vec<_> = owed
            .filter(|(target, clause)| target.owes(clause) && !judged(clause.id, *target))
            .map(|(target, clause)| format!("{} on {target}", clause.id))
            .collect();
        assert!(missing.is_empty(), "{missing:#?}");
    }

    /// KAI 0.17 knows a PodGroup by its name alone: PodCliqueSets of one name in two namespaces would be one gang.
    #[test]
    fn names_of_pod_clique_sets_are_unique_where_cases_share_a_kai() {
        let mut cases: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for case in all().filter(|case| case.lane == Lane::Shared && case.is_for(Target::Kai)) {
            for document in grove_yaml::documents(case.manifest).unwrap() {
                let name = document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                cases.entry(name).or_default().push(case.id);
            }
        }
        let shared: Vec<_> = cases.into_iter().filter(|(_, cases)| cases.len() > 1).collect();
        assert!(shared.is_empty(), "{shared:?}");
    }

    #[test]
    fn every_clause_that_an_external_scheduler_owes_has_a_case_or_follows_from_others() {
        for features in [&DECLARABLE[..0], &DECLARABLE[..]] {
            let target = Target::ExternalScheduler(ExternalScheduler::new("mine", features).unwrap());
            let judged =
                |id: &str| all().any(|case| case.is_for(target) && case.clauses_on(target).contains(&id));
            let owed = CLAUSES.iter().filter(|clause| target.owes(clause)).map(|clause| clause.id);
            let missing: Vec<_> = owed.filter(|id| *id != "EXT-03" && !judged(id)).collect();
            assert!(missing.is_empty(), "{missing:?}");
        }
    }
}
