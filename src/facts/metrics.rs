//! The operator's metrics, compared with the history (STAT-11).
//!
//! The metrics are read when a case is idle, and only those of its own namespace count. Compared are:
//!
//! - PodGangs by status phase, terminations, and finished updates
//! - the number of PodGangs that had the minimum of all podgroups bound
//! - the sum of the times from creation to that point
//!
//! The exact time of a binding is unknown, so the sum is only bounded. A gang was bound no sooner than its
//! last pod, and no later than the metrics were read.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::metrics::MetricNames;
use conformance_expect::scopes::replicas;
use conformance_history::{Change, History, Live, Pod, What, count, list, text};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::generations::recycles;
use crate::health::is_bound;

/// The possible error of times that are truncated to whole seconds.
const CUT: SignedDuration = SignedDuration::from_secs(1);

/// The metrics of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Numbers {
    pub gangs: BTreeMap<String, f64>,
    pub recycles: f64,
    pub updates: f64,
    /// The number of PodGangs whose time to bind was measured.
    pub bound: f64,
    /// The sum of these times, in seconds.
    pub seconds: f64,
    /// The histogram: the number of times within each bucket, by the upper bound in seconds as written. Empty
    /// without a histogram.
    pub at_most: BTreeMap<String, f64>,
}

impl Numbers {
    /// Reads the metrics of a namespace from a page in Prometheus' text format. Metrics without events may be
    /// missing.
    pub fn read(page: &str, namespace: &str, names: &MetricNames) -> Self {
        let mut numbers = Self::default();
        let of_times = |what: &str| format!("{}_{what}", names.time_to_bound);
        let (times, sum, bucket) = (of_times("count"), of_times("sum"), of_times("bucket"));
        for sample in page.lines().filter_map(Sample::read) {
            if sample.label("namespace") != Some(namespace) {
                continue;
            }
            let phase = sample.label("phase").unwrap_or_default();
            match sample.name {
                name if name == names.gangs => {
                    *numbers.gangs.entry(phase.to_owned()).or_default() += sample.value
                }
                name if name == names.recycles => numbers.recycles += sample.value,
                name if name == names.updates => numbers.updates += sample.value,
                name if name == times => numbers.bound += sample.value,
                name if name == sum => numbers.seconds += sample.value,
                name if name == bucket => {
                    let end = sample.label("le").unwrap_or_default().to_owned();
                    *numbers.at_most.entry(end).or_default() += sample.value;
                }
                _ => {}
            }
        }
        numbers.gangs.retain(|_, count| *count != 0.0);
        numbers
    }
}

/// A line of a metrics page that is no comment.
#[derive(Debug, PartialEq)]
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

impl<'a> Sample<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let end = line.find(['{', ' ', '\t']).filter(|_| !line.starts_with('#'))?;
        let (name, mut rest) = line.split_at(end);
        let mut labels = Vec::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside.trim_start();
            while !rest.starts_with('}') {
                let (label, quoted) = rest.split_once('=')?;
                let (value, behind) = unquoted(quoted.trim_start().strip_prefix('"')?)?;
                labels.push((label.trim(), value));
                rest = behind.trim_start();
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            }
            rest = &rest[1..];
        }
        let value = rest.split_whitespace().next()?.parse().ok()?;
        Some(Self { name, labels, value })
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| *label == name).map(|(_, value)| value.as_str())
    }
}

/// A string up to its closing quote, and the rest after it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

/// A PodGang whose minimum was bound.
#[derive(Debug, Clone, Copy)]
struct Bound {
    made: Timestamp,
    /// The earliest possible time of the binding.
    since: Timestamp,
    /// Whether the minimum is still bound at the end.
    lasts: bool,
}

/// The PodGangs whose minimum was ever bound.
fn bound(history: &History) -> Vec<Bound> {
    let mut live = Live::default();
    let mut all: BTreeMap<String, Bound> = BTreeMap::new();
    for entry in &history.entries {
        let What::Object(recorded) = &entry.what else { continue };
        live.apply(recorded);
        let object = recorded.object.as_ref();
        if recorded.change == Change::Deleted
            || !["Pod", "PodGang"].iter().any(|kind| object["kind"] == *kind)
        {
            continue;
        }
        let pods = bound_pods(&live);
        for gang in live.of("PodGang").filter(|gang| has_minimum(gang, &pods)) {
            let made = time(&gang["metadata"]["creationTimestamp"]).unwrap_or(entry.at);
            let since = || {
                let scheduled = Pod(object).condition("PodScheduled");
                scheduled.and_then(|scheduled| time(&scheduled["lastTransitionTime"])).unwrap_or(made)
            };
            let uid = text(&gang["metadata"]["uid"]).to_owned();
            all.entry(uid).or_insert_with(|| Bound { made, since: since(), lasts: false });
        }
    }
    let pods = bound_pods(&live);
    for gang in live.of("PodGang").filter(|gang| has_minimum(gang, &pods)) {
        if let Some(bound) = all.get_mut(text(&gang["metadata"]["uid"])) {
            bound.lasts = true;
        }
    }
    all.into_values().collect()
}

/// The number of bound pods of each PodClique.
fn bound_pods(live: &Live) -> BTreeMap<&str, usize> {
    let mut pods = BTreeMap::new();
    for pod in live.of("Pod").map(Pod).filter(|pod| is_bound(*pod)) {
        *pods.entry(pod.pod_clique().unwrap_or_default()).or_default() += 1;
    }
    pods
}

fn has_minimum(gang: &Value, pods: &BTreeMap<&str, usize>) -> bool {
    let podgroups = list(&gang["spec"]["podgroups"]);
    !podgroups.is_empty()
        && podgroups.iter().all(|podgroup| {
            let bound = pods.get(text(&podgroup["name"])).copied().unwrap_or(0);
            bound >= count(&podgroup["minReplicas"]).unwrap_or(0)
        })
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// PodGangs by phase; a missing phase is Pending.
fn phases(live: &Live) -> BTreeMap<String, f64> {
    let mut phases = BTreeMap::new();
    for gang in live.of("PodGang") {
        let phase = gang["status"]["phase"].as_str().filter(|phase| !phase.is_empty()).unwrap_or("Pending");
        *phases.entry(phase.to_owned()).or_default() += 1.0;
    }
    phases
}

/// Terminations of PodCliqueSet replicas. Those of single scaling-group replicas are excluded, because they
/// cannot be distinguished from update steps here.
fn recycled(history: &History) -> usize {
    let sets = history.header.submitted.values();
    sets.flat_map(replicas).map(|replica| recycles(history, &replica.scope()).len()).sum()
}

fn updated(history: &History) -> usize {
    let ended = history.of("PodCliqueSet").filter_map(|version| {
        let progress = &version.object["status"]["updateProgress"];
        let ended = progress["updateEndedAt"].as_str()?;
        Some((version.uid(), text(&progress["updateStartedAt"]), ended))
    });
    ended.collect::<BTreeSet<_>>().len()
}

/// Describes the metrics that differ from the history at the time of the reading.
pub fn differences(history: &History, numbers: &Numbers, read: Timestamp) -> Vec<String> {
    let mut found = Vec::new();
    let phases = phases(&history.end());
    if numbers.gangs != phases {
        found.push(format!("PodGangs by phase are {:?}, but the metrics report {:?}", phases, numbers.gangs));
    }
    let mut counted = |what: &str, wanted: usize, said: f64| {
        if said != wanted as f64 {
            found.push(format!("metrics report {said} {what}, want {wanted}"));
        }
    };
    counted("gang terminations", recycled(history), numbers.recycles);
    counted("ended updates", updated(history), numbers.updates);
    // A gang that was bound only briefly may be missing from the metrics.
    let bound = bound(history);
    let (least, most) = (bound.iter().filter(|gang| gang.lasts).count(), bound.len());
    if !(least as f64..=most as f64).contains(&numbers.bound) {
        let said = numbers.bound;
        found.push(format!("metrics report the time to bound of {said} PodGangs, want {least} to {most}"));
    }
    let sum = |times: &mut dyn Iterator<Item = SignedDuration>| -> f64 {
        times.map(|time| time.as_secs_f64().max(0.0)).sum()
    };
    let least = sum(&mut bound
        .iter()
        .filter(|gang| gang.lasts)
        .map(|gang| gang.since.duration_since(gang.made) - CUT));
    let most = sum(&mut bound.iter().map(|gang| read.duration_since(gang.made) + CUT));
    if !(least..=most).contains(&numbers.seconds) {
        let said = numbers.seconds;
        found.push(format!(
            "metrics report {said} s as the total time to bound of all PodGangs, want {least} s to {most} s"
        ));
    }
    found.extend(wrong_bucket(&bound, numbers, read));
    found
}

/// The first histogram bucket that does not match the history. The last bucket contains all PodGangs.
fn wrong_bucket(bound: &[Bound], numbers: &Numbers, read: Timestamp) -> Option<String> {
    let end = |(end, said): (&String, &f64)| Some((end.parse::<f64>().ok()?, *said));
    let mut buckets: Vec<_> = numbers.at_most.iter().filter_map(end).collect();
    buckets.sort_by(|(end, _), (other, _)| end.total_cmp(other));
    let is_wrong = |(end, said): &(f64, f64)| {
        if end.is_infinite() {
            return *said != numbers.bound;
        }
        let within = |time: SignedDuration| time.as_secs_f64() <= *end;
        let surely = |gang: &&Bound| gang.lasts && within(read.duration_since(gang.made) + CUT);
        let maybe = |gang: &&Bound| within(gang.since.duration_since(gang.made) - CUT);
        let (least, most) = (bound.iter().filter(surely).count(), bound.iter().filter(maybe).count());
        !(least as f64..=most as f64).contains(said)
    };
    let (end, said) = buckets.into_iter().find(is_wrong)?;
    Some(format!(
        "metrics report {said} PodGangs with a time to bound of at most {end} s, which contradicts the \
         history"
    ))
}

#[cfg(test)]
mod tests {
    use conformance_history::SharedMark;
    use conformance_history::testing::{Story, its_gang, one_clique, worker};
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
    fn a_page_is_read() {
        let numbers = Numbers::read(PAGE, "ns", &MetricNames::default());
        let gangs = [("Pending".to_owned(), 2.0), ("Running".to_owned(), 3.0)].into();
        let at_most = [("+Inf".to_owned(), 5.0)].into();
        assert_eq!(
            numbers,
            Numbers { gangs, recycles: 3.0, updates: 4.0, bound: 5.0, seconds: 12.5, at_most }
        );
        assert_eq!(Numbers::read("", "ns", &MetricNames::default()), Numbers::default());
        let others = MetricNames { recycles: "mine".into(), ..MetricNames::default() };
        assert_eq!(Numbers::read(PAGE, "ns", &others).recycles, 0.0);
        for wrong in ["a{", "a{b=c} 1", "a{b=\"c} 1", "a b", "a", "#a 1"] {
            assert_eq!(Sample::read(wrong), None, "{wrong}");
        }
    }

    fn gang(phase: &str) -> Value {
        let mut gang = its_gang("w", 2);
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

    /// A gang of two, the first bound after 5 s, the second after 20 s.
    fn waited() -> Story {
        let made = Story::flat().submitted(one_clique("w", 2)).added(gang("Pending")).workers("w", 2, 0);
        let bound = made.later(5).modified(bound_at(0, 5)).later(15).modified(bound_at(1, 20));
        bound.modified(gang("Running")).later(10)
    }

    fn right() -> Numbers {
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
    fn right_numbers_are_right() {
        assert!(read(waited(), &right()).is_empty());
        let nothing = Story::flat().submitted(one_clique("w", 2));
        assert!(read(nothing, &Numbers::default()).is_empty());
        let waits = Story::flat().submitted(one_clique("w", 2)).added(its_gang("w", 2)).workers("w", 2, 1);
        let pending = Numbers { gangs: [("Pending".to_owned(), 1.0)].into(), ..Numbers::default() };
        assert!(read(waits, &pending).is_empty());
    }

    #[rstest::rstest]
    #[case::another_phase(|numbers: &mut Numbers| numbers.gangs = [("Pending".to_owned(), 1.0)].into(), "by phase")]
    #[case::a_gang_too_many(|numbers: &mut Numbers| *numbers.gangs.get_mut("Running").unwrap() = 2.0, "by phase")]
    #[case::none(|numbers: &mut Numbers| numbers.gangs.clear(), "by phase")]
    #[case::a_recycle(|numbers: &mut Numbers| numbers.recycles = 1.0, "1 gang terminations, want 0")]
    #[case::an_update(|numbers: &mut Numbers| numbers.updates = 1.0, "1 ended updates, want 0")]
    #[case::twice(|numbers: &mut Numbers| (numbers.bound, *at_most(numbers, "+Inf")) = (2.0, 2.0), "time to bound of 2 PodGangs")]
    #[case::sooner(|numbers: &mut Numbers| *at_most(numbers, "10.0") = 1.0, "report 1 PodGangs with a time to bound")]
    #[case::later(|numbers: &mut Numbers| *at_most(numbers, "100.0") = 0.0, "at most 100 s")]
    #[case::never(|numbers: &mut Numbers| *at_most(numbers, "+Inf") = 0.0, "at most inf s")]
    #[case::too_short(|numbers: &mut Numbers| numbers.seconds = 18.5, "18.5 s")]
    #[case::too_long(|numbers: &mut Numbers| numbers.seconds = 20_200.0, "20200 s")]
    fn a_wrong_number_is_seen(#[case] change: fn(&mut Numbers), #[case] words: &str) {
        let mut numbers = right();
        change(&mut numbers);
        let found = read(waited(), &numbers);
        assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
    }

    #[test]
    fn a_gang_that_is_gone_may_have_been_seen() {
        let gone = || waited().deleted(gang("Running"));
        let numbers = Numbers { gangs: BTreeMap::new(), ..right() };
        assert!(read(gone(), &numbers).is_empty());
        assert!(read(gone(), &Numbers::default()).is_empty());
        let twice = Numbers { bound: 2.0, at_most: BTreeMap::new(), ..numbers };
        assert_eq!(read(gone(), &twice).len(), 1);
    }

    #[test]
    fn an_update_that_ended_counts_once() {
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
        assert_eq!(updated(&again.clone().end()), 1);
        assert_eq!(updated(&again.modified(set("3", json!("4"))).end()), 2);
    }
}
