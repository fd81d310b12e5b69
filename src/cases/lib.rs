//! The conformance cases for PodCliqueSets. Each case is one `.rs` file with a `mod` line and one manifest,
//! in the folder of its group of clauses. The build script registers a case under the path of its file.

mod adm;
#[cfg(test)]
mod answered;
mod aon;
mod auto;
mod backends;
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
mod pre;
mod prelude;
mod start;
mod stat;
mod term;
mod topo;
mod upd;
mod update_finding;
#[cfg(test)]
mod upstream_tests;
mod vol;
mod wake;

use backends::Backend;
use conformance_check::invariants;
use conformance_contract::clauses::Workload;
use conformance_contract::kinds::KINDS;
use conformance_contract::target::TARGETS;
use conformance_driver::case::Case;
use conformance_driver::suite::{Invariants, Suite};

include!(concat!(env!("OUT_DIR"), "/cases.rs"));

pub static SUITE: Suite = Suite {
    workload: Workload::PodCliqueSets,
    cases: CASES,
    targets: &TARGETS,
    kinds: || KINDS.to_vec(),
    invariants: Invariants { clauses: invariants::clauses, broken: invariants::broken },
    usual_seconds: include_str!("usual-seconds.txt"),
    quick: include_str!("quick.txt"),
};

static BACKENDS: [&Backend; 6] = [
    &ext::admission::BACKEND,
    &kube::admission::FLAT,
    &kube::admission::TREE,
    &vol::admission::BACKEND,
    &koord::admission::BACKEND,
    &kai::admission::BACKEND,
];

#[cfg(test)]
fn manifest(id: &str) -> &'static str {
    SUITE.case(id).map(|case| case.manifest).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use conformance_contract::clauses::{CLAUSES, Clause};
    use conformance_contract::external_scheduler::DECLARABLE;
    use conformance_contract::target::Target;
    use conformance_driver::case::{Isolation, Need};
    use conformance_driver::enrichment::{Enrichment, enrich, selected};
    use conformance_driver::pod_health::UNSTARTED;
    use serde_json::Value;

    use super::*;

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
        let wrong: Vec<_> = CASES
            .iter()
            .filter(|case| sets_statuses(case) && !ON_KUBELETS_TOO.contains(&case.id))
            .filter(|case| !case.needs.contains(&Need::SimulatedNodes))
            .map(|case| case.id)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    fn pod_clique_sets(case: &Case) -> impl Iterator<Item = Value> {
        let documents = grove_yaml::documents(case.manifest).unwrap();
        documents.into_iter().filter(|document| document["kind"] == "PodCliqueSet")
    }

    /// A fault shows only in some situations, so many cases in many groups must have each feature.
    #[test]
    fn every_clique_is_enriched_and_each_feature_occurs_in_many_cases() {
        let mut cases: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for case in CASES {
            for pcs in pod_clique_sets(case) {
                for clique in pcs["spec"]["template"]["cliques"].as_array().unwrap() {
                    let features = selected(case.id, clique, case.left_out);
                    assert!(!features.is_empty(), "{} does not enrich {clique}", case.id);
                    for feature in features {
                        cases.entry(format!("{feature:?}")).or_default().insert(case.id);
                    }
                }
            }
        }
        for feature in Enrichment::ALL {
            let cases = &cases[&format!("{feature:?}")];
            let groups: BTreeSet<_> = cases.iter().filter_map(|id| id.split('/').next()).collect();
            assert!(cases.len() * 10 >= CASES.len(), "only {} cases have {feature:?}", cases.len());
            assert!(groups.len() >= 10, "{feature:?} occurs only in {groups:?}");
        }
    }

    /// Larger pods make a run longer. When every clique had all features, a pod grew by 3900 bytes, and a
    /// default run took 90 % more processor time. Today's features add 180 bytes (4.2 %) per pod version.
    #[test]
    fn enriched_pods_are_little_larger() {
        /// Bytes of variables, defaults and status that operator and API server add to each container.
        const OF_CONTAINER: usize = 600;
        let size = |clique: &Value| {
            let pod = &clique["spec"]["podSpec"];
            let count = |field: &str| pod[field].as_array().map_or(0, Vec::len);
            clique.to_string().len() + OF_CONTAINER * (count("containers") + count("initContainers"))
        };
        let cliques = |pcs: &Value| pcs["spec"]["template"]["cliques"].as_array().unwrap().clone();
        let (mut added, mut pods) = (0, 0);
        for case in CASES {
            for given in pod_clique_sets(case) {
                let mut enriched = given.clone();
                enrich(&mut enriched, case.id, case.left_out, false);
                let gangs = conformance_expect::gangs(&given);
                let groups: Vec<_> = gangs.iter().flat_map(|gang| &gang.groups).collect();
                for (before, after) in cliques(&given).iter().zip(&cliques(&enriched)) {
                    let of_clique = groups.iter().filter(|group| before["name"] == group.template.as_str());
                    let count: usize = of_clique.map(|group| group.replicas).sum();
                    added += count * (size(after) - size(before));
                    pods += count;
                }
            }
        }
        let mean = added / pods;
        assert!(mean <= 250, "a pod is {mean} bytes larger");
    }

    #[test]
    fn few_cases_leave_out_a_feature_and_none_leaves_out_all() {
        for feature in Enrichment::ALL {
            let leaves_out = |case: &&Case| case.left_out.iter().any(|(found, _)| *found == feature);
            let without: Vec<_> = CASES.iter().filter(leaves_out).map(|case| case.id).collect();
            assert!(without.len() * 100 <= CASES.len() * 15, "{feature:?} is missing in {without:?}");
        }
        for case in CASES {
            assert!(case.left_out.len() < Enrichment::ALL.len(), "{} leaves out everything", case.id);
            let is_reason = |reason: &str| reason.split(' ').count() > 3;
            assert!(case.left_out.iter().all(|(_, reason)| is_reason(reason)), "{} has no reason", case.id);
        }
    }

    /// KAI 0.17 identifies a PodGroup by name alone, so equal names in two namespaces would be one gang.
    #[test]
    fn names_of_pod_clique_sets_are_unique_where_cases_share_a_kai() {
        let mut cases: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for case in
            CASES.iter().filter(|case| case.isolation == Isolation::Shared && case.is_for(Target::KAI))
        {
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
            let target = Target::external_scheduler("mine", features).unwrap();
            let has_case = |id: &str| {
                CASES.iter().any(|case| case.is_for(target) && case.clauses_on(target).contains(&id))
            };
            let needs_case = |clause: &&Clause| target.owes(clause) && clause.rests_on.is_none();
            let owed = CLAUSES.iter().filter(needs_case).map(|clause| clause.id);
            let missing: Vec<_> = owed.filter(|id| !has_case(id)).collect();
            assert!(missing.is_empty(), "{missing:?}");
        }
    }
}
