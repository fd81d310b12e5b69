//! Tests how findings and the end of a driver become verdicts.

use conformance_cases as cases;
use conformance_check::binding::{BOUND_IN_PART, NOT_BOUND_WHOLE};
use conformance_check::{premise, violation};
use conformance_cluster::ClusterError;
use conformance_contract::backend_declaration::BackendDeclaration;
use conformance_contract::clauses::Feature;
use conformance_contract::ruling::Ruling;
use conformance_facts::invariant::Invariant;
use conformance_history::SharedMark;
use conformance_history::testing::{Story, object};
use rstest::rstest;

use super::*;

const BOUND: &str = "4 pods of the unit of PodGang large-0 were bound";

fn violated() -> Ruling {
    Err(violation(BOUND_IN_PART, BOUND).into())
}

fn not_reached() -> Ruling {
    Err(Broken::NotReached("the case did not reach \"scheduler passed\"".into()))
}

fn not_asked() -> Ruling {
    Err(Broken::NotAsked("there is no second profile".into()))
}

fn refused() -> Stop {
    Stop::Refused { action: "delete Workload w-0".into(), reason: "not found".into() }
}

fn failing_cluster() -> Stop {
    Stop::Cluster(ClusterError::Recorded("the API server went".into()))
}

/// The judgements of a case on a target if its check returns these rulings.
fn judged(
    case: &str,
    target: Target,
    findings: &[(&'static str, Ruling)],
    stop: Option<&Stop>,
) -> Vec<Judgement> {
    let findings: Vec<_> =
        findings.iter().map(|&(clause, ref ruling)| Finding { clause, ruling: ruling.clone() }).collect();
    judgements(cases::case(case).unwrap(), target, &Story::on(target).end(), &findings, stop)
}

/// The judgement of AON-10, by the case that decides only this clause.
fn only(ruling: Ruling, stop: Option<&Stop>) -> Outcome {
    let judged = judged("aon/pending-blocks-nobody", Target::KUBE_POD_GROUP, &[("AON-10", ruling)], stop);
    assert_eq!(judged.len(), 1);
    judged[0].outcome.clone()
}

fn reason(outcome: &Outcome) -> String {
    outcome.reason().unwrap_or_default()
}

#[test]
fn a_broken_premise_is_the_failure_of_the_clause_that_demands_it() {
    for stop in [None, Some(refused())] {
        let findings = [("AON-10", premise("AON-02", violated()))];
        let judged = judged("aon/pending-blocks-nobody", Target::KUBE_POD_GROUP, &findings, stop.as_ref());
        let [own, other] = &judged[..] else { panic!("{judged:#?}") };
        assert_eq!((own.clause.as_str(), other.clause.as_str()), ("AON-10", "AON-02"));
        assert_eq!((own.outcome.verdict, own.outcome.announced), (Verdict::NotRun, false));
        let says = format!("precondition failed, AON-02 is violated: {BOUND}");
        assert!(reason(&own.outcome).starts_with(&says), "{:?}", own.outcome);
        assert_eq!(reason(&own.outcome).contains("not found"), stop.is_some(), "{:?}", own.outcome);
        assert!(own.violations.is_empty());
        assert_eq!(other.outcome.verdict, Verdict::Fail);
        assert_eq!(other.violations, [violation(BOUND_IN_PART, BOUND)]);
    }
}

#[test]
fn a_clause_that_says_so_itself_says_it_once() {
    let findings = [("TOPO-02", violated()), ("TOPO-04", premise("TOPO-02", violated()))];
    let judged = judged("topo/no-rack-has-room", Target::KUBE_POD_GROUP, &findings, None);
    let verdicts: Vec<_> = judged.iter().map(|j| (j.clause.as_str(), j.outcome.verdict)).collect();
    assert_eq!(verdicts, [("TOPO-02", Verdict::Fail), ("TOPO-04", Verdict::NotRun)]);
    assert_eq!(judged[0].violations, [violation(BOUND_IN_PART, BOUND)]);
}

#[test]
fn a_clause_that_the_target_does_not_owe_is_not_broken() {
    let findings = [("AON-10", premise("KUBE-15", violated()))];
    let judged = judged("aon/pending-blocks-nobody", Target::VOLCANO, &findings, None);
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].outcome.verdict, Verdict::NotRun);
}

#[test]
fn a_failing_cluster_breaks_no_clause() {
    let findings = [("AON-10", premise("AON-02", violated()))];
    let case = "aon/pending-blocks-nobody";
    let judged = judged(case, Target::KUBE_POD_GROUP, &findings, Some(&failing_cluster()));
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
    let findings = [Finding { clause: "AON-10", ruling: premise("AON-02", violated()) }];
    let gap = Story::flat().gap("Pod").end();
    let judged = judgements(cases::case(case).unwrap(), Target::KUBE_POD_GROUP, &gap, &findings, None);
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
}

#[rstest]
#[case::kept(Ok(()), Outcome::pass())]
#[case::broken(violated(), Outcome::fail(BOUND))]
#[case::not_reached(not_reached(), Outcome::error("the case did not reach \"scheduler passed\""))]
#[case::not_asked(not_asked(), Outcome::not_run_announced("there is no second profile"))]
fn what_a_judge_says_of_a_case_that_came_to_its_end(#[case] ruling: Ruling, #[case] wanted: Outcome) {
    assert_eq!(only(ruling, None), wanted);
}

#[rstest]
#[case::kept(Ok(()), Verdict::Error, &["stopped early", "not found"])]
#[case::broken(violated(), Verdict::Fail, &[BOUND, "not found"])]
#[case::not_reached(not_reached(), Verdict::Error, &["did not reach", "stopped early", "not found"])]
#[case::not_asked(not_asked(), Verdict::Error, &["stopped early", "not found"])]
fn a_case_that_stopped_says_why_beside_what_its_judge_says(
    #[case] ruling: Ruling,
    #[case] verdict: Verdict,
    #[case] says: &[&str],
) {
    let outcome = only(ruling, Some(&refused()));
    assert_eq!(outcome.verdict, verdict);
    assert!(says.iter().all(|word| reason(&outcome).contains(word)), "{outcome:?}");
}

#[test]
fn an_operator_is_asked_what_it_declares_in_a_run_and_in_its_replay() {
    let declaration = BackendDeclaration {
        operator: "mine v1".into(),
        features: vec![Feature::TopologyRequired],
        ..BackendDeclaration::default()
    };
    let target = Target::VOLCANO.declared_by(declaration);
    let judged = |id: &str, target: Target| judged_clauses(cases::case(id).unwrap(), target);
    assert_eq!(judged("topo/no-rack-has-room", target), ["TOPO-02", "TOPO-04"]);
    assert!(judged("aon/one-clique-too-large", target).is_empty(), "no unit across cliques is promised");
    assert_eq!(judged("aon/one-clique-too-large", Target::VOLCANO), ["AON-08"]);
    let said =
        not_held(cases::case("aon/one-clique-too-large").unwrap(), target, &Outcome::error("not reached"));
    let reason = "mine v1 does not declare AtomicPodGang on volcano";
    assert_eq!(said.clauses[0].outcome, Outcome::unsupported(reason));

    // Known deviations of a scheduler do not apply to features that the operator does not declare.
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

#[test]
fn an_operator_that_ends_under_a_case_of_its_own_has_failed_it() {
    let death = || Stop::OperatorEnded(ClusterError::Recorded("my-operator: exit status 1".into()));
    for ruling in [not_reached(), Ok(())] {
        let outcome = only(ruling, Some(&death()));
        assert_eq!(outcome.verdict, Verdict::Fail);
        assert_eq!(reason(&outcome), "the operator under test exited: my-operator: exit status 1");
    }
    // The check's reason comes first, and a clause that was not asked stays that way.
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
fn a_probe_judges_what_is_not_owed_and_says_so_apart() {
    let declaration = BackendDeclaration { operator: "mine v1".into(), ..BackendDeclaration::default() };
    let target = Target::VOLCANO.declared_by(declaration);
    let case = cases::case("aon/one-clique-too-large").unwrap();
    let as_if = as_if_declared(case, target).unwrap();
    assert_eq!(judged_clauses(case, as_if), ["AON-08"]);
    assert!(!as_if.declares(Feature::SelfHealing), "no more than the case needs");
    assert!(as_if_declared(case, Target::VOLCANO).is_none_or(|same| same.declares(Feature::AtomicPodGang)));
    let beyond = cases::case("kube/tree").unwrap();
    assert_eq!(as_if_declared(beyond, target), None);

    let judgement = |outcome| vec![Judgement { clause: "AON-08".into(), outcome, violations: Vec::new() }];
    let found = CaseResult::new(case.id, case.title, judgement(Outcome::pass()));
    let said = probed(unsupported(case, target), found);
    assert_eq!(said.outcome.verdict, Verdict::Unsupported);
    assert_eq!(said.probed, [Probed { clause: "AON-08".into(), verdict: Verdict::Pass }]);
    let not_begun = not_held(case, as_if, &Outcome::not_run_announced("no kubelets"));
    assert!(probed(unsupported(case, target), not_begun).probed.is_empty());
}

/// A timeout in AON-10's case, as its history records it.
fn waited(clause: Option<&str>) -> Stop {
    let breach =
        Breach { clause: clause.map(str::to_owned), message: "waited 30.0 s for: 4 pods bound".into() };
    Stop::Recorded { reason: "the situation".into(), breach: Some(breach) }
}

/// Verdicts and first reasons of AON-10's case after a timeout.
fn stopped_by_a_wait(ruling: Ruling, clause: Option<&str>) -> Vec<(String, Verdict, String)> {
    let case = "aon/pending-blocks-nobody";
    let judged = judged(case, Target::KUBE_POD_GROUP, &[("AON-10", ruling)], Some(&waited(clause)));
    let first = |outcome: &Outcome| reason(outcome).lines().next().unwrap_or_default().to_owned();
    judged.into_iter().map(|j| (j.clause, j.outcome.verdict, first(&j.outcome))).collect()
}

#[rstest]
#[case::not_reached(not_reached())]
#[case::kept_so_far(Ok(()))]
fn what_had_to_happen_and_did_not_fails_the_clause_that_demands_it(#[case] ruling: Ruling) {
    let message = "waited 30.0 s for: 4 pods bound".to_owned();
    assert_eq!(
        stopped_by_a_wait(ruling.clone(), None),
        [("AON-10".to_owned(), Verdict::Fail, message.clone())],
        "a wait that names no clause is for the case's own"
    );
    let premise = format!("precondition failed, AON-01 is violated: {message}");
    assert_eq!(
        stopped_by_a_wait(ruling, Some("AON-01")),
        [("AON-10".to_owned(), Verdict::NotRun, premise), ("AON-01".to_owned(), Verdict::Fail, message)]
    );
}

#[test]
fn what_a_judge_finds_explains_a_wait_that_ran_out() {
    let judged = stopped_by_a_wait(violated(), Some("AON-01"));
    assert_eq!(judged, [("AON-10".to_owned(), Verdict::Fail, BOUND.to_owned())]);
    let findings = [("TOPO-02", violated()), ("TOPO-04", not_reached())];
    let both =
        super::tests::judged("topo/no-rack-has-room", Target::KUBE_POD_GROUP, &findings, Some(&waited(None)));
    let verdicts: Vec<_> = both.iter().map(|j| (j.clause.as_str(), j.outcome.verdict)).collect();
    assert_eq!(verdicts, [("TOPO-02", Verdict::Fail), ("TOPO-04", Verdict::NotRun)]);
    assert!(reason(&both[1].outcome).contains("TOPO-02 is violated"), "{both:?}");
}

#[test]
fn what_a_known_deviation_leaves_undecided_is_announced() {
    let unbound = violation(NOT_BOUND_WHOLE, "0 pods of PodClique restored-0-leader are bound, want 1");
    let findings = [("GANG-12", Ok(())), ("GANG-26", Err(unbound.into()))]
        .map(|(clause, ruling)| Finding { clause, ruling });
    let case = cases::case("gang/restored-while-pending").unwrap();
    let pod_group = object("PodGroup.scheduling.sigs.k8s.io", "restored-0-leader");
    let history = Story::on(Target::KOORDINATOR).added(pod_group).end();
    let judged = judgements(case, Target::KOORDINATOR, &history, &findings, Some(&waited(Some("AON-01"))));
    let found: Vec<_> =
        judged.iter().map(|j| (j.clause.as_str(), j.outcome.verdict, j.outcome.announced)).collect();
    let [undecided, deviation] = found[..] else { panic!("{found:?}") };
    assert_eq!(undecided, ("GANG-12", Verdict::NotRun, true));
    assert_eq!((deviation.0, deviation.1), ("GANG-26", Verdict::KnownDeviation));
}

#[test]
fn a_wait_for_what_nobody_owes_is_an_error() {
    for stop in [refused(), Stop::Recorded { reason: "no canary".into(), breach: None }] {
        assert_eq!(only(not_reached(), Some(&stop)).verdict, Verdict::Error);
    }
    // KUBE-15 does not apply to Volcano.
    let judged = judged(
        "aon/pending-blocks-nobody",
        Target::VOLCANO,
        &[("AON-10", not_reached())],
        Some(&waited(Some("KUBE-15"))),
    );
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
}

/// A history that satisfies the check, with a PodGang that is no longer Initialized: GANG-19, which the case
/// does not cover.
fn with_a_broken_invariant() -> conformance_history::History {
    let gang = |status: &str| {
        let conditions = serde_json::json!([{"type": "Initialized", "status": status}]);
        serde_json::json!({"kind": "PodGang", "metadata": {"name": "g"}, "status": {"conditions": conditions}})
    };
    Story::flat().added(gang("True")).modified(gang("False")).end()
}

#[test]
fn a_broken_invariant_fails_its_clause_in_every_case() {
    let case = Case { judge: |_| Vec::new(), ..*cases::case("aon/pending-blocks-nobody").unwrap() };
    let history = with_a_broken_invariant();
    let found = findings(&case, &history);
    let judged = judgements(&case, Target::KUBE_POD_GROUP, &history, &found, None);
    let broken = judged.iter().find(|judgement| judgement.clause == "GANG-19").unwrap();
    assert_eq!(broken.outcome.verdict, Verdict::Fail);
    assert_eq!(broken.violations[0].code.as_str(), "uninitialized-again");
    let on_purpose = case.breaks(&[(Invariant::StaysInitialized, "it is what the case does")]);
    assert_eq!(findings(&on_purpose, &history), []);
}

#[test]
fn an_invariant_that_one_attempt_broke_is_flaky() {
    let judgement =
        |clause: &str, outcome| Judgement { clause: clause.into(), outcome, violations: Vec::new() };
    let first = vec![judgement("AON-10", Outcome::pass()), judgement("GANG-19", Outcome::fail("no longer"))];
    let second = vec![judgement("AON-10", Outcome::pass())];
    let result = of_attempts(
        [first, second].map(|clauses| CaseResult::new("c", "t", clauses)).to_vec(),
        Target::KUBE_POD_GROUP,
    );
    let verdicts: Vec<_> = result.clauses.iter().map(|j| (j.clause.as_str(), j.outcome.verdict)).collect();
    assert_eq!(verdicts, [("AON-10", Verdict::Pass), ("GANG-19", Verdict::Flaky)]);
    assert_eq!(result.outcome.verdict, Verdict::Flaky);
}

#[test]
fn a_pod_on_another_cases_node_is_the_harnesss_error() {
    let pool = serde_json::json!({conformance_contract::names::POOL: "ns"});
    let node = serde_json::json!({"kind": "Node", "metadata": {"name": "own", "labels": pool}});
    let history = Story::flat().added(node).workers("w", 1, 1).end();
    let case = cases::case("aon/pending-blocks-nobody").unwrap();
    let findings = [Finding { clause: "AON-10", ruling: Ok(()) }];
    let judged = judgements(case, Target::KUBE_POD_GROUP, &history, &findings, None);
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
    assert!(
        reason(&judged[0].outcome).contains("was bound to a node outside the node pool of its case"),
        "{judged:?}"
    );
}

/// The verdict of a clause with a known race, after attempts that showed it or did not.
#[rstest]
#[case::it_passes_at_last(&[true, true, false], Verdict::KnownDeviation, 0, "race condition: passed in attempt 3 of at most 5")]
#[case::it_never_passes(&[true; 5], Verdict::Fail, 5, "never passed in 5 attempts")]
#[case::it_was_cut_short(&[true; 2], Verdict::KnownDeviation, 5, "koord-scheduler 1.8 remembers satisfied gangs by name")]
fn a_race_has_to_be_seen_to_pass(
    #[case] tries: &[bool],
    #[case] verdict: Verdict,
    #[case] wanted: usize,
    #[case] says: &str,
) {
    let known = deviations::of("del/same-name-again", "DEL-08", Target::KOORDINATOR).unwrap();
    let attempts: Vec<_> = tries
        .iter()
        .map(|shows| {
            let outcome = match shows {
                true => Outcome::fail("").of_known_deviation(known.reason, false),
                false => Outcome::pass(),
            };
            let judgement = Judgement { clause: "DEL-08".into(), outcome, violations: Vec::new() };
            CaseResult::new("del/same-name-again", "t", vec![judgement])
        })
        .collect();
    assert_eq!(tries_of_races(&attempts, Target::KOORDINATOR), wanted);
    let found = of_attempts(attempts, Target::KOORDINATOR);
    assert_eq!(found.outcome.verdict, verdict);
    let reason = found.outcome.reason().unwrap_or_default();
    assert!(reason.contains(says), "{reason}");
}

/// The PodCliqueSets of a case's manifest, as histories store them.
fn submitted(case: &Case) -> Vec<serde_json::Value> {
    let mut sets = grove_yaml::documents(case.manifest).unwrap();
    let kinds = ["PodCliqueSet", "Pod", "TrainJob", "TrainingRuntime"];
    sets.retain(|document| kinds.iter().any(|kind| document["kind"] == *kind));
    for runtime in sets.iter_mut().filter(|document| document["kind"] == "TrainingRuntime") {
        let name = format!("runtime {}", runtime["metadata"]["name"].as_str().unwrap_or_default());
        runtime["metadata"]["name"] = name.into();
    }
    sets
}

/// The judgements if a case only submitted its workloads, reached some of its marks, and then timed out.
fn where_a_wait_ran_out(case: &Case, target: Target, marks: &[&str], clause: Option<&str>) -> Vec<Judgement> {
    let story = submitted(case).into_iter().fold(Story::on(target), Story::submitted);
    let story = marks.iter().fold(story, |story, mark| {
        story.mark(conformance_history::MarkName::of_case(mark.to_string().leak()), serde_json::Value::Null)
    });
    let story = story.mark(SharedMark::WaitRanOut, serde_json::json!({"condition": "everything"}));
    let breach = serde_json::json!({"message": "waited in vain for: everything", "clause": clause});
    let stopped = serde_json::json!({"wait": true, "reason": "waited in vain", "breach": breach});
    let history = story.mark(SharedMark::Stopped, stopped).end();
    let stop = Stop::recorded(&history);
    judgements(case, target, &history, &findings(case, &history), stop.as_ref())
}

/// The marks that a case's check asks for, in order, as far as this is known without objects.
fn marks_asked_for(case: &Case, target: Target) -> Vec<String> {
    let sets = submitted(case);
    let mut marks: Vec<String> = Vec::new();
    loop {
        let story = sets.iter().cloned().fold(Story::on(target), Story::submitted);
        let story = marks.iter().fold(story, |story, mark| {
            story.mark(conformance_history::MarkName::of_case(mark.clone().leak()), serde_json::Value::Null)
        });
        let asked = (case.judge)(&story.end()).into_iter().find_map(|finding| match finding.ruling {
            Err(Broken::NotReached(why)) => {
                let name = why.strip_prefix("the case did not reach \"")?.strip_suffix('"')?.to_owned();
                (!marks.contains(&name)).then_some(name)
            }
            _ => None,
        });
        match asked {
            Some(mark) => marks.push(mark),
            None => return marks,
        }
    }
}

/// On a machine that is fast enough, every timeout in every case must be a failure of some clause. No check
/// may pass anyway, or require a mark after the checked event, which would leave no clause violated. If the
/// awaited state is required by a clause, that clause fails.
#[test]
fn a_wait_that_ran_out_is_red_in_every_case() {
    let mut wrong = Vec::new();
    for case in cases::all() {
        use conformance_contract::target::{AI_CONFORMANCE_TARGETS, TARGETS, TRAIN_JOB_TARGETS};
        for target in TARGETS.into_iter().chain(AI_CONFORMANCE_TARGETS).chain(TRAIN_JOB_TARGETS) {
            let judged = judged_clauses(case, target);
            if judged.is_empty() {
                continue;
            }
            let marks = marks_asked_for(case, target);
            let marks: Vec<_> = marks.iter().map(String::as_str).collect();
            for reached in 0..=marks.len() {
                let marks = &marks[..reached];
                let after = marks.last().copied().unwrap_or("the beginning");
                let mut found = |clause: Option<&str>| {
                    let all = where_a_wait_ran_out(case, target, marks, clause);
                    let is = |verdict| all.iter().any(|judgement| judgement.outcome.verdict == verdict);
                    // A violation of another clause may explain the timeout.
                    let is_explained = |id: &str| {
                        let own = all.iter().find(|judgement| judgement.clause == id);
                        matches!(own.map(|own| own.outcome.verdict), Some(Verdict::Fail | Verdict::NotRun))
                    };
                    let is_red = is(Verdict::Fail) && clause.is_none_or(is_explained);
                    if !is_red || is(Verdict::Error) || (reached == 0 && is(Verdict::Pass)) {
                        let told = all.iter().map(|j| format!("{} {}", j.clause, j.outcome.verdict));
                        let told = told.collect::<Vec<_>>().join(", ");
                        let whose = clause.unwrap_or("the case");
                        wrong.push(format!(
                            "{} on {target}, wait of {whose} after {after:?}: {told}",
                            case.id
                        ));
                    }
                };
                found(None);
                judged.iter().for_each(|clause| found(Some(clause)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} in all\n{}", wrong.len(), wrong.join("\n"));
}
