use conformance_check::binding::NOT_BOUND_WHOLE;
use conformance_check::violation;
use conformance_contract::arena::Arena;
use conformance_contract::ruling::Ruling;
use conformance_contract::target;
use conformance_history::testing::{Story, object, one_clique};
use conformance_history::{MarkName, SharedMark};
use serde_json::{Value, json};

use super::tests::{BOUND, judged, not_reached, only, reason, refused, violated};
use super::*;
use crate::attempts::of_attempts;

fn timeout(clause: Option<&str>) -> Stop {
    let breach =
        Breach { clause: clause.map(str::to_owned), message: "waited 30.0 s for: 4 pods bound".into() };
    Stop::Recorded { reason: "the situation".into(), breach: Some(breach), is_too_slow: false }
}

fn too_slow() -> Stop {
    Stop::Recorded { reason: "the machine was too slow".into(), breach: None, is_too_slow: true }
}

#[test]
fn a_timeout_on_a_slow_machine_is_an_error_if_no_check_found_a_violation() {
    let judged =
        judged("aon/pending-blocks-nobody", Target::KUBE_POD_GROUP, &[("AON-10", Ok(()))], Some(&too_slow()));
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
}

fn after_timeout(ruling: Ruling, clause: Option<&str>) -> Vec<(String, Verdict, String)> {
    let case = "aon/pending-blocks-nobody";
    let judged = judged(case, Target::KUBE_POD_GROUP, &[("AON-10", ruling)], Some(&timeout(clause)));
    let first = |outcome: &Outcome| reason(outcome).lines().next().unwrap_or_default().to_owned();
    judged.into_iter().map(|of| (of.clause, of.outcome.verdict, first(&of.outcome))).collect()
}

#[rstest::rstest]
#[case::not_reached(not_reached())]
#[case::kept_so_far(Ok(()))]
fn a_timeout_fails_the_clause_that_requires_the_awaited_state(#[case] ruling: Ruling) {
    let message = "waited 30.0 s for: 4 pods bound".to_owned();
    assert_eq!(
        after_timeout(ruling.clone(), None),
        [("AON-10".to_owned(), Verdict::Fail, message.clone())],
        "a wait without a clause counts for the case's own"
    );
    let precondition = format!("precondition failed, AON-01 is violated: {message}");
    assert_eq!(
        after_timeout(ruling, Some("AON-01")),
        [("AON-10".to_owned(), Verdict::NotRun, precondition), ("AON-01".to_owned(), Verdict::Fail, message)]
    );
}

#[test]
fn a_violation_that_a_check_found_explains_a_timeout() {
    let found = after_timeout(violated(), Some("AON-01"));
    assert_eq!(found, [("AON-10".to_owned(), Verdict::Fail, BOUND.to_owned())]);
    let findings = [("TOPO-02", violated()), ("TOPO-04", not_reached())];
    let both = judged("topo/no-rack-has-room", Target::KUBE_POD_GROUP, &findings, Some(&timeout(None)));
    let verdicts: Vec<_> = both.iter().map(|of| (of.clause.as_str(), of.outcome.verdict)).collect();
    assert_eq!(verdicts, [("TOPO-02", Verdict::Fail), ("TOPO-04", Verdict::NotRun)]);
    assert!(reason(&both[1].outcome).contains("TOPO-02 is violated"), "{both:?}");
}

#[rstest::rstest]
#[case::of_a_clause(timeout(Some("AON-01")))]
#[case::on_a_slow_machine(too_slow())]
fn a_clause_that_a_known_deviation_leaves_undecided_is_announced(#[case] stop: Stop) {
    let unbound = violation(NOT_BOUND_WHOLE, "0 pods of PodClique restored-0-leader are bound, want 1");
    let findings = [("GANG-12", Ok(())), ("GANG-26", Err(unbound.into()))]
        .map(|(clause, ruling)| Finding { clause, ruling });
    let case = suites::case("gang/restored-while-pending").unwrap();
    let pod_group = object("PodGroup.scheduling.sigs.k8s.io", "restored-0-leader");
    let history = Story::on(Target::KOORDINATOR).added(pod_group).end();
    let judged = judgements(case, Target::KOORDINATOR, &history, &findings, Some(&stop));
    let found: Vec<_> =
        judged.iter().map(|of| (of.clause.as_str(), of.outcome.verdict, of.outcome.announced)).collect();
    let [undecided, deviation] = found[..] else { panic!("{found:?}") };
    assert_eq!(undecided, ("GANG-12", Verdict::NotRun, true));
    assert_eq!((deviation.0, deviation.1), ("GANG-26", Verdict::KnownDeviation));
}

/// On kube-scheduler 1.37, the awaited state is never reached.
#[test]
fn a_deviation_that_no_machine_avoids_explains_the_timeout_of_a_slow_one() {
    let case = suites::case("del/shared-claims").unwrap();
    let judged_on = |target: Target| {
        let kinds = schedulers::of(target).kinds();
        let story = kinds.iter().fold(Story::on(target), |story, kind| story.added(object(kind, "g")));
        let found = ["DEL-01", "DEL-14", "GANG-30"].map(|clause| Finding { clause, ruling: not_reached() });
        let judged = judgements(case, target, &story.end(), &found, Some(&too_slow()));
        judged.iter().map(|of| (of.clause.clone(), of.outcome.verdict)).collect::<Vec<_>>()
    };
    let verdicts = |found: [(&str, Verdict); 4]| found.map(|(clause, verdict)| (clause.to_owned(), verdict));
    assert_eq!(
        judged_on(Target::KUBE_TREE),
        verdicts([
            ("DEL-01", Verdict::NotRun),
            ("DEL-14", Verdict::NotRun),
            ("GANG-30", Verdict::NotRun),
            ("AON-01", Verdict::KnownDeviation)
        ])
    );
    assert_eq!(judged_on(Target::KUBE_POD_GROUP)[0], ("DEL-01".to_owned(), Verdict::Error));
}

/// AON-03 has a known deviation of its own in this case, which did not occur.
#[test]
fn a_violated_precondition_excuses_a_clause_that_may_deviate_too() {
    let case = suites::case("aon/device-elsewhere").unwrap();
    let waits = Story::flat().submitted(one_clique("paired", 2)).added(object("Workload", "g"));
    let in_part = waits.added(object("PodGroup", "g")).workers("paired", 2, 1);
    let history = in_part.mark(MarkName::of_case("the scheduler has tried the gang"), Value::Null).end();
    let judged = judgements(case, Target::KUBE_POD_GROUP, &history, &(case.check)(&history), None);
    let verdicts: Vec<_> =
        judged.iter().map(|of| (of.clause.as_str(), of.outcome.verdict, of.outcome.announced)).collect();
    assert_eq!(verdicts, [("AON-02", Verdict::KnownDeviation, false), ("AON-03", Verdict::NotRun, true)]);
}

/// Koordinator binds one of four pods of a gang that reuses a name, and the driver times out.
#[test]
fn a_known_race_that_stops_a_case_leaves_its_other_clauses_to_the_next_attempt() {
    let case = suites::case("del/same-name-api-faults").unwrap();
    let set = "disturbed-0";
    let story = Story::on(Target::KOORDINATOR)
        .submitted(one_clique(set, 4))
        .added(object("PodGroup.scheduling.sigs.k8s.io", "g"))
        .mark(SharedMark::Deleted, json!({"kind": "PodCliqueSet", "name": set}))
        .mark(MarkName::of_case("submitted again"), json!({"name": set}))
        .workers(set, 4, 1)
        .mark(SharedMark::WaitTimedOut, json!({"condition": "the second PodCliqueSet bound"}));
    let history = story.end();
    let found = (case.check)(&history.until_timeout());
    let judged = judgements(case, Target::KOORDINATOR, &history, &found, Some(&timeout(Some("DEL-08"))));
    let verdicts: Vec<_> =
        judged.iter().map(|of| (of.clause.as_str(), of.outcome.verdict, of.outcome.announced)).collect();
    assert_eq!(verdicts, [("DEL-08", Verdict::KnownDeviation, false), ("DEL-12", Verdict::NotRun, true)]);

    let first = CaseResult::new(case.id, case.title, judged);
    let second = CaseResult::without_running(case.id, case.title, ["DEL-08", "DEL-12"], &Outcome::pass());
    let both = of_attempts(vec![first, second], Target::KOORDINATOR);
    let verdicts: Vec<_> = both.clauses.iter().map(|of| (of.clause.as_str(), of.outcome.verdict)).collect();
    assert_eq!(verdicts, [("DEL-08", Verdict::KnownDeviation), ("DEL-12", Verdict::Pass)]);
}

#[test]
fn a_timeout_of_the_harness_or_of_a_clause_that_is_not_owed_is_an_error() {
    for stop in [refused(), Stop::Recorded { reason: "no canary".into(), breach: None, is_too_slow: false }] {
        assert_eq!(only(not_reached(), Some(&stop)).verdict, Verdict::Error);
    }
    // KUBE-15 does not apply to Volcano.
    let judged = judged(
        "aon/pending-blocks-nobody",
        Target::VOLCANO,
        &[("AON-10", not_reached())],
        Some(&timeout(Some("KUBE-15"))),
    );
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].outcome.verdict, Verdict::Error);
}

fn submitted(case: &Case) -> Vec<Value> {
    let mut documents = grove_yaml::documents(case.manifest).unwrap();
    let kinds = ["PodCliqueSet", "Pod", "TrainJob", "TrainingRuntime"];
    documents.retain(|document| kinds.iter().any(|kind| document["kind"] == *kind));
    for runtime in documents.iter_mut().filter(|document| document["kind"] == "TrainingRuntime") {
        let name = format!("runtime {}", runtime["metadata"]["name"].as_str().unwrap_or_default());
        runtime["metadata"]["name"] = name.into();
    }
    documents
}

fn story(case: &Case, target: Target, marks: &[String]) -> Story {
    static MARKS: Arena<String> = Arena::empty();
    let mut story = submitted(case).into_iter().fold(Story::on(target), Story::submitted);
    for mark in marks {
        story = story.mark(MarkName::of_case(MARKS.add(mark.clone())), Value::Null);
    }
    story
}

fn judgements_after_timeout(
    case: &Case,
    target: Target,
    marks: &[String],
    clause: Option<&str>,
) -> Vec<Judgement> {
    let story = story(case, target, marks).mark(SharedMark::WaitTimedOut, json!({"condition": "everything"}));
    let breach = json!({"message": "timed out waiting for: everything", "clause": clause});
    let stopped = json!({"wait": true, "reason": "timed out", "breach": breach});
    let history = story.mark(SharedMark::Stopped, stopped).end();
    let stop = Stop::recorded(&history);
    judgements(case, target, &history, &findings(case, &history), stop.as_ref())
}

/// Returns the marks that the check requires in a history without objects, in order.
fn required_marks(case: &Case, target: Target) -> Vec<String> {
    let mut marks: Vec<String> = Vec::new();
    loop {
        let history = story(case, target, &marks).end();
        let missing = (case.check)(&history).into_iter().find_map(|finding| match finding.ruling {
            Err(Broken::NotReached(why)) => {
                let name = why.strip_prefix("the case did not reach \"")?.strip_suffix('"')?.to_owned();
                (!marks.contains(&name)).then_some(name)
            }
            _ => None,
        });
        match missing {
            Some(mark) => marks.push(mark),
            None => return marks,
        }
    }
}

/// Returns the judgements of a timed-out case as text if they are wrong. `clause` is the clause that requires
/// the awaited state; `None` if the wait names no clause.
fn fault(judgements: &[Judgement], clause: Option<&str>, is_at_start: bool) -> Option<String> {
    let has = |verdict| judgements.iter().any(|judgement| judgement.outcome.verdict == verdict);
    // A violation of another clause may explain the timeout.
    let is_explained = |id: &str| {
        let judgement = judgements.iter().find(|judgement| judgement.clause == id);
        matches!(judgement.map(|judgement| judgement.outcome.verdict), Some(Verdict::Fail | Verdict::NotRun))
    };
    let fails = has(Verdict::Fail) && clause.is_none_or(is_explained);
    if fails && !has(Verdict::Error) && !(is_at_start && has(Verdict::Pass)) {
        return None;
    }
    let verdicts = judgements.iter().map(|of| format!("{} {}", of.clause, of.outcome.verdict));
    Some(verdicts.collect::<Vec<_>>().join(", "))
}

/// On a fast machine, a timeout must fail the clause that requires the awaited state. No clause would fail if
/// a check passed despite the timeout, or required a mark that follows the checked event.
#[test]
fn a_timeout_fails_a_clause_in_every_case() {
    let mut wrong = Vec::new();
    for (case, target) in suites::cases().flat_map(|case| target::every().map(move |target| (case, target))) {
        let clauses = checked_clauses(case, target);
        if clauses.is_empty() {
            continue;
        }
        let marks = required_marks(case, target);
        for reached in 0..=marks.len() {
            let marks = &marks[..reached];
            for clause in std::iter::once(None).chain(clauses.iter().map(|clause| Some(*clause))) {
                let judgements = judgements_after_timeout(case, target, marks, clause);
                if let Some(verdicts) = fault(&judgements, clause, reached == 0) {
                    let owner = clause.unwrap_or("the case");
                    let after = marks.last().map_or("the start", String::as_str);
                    wrong.push(format!(
                        "{} on {target}, wait of {owner} after {after:?}: {verdicts}",
                        case.id
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} in all\n{}", wrong.len(), wrong.join("\n"));
}
