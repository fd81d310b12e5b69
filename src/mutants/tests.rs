use conformance_run::suites;

use super::*;
use crate::ratio::without_mutant;

fn at(tier: MutantTier) -> Vec<Mutant> {
    tier.mutants().unwrap()
}

fn all() -> Vec<Mutant> {
    MutantTier::ALL.into_iter().flat_map(at).collect()
}

fn mutant(id: &str) -> Mutant {
    all().into_iter().find(|mutant| mutant.id == id).unwrap()
}

fn failed(ids: &[&str]) -> RunFindings {
    RunFindings { failed: ids.iter().map(|id| (*id).to_owned()).collect(), ..RunFindings::default() }
}

#[rstest::rstest]
#[case(&["GANG-08", "DEL-01"], MutantVerdict::Killed)]
#[case(&["GANG-08"], MutantVerdict::Survived)]
#[case(&["DEL-01"], MutantVerdict::Survived)]
#[case(&["GANG-01", "DEL-01", "DEL-03"], MutantVerdict::Killed)]
#[case(&["GANG-01", "DEL-01", "AON-01"], MutantVerdict::Wrong)]
#[case(&["AON-01"], MutantVerdict::Wrong)]
fn a_mutant_is_killed_if_one_clause_of_each_entry_fails_and_no_other(
    #[case] ids: &[&str],
    #[case] wanted: MutantVerdict,
) {
    assert_eq!(mutant("no-owner-references").evaluate(&failed(ids)).verdict, wanted);
}

#[test]
fn a_mutant_whose_rules_were_never_applied_is_not_killed() {
    let idle_rules = vec!["what is seen".to_owned()];
    let outcome =
        mutant("no-owner-references").evaluate(&RunFindings { idle_rules, ..failed(&["GANG-01", "DEL-01"]) });
    assert_eq!(
        (outcome.verdict, outcome.reasons),
        (MutantVerdict::Wrong, vec!["the fault proxy never applied these rules: what is seen".to_owned()])
    );
}

#[test]
fn an_error_does_not_count_as_a_failure() {
    let errors = vec![("DEL-01".to_owned(), "the wait timed out".to_owned())];
    let outcome = mutant("no-owner-references").evaluate(&RunFindings { errors, ..failed(&["GANG-01"]) });
    assert_eq!(outcome.verdict, MutantVerdict::Wrong);
    assert_eq!(outcome.reasons, ["DEL-01 ended in an error: the wait timed out"]);
}

#[test]
fn an_unproven_clause_that_passes_is_wrong() {
    let mutant = mutant("koordinator-without-topology");
    let verdict = |passed: &[&str], reason: &str| {
        let passed = passed.iter().map(|id| (*id).to_owned()).collect();
        let errors = vec![("TOPO-01".to_owned(), reason.to_owned())];
        mutant.evaluate(&RunFindings { passed, errors, ..RunFindings::default() }).verdict
    };
    assert_eq!(verdict(&["TOPO-04"], "koord-scheduler ended with exit status: 2"), MutantVerdict::Killed);
    assert_eq!(verdict(&[], "the cluster did not start"), MutantVerdict::Survived);
    assert_eq!(verdict(&["TOPO-02"], "koord-scheduler ended with exit status: 2"), MutantVerdict::Wrong);
}

#[test]
fn ids_are_unique_and_cases_decide_the_clauses_that_must_fail() {
    let ids: BTreeSet<_> = all().into_iter().map(|mutant| mutant.id).collect();
    assert_eq!(ids.len(), all().len());
    for mutant in all() {
        let generated = || mutant.cases.iter().filter_map(|id| conformance_fuzz::case(id));
        for word in &mutant.cases {
            let mut all = suites::cases().chain(generated());
            let exists = all.any(|case| case.is_called(word) && mutant.runs(case));
            assert!(exists, "{}: {word}", mutant.id);
        }
        for id in mutant.musts() {
            let decides = |case: &Case| {
                let breaks: Vec<_> = case.breaks.iter().map(|(invariant, _)| *invariant).collect();
                let invariants = suites::of(mutant.target.workload()).invariants.clauses;
                case.clauses.contains(&id) || invariants(&breaks).contains(&id)
            };
            let is_decided =
                suites::cases().chain(generated()).any(|case| mutant.runs(case) && decides(case));
            assert!(is_decided, "{}: none of its cases decides {id}", mutant.id);
        }
        let reasons = mutant.may.values().filter(|reason| reason.trim().is_empty());
        assert_eq!(reasons.count(), 0, "{}: a reason is missing", mutant.id);
    }
}

/// A new clause needs a mutant, or an entry in the list with the reason why it has none.
#[test]
fn clauses_without_a_mutant_are_listed() {
    let listed: Vec<_> = crate::ratio::excused().map(|(clause, _)| clause).collect();
    assert_eq!(
        without_mutant(&all()),
        listed,
        "src/mutants/clauses-without-mutant.txt must list these clauses"
    );
}

#[test]
fn every_kubelet_clause_has_a_mutant() {
    let without = without_mutant(&at(MutantTier::Kind));
    assert!(without.iter().all(|id| !id.starts_with("KLT-")), "{without:?}");
}

#[rstest::rstest]
#[case("must: [GANG-99]", "there is no clause or group \"GANG-99\"")]
#[case("must: [GANG-01]\n  may: {GONG: because}", "there is no clause or group \"GONG\"")]
#[case("may: {}", "say which clauses must fail")]
fn the_error_of_a_table_names_the_entry(#[case] rest: &str, #[case] wanted: &str) {
    let text = format!("- id: a\n  breaks: something\n  by: {{faults: [restless]}}\n  {rest}");
    let error = table("mine.yaml", &text).unwrap_err().to_string();
    assert!(error.starts_with("mine.yaml: a: ") && error.contains(wanted), "{error}");
}

#[test]
fn an_equivalent_mutant_makes_no_clause_fail() {
    let text = "- {id: a, breaks: something, by: {faults: [restless]}, equivalent: nothing is promised, cases: [gang]}";
    let mutant = table("mine.yaml", text).unwrap().remove(0);
    assert_eq!(mutant.evaluate(&failed(&[])).verdict, MutantVerdict::Equivalent);
    assert_eq!(mutant.evaluate(&failed(&["GANG-05"])).verdict, MutantVerdict::Wrong);
    let errors = vec![("GANG-05".to_owned(), "the wait timed out".to_owned())];
    assert_eq!(mutant.evaluate(&RunFindings { errors, ..failed(&[]) }).verdict, MutantVerdict::Wrong);
}

#[test]
fn a_mutant_that_breaks_nothing_is_rejected() {
    let error = table("mine.yaml", "- {id: a, breaks: nothing, by: {}, must: [GANG-01]}").unwrap_err();
    assert_eq!(error.to_string(), "mine.yaml: a: the mutant breaks nothing: write in `by` what it breaks");
}

#[test]
fn the_page_lists_survivors_and_mutants_that_did_not_run() {
    let mutants = [mutant("early-ungating"), mutant("restless")];
    let outcome = mutants[0].evaluate(&failed(&[]));
    let results = [StoredResult { id: mutants[0].id.clone(), outcome, seconds: 1.0 }];
    assert_eq!(ratios(&mutants, &results)["GANG"], (0, 1));
    let page = report(&mutants, &results);
    assert!(page.contains("- `early-ungating` (survived):"), "{page}");
    assert!(page.contains("- `restless`: an operator that writes on every reconcile."), "{page}");
}

#[test]
fn every_case_leaves_out_cases_with_their_own_control_plane() {
    let mutant = mutant("group-breach-terminates-replica");
    let case = |id| suites::case(id).unwrap();
    assert!(!mutant.runs(case("aon/exact-fit-bound")) && mutant.runs_with_all(case("aon/exact-fit-bound")));
    assert!(
        mutant.runs_with_all(case("term/group-replica"))
            && !mutant.runs_with_all(case("term/controller-killed"))
    );
}
