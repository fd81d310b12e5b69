use std::collections::BTreeSet;

use conformance_cases as cases;
use conformance_check::invariants;

use super::*;
use crate::ratio::without_mutant;

fn at(place: Place) -> Vec<Mutant> {
    place.mutants().unwrap()
}

fn all() -> Vec<Mutant> {
    Place::ALL.into_iter().flat_map(at).collect()
}

fn mutant(id: &str) -> Mutant {
    all().into_iter().find(|mutant| mutant.id == id).unwrap()
}

fn red(ids: &[&str]) -> Found {
    Found { red: ids.iter().map(|id| (*id).to_owned()).collect(), ..Found::default() }
}

#[rstest::rstest]
#[case(&["GANG-08", "DEL-01"], Verdict::Killed)]
#[case(&["GANG-08"], Verdict::Survived)]
#[case(&["DEL-01"], Verdict::Survived)]
#[case(&["GANG-01", "DEL-01", "DEL-03"], Verdict::Killed)]
#[case(&["GANG-01", "DEL-01", "AON-01"], Verdict::Wrong)]
#[case(&["AON-01"], Verdict::Wrong)]
fn one_of_each_set_must_be_red_and_nothing_else(#[case] ids: &[&str], #[case] wanted: Verdict) {
    assert_eq!(mutant("no-owner-references").judge(&red(ids)).verdict, wanted);
}

#[test]
fn what_was_not_broken_is_not_killed() {
    let idle_rules = vec!["what is seen".to_owned()];
    let outcome = mutant("no-owner-references").judge(&Found { idle_rules, ..red(&["GANG-01", "DEL-01"]) });
    assert_eq!(
        (outcome.verdict, outcome.because),
        (Verdict::Wrong, vec!["did nothing: what is seen".to_owned()])
    );
}

#[test]
fn an_error_is_not_red() {
    let errors = vec![("DEL-01".to_owned(), "the wait ran out".to_owned())];
    let outcome = mutant("no-owner-references").judge(&Found { errors, ..red(&["GANG-01"]) });
    assert_eq!(outcome.verdict, Verdict::Wrong);
    assert_eq!(outcome.because, ["DEL-01 ended in an error: the wait ran out"]);
}

#[test]
fn what_cannot_have_been_kept_is_not() {
    let mutant = mutant("koordinator-without-topology");
    let judge = |kept: &[&str], reason: &str| {
        let kept = kept.iter().map(|id| (*id).to_owned()).collect();
        let errors = vec![("TOPO-01".to_owned(), reason.to_owned())];
        mutant.judge(&Found { kept, errors, ..Found::default() }).verdict
    };
    assert_eq!(judge(&["TOPO-04"], "koord-scheduler ended with exit status: 2"), Verdict::Killed);
    assert_eq!(judge(&[], "the cluster did not come up"), Verdict::Survived);
    assert_eq!(judge(&["TOPO-02"], "koord-scheduler ended with exit status: 2"), Verdict::Wrong);
}

#[test]
fn ids_are_unique_and_cases_judge_what_must_be_red() {
    let ids: BTreeSet<_> = all().into_iter().map(|mutant| mutant.id).collect();
    assert_eq!(ids.len(), all().len());
    for mutant in all() {
        let generated = || mutant.cases.iter().filter_map(|id| conformance_fuzz::case(id));
        for word in &mutant.cases {
            let mut all = cases::all().chain(generated());
            let meant = all.any(|case| case.is_called(word) && mutant.runs(case));
            assert!(meant, "{}: {word}", mutant.id);
        }
        for id in mutant.musts() {
            let judges = |case: &Case| {
                let breaks: Vec<_> = case.breaks.iter().map(|(invariant, _)| *invariant).collect();
                let mut invariants = invariants::clauses(mutant.target.workload(), &breaks);
                case.clauses.contains(&id) || invariants.any(|clause| clause == id)
            };
            let judged = cases::all().chain(generated()).any(|case| mutant.runs(case) && judges(case));
            assert!(judged, "{}: no case of it judges {id}", mutant.id);
        }
        let reasons = mutant.may.values().filter(|reason| reason.trim().is_empty());
        assert_eq!(reasons.count(), 0, "{}: a reason is missing", mutant.id);
    }
}

/// A new clause needs a mutant, or an entry in the list with the reason why it has none.
#[test]
fn clauses_without_a_mutant_are_listed() {
    let listed: Vec<_> = crate::ratio::excused().map(|(clause, _)| clause).collect();
    assert_eq!(without_mutant(&all()), listed, "src/mutants/clauses-without-mutant.txt is to say what is");
}

#[test]
fn what_kubelets_show_is_seen_broken() {
    let without = without_mutant(&at(Place::Kind));
    assert!(without.iter().all(|id| !id.starts_with("KLT-")), "{without:?}");
}

#[rstest::rstest]
#[case("must: [GANG-99]", "there is no clause or group \"GANG-99\"")]
#[case("must: [GANG-01]\n  may: {GONG: because}", "there is no clause or group \"GONG\"")]
#[case("may: {}", "say which clauses must turn red")]
fn a_wrong_table_says_what_is_wrong(#[case] rest: &str, #[case] wanted: &str) {
    let text = format!("- id: a\n  breaks: something\n  by: {{faults: [restless]}}\n  {rest}");
    let error = table("mine.yaml", &text).unwrap_err().to_string();
    assert!(error.starts_with("mine.yaml: a: ") && error.contains(wanted), "{error}");
}

#[test]
fn what_is_equivalent_turns_nothing_red() {
    let text = "- {id: a, breaks: something, by: {faults: [restless]}, equivalent: nothing is promised, cases: [gang]}";
    let mutant = table("mine.yaml", text).unwrap().remove(0);
    assert_eq!(mutant.judge(&red(&[])).verdict, Verdict::Equivalent);
    assert_eq!(mutant.judge(&red(&["GANG-05"])).verdict, Verdict::Wrong);
    let errors = vec![("GANG-05".to_owned(), "the wait ran out".to_owned())];
    assert_eq!(mutant.judge(&Found { errors, ..red(&[]) }).verdict, Verdict::Wrong);
}

#[test]
fn a_mutant_breaks_something() {
    let error = table("mine.yaml", "- {id: a, breaks: nothing, by: {}, must: [GANG-01]}").unwrap_err();
    assert_eq!(error.to_string(), "mine.yaml: a: nothing is broken: say what in `by`");
}

#[test]
fn the_page_names_survivors_and_what_was_not_run() {
    let mutants = [mutant("early-ungating"), mutant("restless")];
    let outcome = mutants[0].judge(&red(&[]));
    let kept = [Kept { id: mutants[0].id.clone(), outcome, seconds: 1.0 }];
    assert_eq!(ratios(&mutants, &kept)["GANG"], (0, 1));
    let page = report(&mutants, &kept);
    assert!(page.contains("- `early-ungating` (survived):"), "{page}");
    assert!(page.contains("- `restless`: a controller that writes on every reconcile."), "{page}");
}

#[test]
fn all_cases_are_those_that_need_no_control_plane_of_their_own() {
    let mutant = mutant("group-takes-all");
    let case = |id| cases::case(id).unwrap();
    assert!(!mutant.runs(case("aon/exact-fit-bound")) && mutant.runs_with_all(case("aon/exact-fit-bound")));
    assert!(
        mutant.runs_with_all(case("term/group-replica"))
            && !mutant.runs_with_all(case("term/controller-killed"))
    );
}
