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

use super::case::Case;

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

    use super::*;
    use crate::suite::case::Lane;
    use crate::suite::clauses::CLAUSES;
    use crate::suite::target::{TARGETS, Target};

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
            for document in crate::yaml::documents(case.manifest).unwrap() {
                let name = document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                cases.entry(name).or_default().push(case.id);
            }
        }
        let shared: Vec<_> = cases.into_iter().filter(|(_, cases)| cases.len() > 1).collect();
        assert!(shared.is_empty(), "{shared:?}");
    }
}
