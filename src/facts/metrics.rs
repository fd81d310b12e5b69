//! The operator's metrics for the namespace of a case, read when the operator is idle (STAT-11). The exact
//! time of a binding is unknown: it is not before the gang's last pod was bound, and not after the metrics
//! were read. So the check compares the sum of the times with two bounds.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::metrics::MetricNames;
use conformance_expect::scopes::replicas;
use conformance_history::{Change, History, Live, Pod, What, count, list, text};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::generations::terminations;
use crate::health::is_bound;

/// The maximum error of a time that is truncated to whole seconds.
const ROUNDING: SignedDuration = SignedDuration::from_secs(1);

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Numbers {
    pub gangs: BTreeMap<String, f64>,
    #[serde(rename = "recycles")]
    pub gang_terminations: f64,
    pub updates: f64,
    /// The number of PodGangs with a measured time to bind.
    pub bound: f64,
    /// The sum of these times, in seconds.
    pub seconds: f64,
    /// The number of PodGangs by upper bound in seconds, as the page spells it. Empty without a histogram.
    pub at_most: BTreeMap<String, f64>,
}

impl Numbers {
    /// Reads a page in Prometheus' text format. Metrics without events may be missing.
    pub fn read(page: &str, namespace: &str, names: &MetricNames) -> Self {
        let mut numbers = Self::default();
        let of_times = |what: &str| format!("{}_{what}", names.time_to_bound);
        let (times, sum, bucket) = (of_times("count"), of_times("sum"), of_times("bucket"));
        for sample in page.lines().filter_map(MetricLine::read) {
            if sample.label("namespace") != Some(namespace) {
                continue;
            }
            let phase = sample.label("phase").unwrap_or_default();
            match sample.name {
                name if name == names.gangs => {
                    *numbers.gangs.entry(phase.to_owned()).or_default() += sample.value
                }
                name if name == names.recycles => numbers.gang_terminations += sample.value,
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

#[derive(Debug, PartialEq)]
struct MetricLine<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

impl<'a> MetricLine<'a> {
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

#[derive(Debug, Clone, Copy)]
struct Bound {
    created: Timestamp,
    since: Timestamp,
    still_bound: bool,
}

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
            let created = time(&gang["metadata"]["creationTimestamp"]).unwrap_or(entry.at);
            let since = || {
                let scheduled = Pod(object).condition("PodScheduled");
                scheduled.and_then(|scheduled| time(&scheduled["lastTransitionTime"])).unwrap_or(created)
            };
            let uid = text(&gang["metadata"]["uid"]).to_owned();
            all.entry(uid).or_insert_with(|| Bound { created, since: since(), still_bound: false });
        }
    }
    let pods = bound_pods(&live);
    for gang in live.of("PodGang").filter(|gang| has_minimum(gang, &pods)) {
        if let Some(bound) = all.get_mut(text(&gang["metadata"]["uid"])) {
            bound.still_bound = true;
        }
    }
    all.into_values().collect()
}

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

fn phases(live: &Live) -> BTreeMap<String, f64> {
    let mut phases = BTreeMap::new();
    for gang in live.of("PodGang") {
        let phase = gang["status"]["phase"].as_str().filter(|phase| !phase.is_empty()).unwrap_or("Pending");
        *phases.entry(phase.to_owned()).or_default() += 1.0;
    }
    phases
}

/// Gang terminations, without those of scaling-group replicas, which look like update steps in a history.
fn number_of_terminations(history: &History) -> usize {
    let sets = history.header.submitted.values();
    sets.flat_map(replicas).map(|replica| terminations(history, &replica.scope()).len()).sum()
}

fn ended_updates(history: &History) -> usize {
    let ended = history.of("PodCliqueSet").filter_map(|version| {
        let progress = &version.object["status"]["updateProgress"];
        let ended = progress["updateEndedAt"].as_str()?;
        Some((version.uid(), text(&progress["updateStartedAt"]), ended))
    });
    ended.collect::<BTreeSet<_>>().len()
}

pub fn differences(history: &History, numbers: &Numbers, read: Timestamp) -> Vec<String> {
    let mut found = Vec::new();
    let phases = phases(&history.end());
    if numbers.gangs != phases {
        found.push(format!("PodGangs by phase are {:?}, but the metrics report {:?}", phases, numbers.gangs));
    }
    let mut compare = |what: &str, wanted: usize, reported: f64| {
        if reported != wanted as f64 {
            found.push(format!("metrics report {reported} {what}, want {wanted}"));
        }
    };
    compare("gang terminations", number_of_terminations(history), numbers.gang_terminations);
    compare("ended updates", ended_updates(history), numbers.updates);
    // The metrics may lack a gang that was bound only briefly.
    let bound = bound(history);
    let (least, most) = (bound.iter().filter(|gang| gang.still_bound).count(), bound.len());
    if !(least as f64..=most as f64).contains(&numbers.bound) {
        let reported = numbers.bound;
        found
            .push(format!("metrics report the time to bound of {reported} PodGangs, want {least} to {most}"));
    }
    let sum = |times: &mut dyn Iterator<Item = SignedDuration>| -> f64 {
        times.map(|time| time.as_secs_f64().max(0.0)).sum()
    };
    let least = sum(&mut bound
        .iter()
        .filter(|gang| gang.still_bound)
        .map(|gang| gang.since.duration_since(gang.created) - ROUNDING));
    let most = sum(&mut bound.iter().map(|gang| read.duration_since(gang.created) + ROUNDING));
    if !(least..=most).contains(&numbers.seconds) {
        let reported = numbers.seconds;
        found.push(format!(
            "metrics report {reported} s as the total time to bound of all PodGangs, \
             want {least} s to {most} s"
        ));
    }
    found.extend(wrong_bucket(&bound, numbers, read));
    found
}

/// Describes the first histogram bucket that contradicts the history. The last bucket contains all PodGangs.
fn wrong_bucket(bound: &[Bound], numbers: &Numbers, read: Timestamp) -> Option<String> {
    let end = |(end, count): (&String, &f64)| Some((end.parse::<f64>().ok()?, *count));
    let mut buckets: Vec<_> = numbers.at_most.iter().filter_map(end).collect();
    buckets.sort_by(|(end, _), (other, _)| end.total_cmp(other));
    let is_wrong = |(end, count): &(f64, f64)| {
        if end.is_infinite() {
            return *count != numbers.bound;
        }
        let within = |time: SignedDuration| time.as_secs_f64() <= *end;
        let surely = |gang: &&Bound| gang.still_bound && within(read.duration_since(gang.created) + ROUNDING);
        let maybe = |gang: &&Bound| within(gang.since.duration_since(gang.created) - ROUNDING);
        let (least, most) = (bound.iter().filter(surely).count(), bound.iter().filter(maybe).count());
        !(least as f64..=most as f64).contains(count)
    };
    let (end, count) = buckets.into_iter().find(is_wrong)?;
    Some(format!(
        "metrics report {count} PodGangs with a time to bound of at most {end} s, which contradicts the \
         history"
    ))
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
