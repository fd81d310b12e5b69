use conformance_contract::renamed_cases;
use conformance_contract::verdict::Outcome;

use super::*;
use crate::{CaseResult, Judgement, fixture};

fn with(clause: &str, outcome: Outcome) -> Report {
    changed(|judgement| {
        if judgement.clause == clause {
            judgement.outcome = outcome.clone();
        }
    })
}

fn changed(change: impl Fn(&mut Judgement)) -> Report {
    let mut report = fixture::report();
    let target = report.targets.remove(1);
    let mut cases: Vec<CaseResult> = target.cases.iter().map(|case| target.with_violations(case)).collect();
    for case in &mut cases {
        case.clauses.iter_mut().for_each(&change);
        let outcomes: Vec<Outcome> = case.clauses.iter().map(|judgement| judgement.outcome.clone()).collect();
        case.outcome = Outcome::fold(&outcomes).unwrap();
    }
    report.targets.push(target.reconclude(cases));
    report
}

fn kinds(comparison: &Comparison<'_>) -> Vec<(ChangeKind, String)> {
    comparison.clauses.iter().map(|changed| (changed.kind, changed.id.to_owned())).collect()
}

#[test]
fn a_report_compared_with_itself_has_no_changes() {
    let report = fixture::report();
    let comparison = compare(&report, &report);
    assert_eq!(kinds(&comparison), []);
    assert_eq!((comparison.exit(), comparison.result().as_str()), (Exit::Conformant, "No regression"));
    assert!(comparison.facts.is_empty() && comparison.features.is_empty() && comparison.durations.is_empty());
    assert!(comparison.still_broken > 0 && comparison.checked_by_both > comparison.still_broken);
}

#[rstest::rstest]
#[case::broken(Outcome::pass(), Outcome::fail("x"), Some(ChangeKind::Regression), Exit::NotConformant)]
#[case::flaky(Outcome::pass(), Outcome::of(Verdict::Flaky, vec!["x".into()]), Some(ChangeKind::Regression), Exit::NotConformant)]
#[case::no_longer_documented(
    deviation(),
    Outcome::fail("x"),
    Some(ChangeKind::Regression),
    Exit::NotConformant
)]
#[case::undecided(Outcome::pass(), Outcome::error("gap"), Some(ChangeKind::Undecided), Exit::Inconclusive)]
#[case::not_run(
    Outcome::pass(),
    Outcome::not_run("undecided"),
    Some(ChangeKind::Undecided),
    Exit::Inconclusive
)]
#[case::left_out(
    Outcome::pass(),
    Outcome::not_run_announced("not asked"),
    Some(ChangeKind::LeftOut),
    Exit::Conformant
)]
#[case::never_checked(
    Outcome::error("gap"),
    Outcome::fail("x"),
    Some(ChangeKind::NewlyBroken),
    Exit::Conformant
)]
#[case::fixed(Outcome::fail("x"), Outcome::pass(), Some(ChangeKind::Fixed), Exit::Conformant)]
#[case::deviation_began(Outcome::pass(), deviation(), Some(ChangeKind::DeviationStarted), Exit::Conformant)]
#[case::deviation_ended(deviation(), Outcome::pass(), Some(ChangeKind::DeviationEnded), Exit::Conformant)]
#[case::withdrawn(Outcome::pass(), Outcome::unsupported("no"), Some(ChangeKind::Withdrawn), Exit::Conformant)]
#[case::for_the_first_time(
    Outcome::not_run_announced("no"),
    Outcome::pass(),
    Some(ChangeKind::New),
    Exit::Conformant
)]
#[case::still_passing(Outcome::pass(), Outcome::pass(), None, Exit::Conformant)]
#[case::still_broken(Outcome::fail("x"), Outcome::fail("y"), None, Exit::Conformant)]
#[case::still_undecided(Outcome::error("x"), Outcome::error("y"), None, Exit::Conformant)]
fn every_kind_of_change_has_its_exit_code(
    #[case] old: Outcome,
    #[case] new: Outcome,
    #[case] kind: Option<ChangeKind>,
    #[case] exit: Exit,
) {
    let (old, new) = (with("DEL-05", old), with("DEL-05", new));
    let comparison = compare(&old, &new);
    let wanted: Vec<_> = kind.into_iter().map(|kind| (kind, "DEL-05".to_owned())).collect();
    assert_eq!((kinds(&comparison), comparison.exit()), (wanted, exit));
    let is_intermittent =
        matches!(kind, Some(ChangeKind::DeviationStarted | ChangeKind::DeviationEnded) | None);
    assert_eq!(comparison.is_same(), is_intermittent);
}

fn deviation() -> Outcome {
    Outcome::fail("").of_known_deviation("documented", true)
}

#[test]
fn a_shown_feature_that_is_no_longer_declared_is_a_regression() {
    let old = fixture::report();
    let mut new = old.clone();
    let target = new.targets.remove(1);
    let mut without = target.clone();
    without.features.supported.retain(|feature| *feature == Feature::GangScheduling);
    let withdrawn = Outcome::unsupported("AtomicPodGang is not declared");
    let cases = target.cases.iter().map(|case| {
        let mut case = target.with_violations(case);
        let of_feature = case.clauses.iter_mut().filter(|judgement| judgement.clause == "AON-08");
        of_feature.for_each(|judgement| judgement.outcome = withdrawn.clone());
        case
    });
    new.targets.push(without.reconclude(cases.collect()));
    let comparison = compare(&old, &new);
    let feature = &comparison.features[0];
    assert_eq!((feature.name, feature.old), (Feature::AtomicPodGang, Some(Standing::DeclaredAndShown)));
    assert_eq!((feature.new, feature.is_regression()), (None, true));
    assert_eq!(comparison.exit(), Exit::NotConformant);
    assert_eq!(comparison.result(), "Regressed: 0 clauses, 1 feature");
}

#[test]
fn a_comparison_without_common_targets_is_inconclusive() {
    let (old, mut new) = (fixture::report(), fixture::report());
    for target in &mut new.targets {
        target.variant = Some(format!("another than {}", target.variant.clone().unwrap()));
    }
    let comparison = compare(&old, &new);
    assert!(
        comparison
            .clauses
            .iter()
            .all(|changed| !matches!(changed.kind, ChangeKind::Regression | ChangeKind::Fixed))
    );
    assert_eq!((comparison.checked_by_both, comparison.exit()), (0, Exit::Inconclusive));
}

#[rstest::rstest]
#[case::whole_passed(Outcome::pass(), Outcome::fail("silent"), Some(ChangeKind::Regression))]
#[case::part_passes(Outcome::pass(), Outcome::pass(), None)]
#[case::whole_failed(Outcome::fail("bound"), Outcome::fail("silent"), Some(ChangeKind::NewlyBroken))]
#[case::part_passes_after_failed_whole(Outcome::fail("bound"), Outcome::pass(), Some(ChangeKind::New))]
fn a_split_clause_is_compared_with_the_clause_it_was_split_from(
    #[case] old: Outcome,
    #[case] new: Outcome,
    #[case] kind: Option<ChangeKind>,
) {
    let with = |ids: &[&str], contract: &str, outcome: &Outcome| {
        let known = ids.iter().map(|id| clause(id).unwrap());
        let case = CaseResult::without_running("aon/one-pod-short", "", ids.iter().copied(), outcome);
        let features = crate::Features { supported: vec![Feature::GangScheduling], ..Default::default() };
        let target = TargetReport::new("volcano", None, "v1.15.1", features).conclude(known, vec![case]);
        let mut report = crate::testing::report(vec![target]);
        report.suite.contract = Some(contract.to_owned());
        report
    };
    let (old, new) = (with(&["AON-02"], "0.1.0", &old), with(&["AON-15"], "0.2.0", &new));
    let comparison = compare(&old, &new);
    let of_part = comparison.clauses.iter().filter(|changed| changed.id == "AON-15");
    assert_eq!(of_part.map(|changed| changed.kind).next(), kind);
    // If the contracts are the same, a missing clause was not selected.
    let old = Report { suite: new.suite.clone(), ..old };
    let comparison = compare(&old, &new);
    let of_part = comparison.clauses.iter().find(|changed| changed.id == "AON-15").unwrap();
    assert!(matches!(of_part.kind, ChangeKind::NewlyBroken | ChangeKind::New));
}

#[test]
fn clauses_of_a_new_backend_are_only_counted() {
    let (old, new) = (fixture::report(), fixture::all_backends());
    let comparison = compare(&old, &new);
    let counted = comparison.counted();
    let [(ChangeKind::New, targets)] = counted.as_slice() else { panic!("{counted:?}") };
    let volcano = targets.iter().find(|(target, _)| target == "volcano").unwrap();
    assert!(volcano.1.starts_with("ADM-01, AON-01, AON-02"), "{volcano:?}");
    assert!(
        comparison.listed().iter().all(|(kind, _)| *kind != ChangeKind::New),
        "and not listed one by one"
    );
}

#[test]
fn only_notable_changes_of_a_duration_are_listed() {
    let (old, mut new) = (fixture::report(), fixture::report());
    let slower = |report: &mut Report, case: usize, factor: f64| {
        let target = report.targets.remove(0);
        let mut cases: Vec<CaseResult> =
            target.cases.iter().map(|case| target.with_violations(case)).collect();
        let seconds = f64::from(cases[case].duration_seconds) * factor;
        cases[case].duration_seconds = Seconds::try_from(seconds).unwrap();
        report.targets.insert(0, target.reconclude(cases));
    };
    slower(&mut new, 1, 3.0);
    slower(&mut new, 3, 1.2);
    slower(&mut new, 6, 0.25);
    let comparison = compare(&old, &new);
    let cases: Vec<_> = comparison.durations.iter().map(|changed| changed.case.as_str()).collect();
    assert_eq!(cases, ["topo/required", "aon/fits"], "the greatest change first, a fifth is none");
}

#[test]
fn a_renamed_case_is_compared_under_its_current_id() {
    let (former, current) = renamed_cases::RENAMED[0];
    let (mut old, mut new) = (fixture::report(), fixture::report());
    old.targets[0].cases[1].id = former.to_owned();
    new.targets[0].cases[1].id = current.to_owned();
    new.targets[0].cases[1].duration_seconds = Seconds::try_from(1000.0).unwrap();
    let comparison = compare(&old, &new);
    let cases: Vec<_> = comparison.durations.iter().map(|changed| changed.case.as_str()).collect();
    assert_eq!(cases, [current]);
}

#[test]
fn different_facts_about_the_runs_are_listed() {
    let (old, mut new) = (fixture::report(), fixture::report());
    new.operator.version = "0.2.0".to_owned();
    new.components[1].digest = format!("sha256:{}", "ff".repeat(32));
    new.components.remove(0);
    let comparison = compare(&old, &new);
    let whats: Vec<_> = comparison.facts.iter().map(|fact| fact.what.as_str()).collect();
    assert_eq!(whats, ["operator", new.components[0].name.as_str(), old.components[0].name.as_str()]);
    assert!(comparison.facts[1].new.contains("sha256:ffff"), "{:?}", comparison.facts[1]);
    assert_eq!(comparison.facts[2].new, "none");
}
