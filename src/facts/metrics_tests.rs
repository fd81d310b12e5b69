use conformance_history::SharedMark;
use conformance_history::testing::{Story, one_clique, one_clique_gang, worker};
use serde_json::json;

use super::*;

const PAGE: &str = r#"
# HELP grove_podgangs PodGangs by phase.
# TYPE grove_podgangs gauge
grove_podgangs{phase="Pending",namespace="ns"} 2
grove_podgangs{namespace="ns", phase="Running",} 3 1700000000000
grove_podgangs{namespace="ns",phase="Starting"} 0
grove_podgangs{namespace="other",phase="Running"} 7
grove_recycles_total{namespace="ns",kind="a\"b\\\n}"} 1.0
grove_recycles_total{namespace="ns",kind="b"} 2
grove_podcliqueset_updates_total{namespace="ns"} 4 # {} 1.0
grove_podgang_time_to_bound_seconds_bucket{namespace="ns",le="+Inf"} 5
grove_podgang_time_to_bound_seconds_count{namespace="ns"} 5
grove_podgang_time_to_bound_seconds_sum{namespace="ns"} 1.25e1
go_goroutines 17
# EOF
"#;

#[test]
fn metrics_of_a_namespace_are_read_from_a_page() {
    let numbers = Numbers::read(PAGE, "ns", &MetricNames::default());
    let gangs = [("Pending".to_owned(), 2.0), ("Running".to_owned(), 3.0)].into();
    let at_most = [("+Inf".to_owned(), 5.0)].into();
    assert_eq!(
        numbers,
        Numbers { gangs, gang_terminations: 3.0, updates: 4.0, bound: 5.0, seconds: 12.5, at_most }
    );
    assert_eq!(Numbers::read("", "ns", &MetricNames::default()), Numbers::default());
    let others = MetricNames { recycles: "mine".into(), ..MetricNames::default() };
    assert_eq!(Numbers::read(PAGE, "ns", &others).gang_terminations, 0.0);
    for wrong in ["a{", "a{b=c} 1", "a{b=\"c} 1", "a b", "a", "#a 1"] {
        assert_eq!(MetricLine::read(wrong), None, "{wrong}");
    }
}

fn gang(phase: &str) -> Value {
    let mut gang = one_clique_gang("w", 2);
    gang["metadata"]["creationTimestamp"] = json!("1970-01-01T00:00:00Z");
    gang["status"] = json!({"phase": phase});
    gang
}

fn bound_at(index: usize, second: u32) -> Value {
    let mut pod = worker("w", index, Some("n"));
    let at = format!("1970-01-01T00:00:{second:02}Z");
    pod["status"] =
        json!({"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}]});
    pod
}

fn bound_after_20_seconds() -> Story {
    let created = Story::flat().submitted(one_clique("w", 2)).added(gang("Pending")).workers("w", 2, 0);
    let bound = created.later(5).modified(bound_at(0, 5)).later(15).modified(bound_at(1, 20));
    bound.modified(gang("Running")).later(10)
}

fn matching() -> Numbers {
    Numbers {
        gangs: [("Running".to_owned(), 1.0)].into(),
        bound: 1.0,
        seconds: 20.2,
        at_most: [("1.0", 0.0), ("10.0", 0.0), ("25.0", 1.0), ("100.0", 1.0), ("+Inf", 1.0)]
            .map(|(end, count)| (end.to_owned(), count))
            .into(),
        ..Numbers::default()
    }
}

fn at_most<'a>(numbers: &'a mut Numbers, end: &str) -> &'a mut f64 {
    numbers.at_most.get_mut(end).unwrap()
}

fn read(story: Story, numbers: &Numbers) -> Vec<String> {
    let history = story.mark(SharedMark::MetricsRead, Value::Null).end();
    differences(&history, numbers, history.last_at())
}

#[test]
fn matching_metrics_have_no_differences() {
    assert!(read(bound_after_20_seconds(), &matching()).is_empty());
    let nothing = Story::flat().submitted(one_clique("w", 2));
    assert!(read(nothing, &Numbers::default()).is_empty());
    let waits = Story::flat().submitted(one_clique("w", 2)).added(one_clique_gang("w", 2)).workers("w", 2, 1);
    let pending = Numbers { gangs: [("Pending".to_owned(), 1.0)].into(), ..Numbers::default() };
    assert!(read(waits, &pending).is_empty());
}

#[rstest::rstest]
#[case::another_phase(|numbers: &mut Numbers| numbers.gangs = [("Pending".to_owned(), 1.0)].into(), "by phase")]
#[case::a_gang_too_many(|numbers: &mut Numbers| *numbers.gangs.get_mut("Running").unwrap() = 2.0, "by phase")]
#[case::none(|numbers: &mut Numbers| numbers.gangs.clear(), "by phase")]
#[case::a_termination(|numbers: &mut Numbers| numbers.gang_terminations = 1.0, "1 gang terminations, want 0")]
#[case::an_update(|numbers: &mut Numbers| numbers.updates = 1.0, "1 ended updates, want 0")]
#[case::twice(|numbers: &mut Numbers| (numbers.bound, *at_most(numbers, "+Inf")) = (2.0, 2.0), "time to bound of 2 PodGangs")]
#[case::sooner(|numbers: &mut Numbers| *at_most(numbers, "10.0") = 1.0, "report 1 PodGangs with a time to bound")]
#[case::later(|numbers: &mut Numbers| *at_most(numbers, "100.0") = 0.0, "at most 100 s")]
#[case::never(|numbers: &mut Numbers| *at_most(numbers, "+Inf") = 0.0, "at most inf s")]
#[case::too_short(|numbers: &mut Numbers| numbers.seconds = 18.5, "18.5 s")]
#[case::too_long(|numbers: &mut Numbers| numbers.seconds = 20_200.0, "20200 s")]
fn a_wrong_metric_is_one_difference(#[case] change: fn(&mut Numbers), #[case] words: &str) {
    let mut numbers = matching();
    change(&mut numbers);
    let found = read(bound_after_20_seconds(), &numbers);
    assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
}

#[test]
fn a_deleted_gang_may_or_may_not_be_counted() {
    let deleted = || bound_after_20_seconds().deleted(gang("Running"));
    let numbers = Numbers { gangs: BTreeMap::new(), ..matching() };
    assert!(read(deleted(), &numbers).is_empty());
    assert!(read(deleted(), &Numbers::default()).is_empty());
    let twice = Numbers { bound: 2.0, at_most: BTreeMap::new(), ..numbers };
    assert_eq!(read(deleted(), &twice).len(), 1);
}

#[test]
fn an_ended_update_is_counted_once() {
    let set = |started: &str, ended: Value| {
        let mut pcs = one_clique("w", 2);
        pcs["status"]["updateProgress"] = json!({"updateStartedAt": started, "updateEndedAt": ended});
        pcs
    };
    let story = Story::flat()
        .added(one_clique("w", 2))
        .modified(set("1", Value::Null))
        .modified(set("1", json!("2")));
    let again = story.modified(set("1", json!("2"))).modified(set("3", Value::Null));
    assert_eq!(ended_updates(&again.clone().end()), 1);
    assert_eq!(ended_updates(&again.modified(set("3", json!("4"))).end()), 2);
}
