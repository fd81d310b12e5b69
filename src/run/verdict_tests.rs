use conformance_check::binding::{BOUND_IN_PART, NOT_BOUND_WHOLE};
use conformance_check::{precondition, violation};
use conformance_cluster::ClusterError;
use conformance_contract::backend_declaration::BackendDeclaration;
use conformance_contract::ruling::Ruling;
use conformance_facts::invariant::Invariant;
use conformance_history::SharedMark;
use conformance_history::testing::{Story, object, one_clique};
use serde_json::Value;

use super::*;

pub(super) const BOUND: &str = "4 pods of the unit of PodGang large-0 were bound";

pub(super) fn violated() -> Ruling {
    Err(violation(BOUND_IN_PART, BOUND).into())
}

pub(super) fn not_reached() -> Ruling {
    Err(Broken::NotReached("the case did not reach \"scheduler passed\"".into()))
}

fn not_asked() -> Ruling {
    Err(Broken::NotAsked("there is no second profile".into()))
}

pub(super) fn refused() -> Stop {
    Stop::Refused { action: "delete Workload w-0".into(), reason: "not found".into() }
}

fn failing_cluster() -> Stop {
    Stop::Cluster(ClusterError::Recorded("the API server stopped".into()))
}

pub(super) fn judged(
    case: &str,
    target: Target,
    findings: &[(&'static str, Ruling)],
    stop: Option<&Stop>,
) -> Vec<Judgement> {
    let findings: Vec<_> =
        findings.iter().map(|&(clause, ref ruling)| Finding { clause, ruling: ruling.clone() }).collect();
    judgements(suites::case(case).unwrap(), target, &Story::on(target).end(), &findings, stop)
}

pub(super) fn only(ruling: Ruling, stop: Option<&Stop>) -> Outcome {
    let judged = judged("aon/pending-blocks-nobody", Target::KUBE_POD_GROUP, &[("AON-10", ruling)], stop);
    assert_eq!(judged.len(), 1);
    judged[0].outcome.clone()
}

pub(super) fn reason(outcome: &Outcome) -> String {
    outcome.reason().unwrap_or_default()
}

#[rstest::rstest]
#[case::may_explain_it(
    Target::VOLCANO,
    Some("\nknown: docs/findings/volcano.md, shown by case aon/nothing-requested on volcano ")
)]
#[case::does_not_explain_it(Target::KAI, None)]
fn a_failure_of_a_workload_names_a_possible_deviation(
    #[case] target: Target,
    #[case] expected: Option<&str>,
) {
    let story = Story::on(target).submitted(one_clique("w", 2)).workers("w", 2, 1);
    let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
    let case = workload::replayed("workload").unwrap();
    let judged = judgements(case, target, &history, &(case.check)(&history), None);
    let outcome = &judged.iter().find(|of| of.clause == "AON-02").unwrap().outcome;
    assert_eq!(outcome.verdict, Verdict::Fail);
    match expected {
        Some(line) => assert!(reason(outcome).contains(line), "{outcome:?}"),
        None => assert!(!reason(outcome).contains("known"), "{outcome:?}"),
    }
}

#[test]
fn a_violated_precondition_fails_its_own_clause() {
    for stop in [None, Some(refused())] {
        let findings = [("AON-10", precondition("AON-02", violated()))];
        let judged = judged("aon/pending-blocks-nobody", Target::KUBE_POD_GROUP, &findings, stop.as_ref());
        let [own, other] = &judged[..] else { panic!("{judged:#?}") };
        assert_eq!((own.clause.as_str(), other.clause.as_str()), ("AON-10", "AON-02"));
        assert_eq!((own.outcome.verdict, own.outcome.announced), (Verdict::NotRun, false));
        let parts = format!("precondition failed, AON-02 is violated: {BOUND}");
        assert!(reason(&own.outcome).starts_with(&parts), "{:?}", own.outcome);
        assert_eq!(reason(&own.outcome).contains("not found"), stop.is_some(), "{:?}", own.outcome);
        assert!(own.violations.is_empty());
        assert_eq!(other.outcome.verdict, Verdict::Fail);
        assert_eq!(other.violations, [violation(BOUND_IN_PART, BOUND)]);
    }
}

#[test]
fn a_violation_that_is_also_a_precondition_is_reported_once() {
    let findings = [("TOPO-02", violated()), ("TOPO-04", precondition("TOPO-02", violated()))];
    let judged = judged("topo/no-rack-has-room", Target::KUBE_POD_GROUP, &findings, None);
    let verdicts: Vec<_> = judged.iter().map(|of| (of.clause.as_str(), of.outcome.verdict)).collect();
    assert_eq!(verdicts, [("TOPO-02", Verdict::Fail), ("TOPO-04", Verdict::NotRun)]);
    assert_eq!(judged[0].violations, [violation(BOUND_IN_PART, BOUND)]);
}

fn announced(case: &str, findings: &[(&'static str, Ruling)]) -> Vec<(String, bool)> {
    let findings: Vec<_> =
        findings.iter().map(|&(clause, ref ruling)| Finding { clause, ruling: ruling.clone() }).collect();
    let pod_group = object("PodGroup.scheduling.sigs.k8s.io", "g");
    let history = Story::on(Target::KOORDINATOR).added(pod_group).end();
    let judged = judgements(suites::case(case).unwrap(), Target::KOORDINATOR, &history, &findings, None);
    let undecided = judged.into_iter().filter(|of| of.outcome.verdict == Verdict::NotRun);
    undecided.map(|of| (of.clause, of.outcome.announced)).collect()
}

#[test]
fn a_clause_whose_precondition_is_a_known_deviation_is_announced() {
    let case = "del/same-name-api-faults";
    let unbound = || Ruling::Err(violation(NOT_BOUND_WHOLE, "1 of 4 pods is bound").into());
    let found = announced(case, &[("DEL-08", unbound()), ("DEL-12", precondition("DEL-08", unbound()))]);
    assert_eq!(found, [("DEL-12".to_owned(), true)]);
    // Only the precondition reports the deviation.
    let found = announced(case, &[("DEL-08", Ok(())), ("DEL-12", precondition("DEL-08", unbound()))]);
    assert_eq!(found, [("DEL-12".to_owned(), true)]);

    let other = precondition("DEL-08", violated());
    let found = announced(case, &[("DEL-08", unbound()), ("DEL-12", other)]);
    assert_eq!(found, [("DEL-12".to_owned(), false)], "the deviation does not explain this violation");
    let other = precondition("AON-02", violated());
    let found = announced(case, &[("DEL-08", unbound()), ("DEL-12", other)]);
    assert_eq!(found, [("DEL-12".to_owned(), false)], "another clause is the precondition");
}

#[test]
fn a_precondition_that_the_target_does_not_owe_does_not_fail() {
    let findings = [("AON-10", precondition("KUBE-15", violated()))];
    let judged = judged("aon/pending-blocks-nobody", Target::VOLCANO, &findings, None);
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].outcome.verdict, Verdict::NotRun);
}

#[test]
fn a_failing_cluster_makes_every_clause_an_error() {
    let findings = [("AON-10", precondition("AON-02", violated()))];
    let case = "aon/pending-blocks-nobody";
    let judged = judged(case, Target::KUBE_POD_GROUP, &findings, Some(&failing_cluster()));
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
    let findings = [Finding { clause: "AON-10", ruling: precondition("AON-02", violated()) }];
    let gap = Story::flat().gap("Pod").end();
    let judged = judgements(suites::case(case).unwrap(), Target::KUBE_POD_GROUP, &gap, &findings, None);
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
}

#[rstest::rstest]
#[case::kept(Ok(()), Outcome::pass())]
#[case::invariant(violated(), Outcome::fail(BOUND))]
#[case::not_reached(not_reached(), Outcome::error("the case did not reach \"scheduler passed\""))]
#[case::not_asked(not_asked(), Outcome::not_run_announced("there is no second profile"))]
fn the_ruling_of_a_finished_case_decides_its_verdict(#[case] ruling: Ruling, #[case] wanted: Outcome) {
    assert_eq!(only(ruling, None), wanted);
}

#[rstest::rstest]
#[case::kept(Ok(()), Verdict::Error, &["stopped early", "not found"])]
#[case::invariant(violated(), Verdict::Fail, &[BOUND, "not found"])]
#[case::not_reached(not_reached(), Verdict::Error, &["did not reach", "stopped early", "not found"])]
#[case::not_asked(not_asked(), Verdict::Error, &["stopped early", "not found"])]
fn a_stopped_case_reports_its_ruling_and_why_it_stopped(
    #[case] ruling: Ruling,
    #[case] verdict: Verdict,
    #[case] parts: &[&str],
) {
    let outcome = only(ruling, Some(&refused()));
    assert_eq!(outcome.verdict, verdict);
    assert!(parts.iter().all(|word| reason(&outcome).contains(word)), "{outcome:?}");
}

#[test]
fn only_declared_features_are_checked_in_a_run_and_in_its_replay() {
    let declaration = BackendDeclaration {
        operator: "mine v1".into(),
        features: vec![Feature::TopologyRequired],
        ..BackendDeclaration::default()
    };
    let target = Target::VOLCANO.declared_by(declaration);
    let judged = |id: &str, target: Target| checked_clauses(suites::case(id).unwrap(), target);
    assert_eq!(judged("topo/no-rack-has-room", target), ["TOPO-02", "TOPO-04"]);
    assert!(judged("aon/one-clique-too-large", target).is_empty(), "no unit across cliques is promised");
    assert_eq!(judged("aon/one-clique-too-large", Target::VOLCANO), ["AON-08"]);
    let result = result_without_run(
        suites::case("aon/one-clique-too-large").unwrap(),
        target,
        &Outcome::error("not reached"),
    );
    let reason = "mine v1 does not declare AtomicPodGang on volcano";
    assert_eq!(result.clauses[0].outcome, Outcome::unsupported(reason));

    let koordinator = Target::KOORDINATOR.declared_by(BackendDeclaration {
        features: vec![Feature::GangScheduling],
        ..target.declaration().unwrap().clone()
    });
    for known in deviations::DEVIATIONS.iter().filter(|known| known.target == koordinator) {
        let is_core = clauses::clause(known.clause).unwrap().capability().is_none();
        assert_eq!(judged(known.case, koordinator).contains(&known.clause), is_core, "{}", known.clause);
    }

    let mut text: Vec<u8> = Vec::new();
    Story::on(target).end().write(&mut text).unwrap();
    let replayed = History::read(text.as_slice(), None).unwrap().header.target;
    assert_eq!(replayed.features(), target.features());
    assert!(judged("aon/one-clique-too-large", replayed).is_empty());
}

#[rstest::rstest]
#[case::kube("adm/api-missing", Target::KUBE_POD_GROUP)]
#[case::volcano("adm/crds-missing", Target::VOLCANO)]
#[case::kai("adm/crds-missing", Target::KAI)]
fn only_a_backend_with_gang_scheduling_may_be_incomplete(#[case] case: &str, #[case] target: Target) {
    let judged = |features: &[Feature]| {
        let declaration = BackendDeclaration { features: features.to_vec(), ..BackendDeclaration::default() };
        checked_clauses(suites::case(case).unwrap(), target.declared_by(declaration))
    };
    let without = judged(&[Feature::Kubelet]);
    assert!(without.contains(&"ADM-20") && !without.contains(&"ADM-18"), "{without:?}");
    assert!(judged(&[Feature::GangScheduling]).contains(&"ADM-18"));
}

#[test]
fn clauses_about_gang_resources_of_another_program_are_unsupported_in_every_result() {
    let target = Target::KAI.declared_by(BackendDeclaration {
        operator: "mine v1".into(),
        features: Target::KAI.features().to_vec(),
        gang_resources_by: Some("the podgrouper".into()),
        ..BackendDeclaration::default()
    });
    let shape = suites::case("gang/shape").unwrap();
    let checked = checked_clauses(shape, target);
    assert!(checked.contains(&"GANG-01") && !checked.contains(&"GANG-05"), "{checked:?}");
    let outcome = |result: &CaseResult, id: &str| {
        result.clauses.iter().find(|of| of.clause == id).map(|of| of.outcome.clone())
    };
    let reason = "mine v1 declares that the podgrouper creates the gang resources on kai-scheduler";
    let passed = CaseResult::without_running(shape.id, shape.title, checked, &Outcome::pass());
    let result = with_excluded(shape, target, passed.clone());
    assert_eq!(outcome(&result, "GANG-05"), Some(Outcome::unsupported(reason)));
    assert_eq!(result.outcome, Outcome::pass());
    assert_eq!(with_excluded(shape, target, result.clone()), result, "each clause is listed once");
    assert_eq!(
        with_excluded(shape, Target::KAI, passed.clone()),
        passed,
        "its features are those of the suite"
    );

    let left_out = Outcome::not_run_announced("left out");
    for case in suites::cases().filter(|case| case.is_for(target)) {
        let result = result_without_run(case, target, &left_out);
        let of_the_case = case.clauses.iter().filter_map(|id| clauses::clause(id));
        for clause in of_the_case.filter(|clause| target.leaves_to_another_program(clause)) {
            let found = outcome(&result, clause.id);
            let is_listed = !target.is_subject_to(clause)
                || found.is_some_and(|found| found.verdict == Verdict::Unsupported);
            assert!(is_listed, "{}: {}", case.id, clause.id);
        }
    }
    let kai = result_without_run(suites::case("kai/pod-group").unwrap(), target, &left_out);
    assert_eq!(kai.outcome, Outcome::unsupported(reason));
}

#[test]
fn an_operator_that_exits_during_a_case_fails_it() {
    let death = || Stop::OperatorEnded(ClusterError::Recorded("my-operator: exit status 1".into()));
    for ruling in [not_reached(), Ok(())] {
        let outcome = only(ruling, Some(&death()));
        assert_eq!(outcome.verdict, Verdict::Fail);
        assert_eq!(reason(&outcome), "the operator under test exited: my-operator: exit status 1");
    }
    // The check's reason comes first. A clause that was not asked fails too: the case was not finished.
    assert!(reason(&only(violated(), Some(&death()))).starts_with(BOUND));
    assert_eq!(only(not_asked(), Some(&death())).verdict, Verdict::Fail, "the case was not finished");

    let mark = Story::flat().mark(SharedMark::Stopped, death().detail()).end();
    let replayed = Stop::recorded(&mark).unwrap();
    assert!(matches!(replayed, Stop::OperatorEnded(_)));
    assert_eq!(replayed.to_string(), death().to_string());
    let of_cluster = Story::flat().mark(SharedMark::Stopped, failing_cluster().detail()).end();
    assert!(matches!(Stop::recorded(&of_cluster), Some(Stop::Cluster(_))));
}

#[test]
fn a_probe_records_verdicts_on_undeclared_features_separately() {
    let declaration = BackendDeclaration { operator: "mine v1".into(), ..BackendDeclaration::default() };
    let target = Target::VOLCANO.declared_by(declaration);
    let case = suites::case("aon/one-clique-too-large").unwrap();
    let as_if = as_if_declared(case, target).unwrap();
    assert_eq!(checked_clauses(case, as_if), ["AON-08"]);
    assert!(!as_if.declares(Feature::SelfHealing), "no more than the case needs");
    assert!(as_if_declared(case, Target::VOLCANO).is_none_or(|same| same.declares(Feature::AtomicPodGang)));
    let beyond = suites::case("kube/tree").unwrap();
    assert_eq!(as_if_declared(beyond, target), None);

    let judgement = |outcome| vec![Judgement { clause: "AON-08".into(), outcome, violations: Vec::new() }];
    let found = CaseResult::new(case.id, case.title, judgement(Outcome::pass()));
    let result = probed(unsupported(case, target), found);
    assert_eq!(result.outcome.verdict, Verdict::Unsupported);
    assert_eq!(result.probed, [Probed { clause: "AON-08".into(), verdict: Verdict::Pass }]);
    let not_run = result_without_run(case, as_if, &Outcome::not_run_announced("no kubelets"));
    assert!(probed(unsupported(case, target), not_run).probed.is_empty());
}

/// Satisfies the case's check and violates GANG-19, which it does not cover: a PodGang is not Initialized.
fn with_violated_invariant() -> conformance_history::History {
    let gang = |status: &str| {
        let conditions = serde_json::json!([{"type": "Initialized", "status": status}]);
        serde_json::json!({"kind": "PodGang", "metadata": {"name": "g"}, "status": {"conditions": conditions}})
    };
    Story::flat().added(gang("True")).modified(gang("False")).end()
}

#[test]
fn a_violated_invariant_fails_its_clause_in_every_case() {
    let case = Case { check: |_| Vec::new(), ..*suites::case("aon/pending-blocks-nobody").unwrap() };
    let history = with_violated_invariant();
    let found = findings(&case, &history);
    let judged = judgements(&case, Target::KUBE_POD_GROUP, &history, &found, None);
    let invariant = judged.iter().find(|judgement| judgement.clause == "GANG-19").unwrap();
    assert_eq!(invariant.outcome.verdict, Verdict::Fail);
    assert_eq!(invariant.violations[0].code.as_str(), "uninitialized-again");
    let on_purpose = case.breaks(&[(Invariant::StaysInitialized, "it is what the case does")]);
    assert_eq!(findings(&on_purpose, &history), []);
}

#[test]
fn a_pod_on_a_node_of_another_case_is_an_error_of_the_harness() {
    let pool = serde_json::json!({conformance_contract::names::POOL: "ns"});
    let node = serde_json::json!({"kind": "Node", "metadata": {"name": "own", "labels": pool}});
    let history = Story::flat().added(node).workers("w", 1, 1).end();
    let case = suites::case("aon/pending-blocks-nobody").unwrap();
    let findings = [Finding { clause: "AON-10", ruling: Ok(()) }];
    let judged = judgements(case, Target::KUBE_POD_GROUP, &history, &findings, None);
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
    assert!(
        reason(&judged[0].outcome).contains("was bound to a node outside the node pool of its case"),
        "{judged:?}"
    );
}
