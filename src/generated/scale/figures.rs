//! What a run at scale took, by the times at which the watches delivered each version, and by `/proc`.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use conformance_cluster::local::{LocalCluster, OperatorWrite, Part};
use conformance_cluster::{peak_memory, processor_time};
use conformance_history::History;
use jiff::Timestamp;
use serde_json::{Map, Number, Value};

use super::alone::Alone;

/// When pods were bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bindings {
    last: Timestamp,
    /// The longest that a gang had some pods bound and not yet all that ever were.
    longest_in_part: Duration,
}

impl Bindings {
    /// `None` if nothing was bound.
    pub(super) fn of(history: &History) -> Option<Self> {
        let mut bound: HashMap<&str, Timestamp> = HashMap::new();
        let mut gangs: BTreeMap<&str, (Timestamp, Timestamp)> = BTreeMap::new();
        for version in history.pods() {
            let pod = version.pod();
            if pod.node().is_none() || bound.contains_key(pod.uid()) {
                continue;
            }
            bound.insert(pod.uid(), version.at);
            let gang = gangs.entry(pod.pod_gang().unwrap_or_default()).or_insert((version.at, version.at));
            gang.1 = version.at;
        }
        let in_part = gangs.into_values().map(|(first, last)| seconds(first, last)).fold(0.0, f64::max);
        let last = bound.into_values().max()?;
        Some(Self { last, longest_in_part: Duration::from_secs_f64(in_part) })
    }

    fn seconds_since(&self, begin: Timestamp) -> f64 {
        seconds(begin, self.last)
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

/// What a part has taken by now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Took {
    pub(super) processor: Duration,
    peak_bytes: u64,
}

impl Took {
    pub(super) fn of(cluster: &LocalCluster, part: Part) -> Self {
        let pid = cluster.pid(part);
        Self {
            processor: pid.and_then(processor_time::of_process).unwrap_or_default(),
            peak_bytes: pid.and_then(peak_memory::of_process).unwrap_or_default(),
        }
    }
}

/// Processor time that every part of the cluster and this process have taken by now.
pub(super) fn processor_of_all(cluster: &LocalCluster) -> Duration {
    let parts = cluster.parts().into_iter().map(|part| Took::of(cluster, part).processor).sum::<Duration>();
    parts + processor_time::of_process(std::process::id()).unwrap_or_default()
}

/// All that was measured, by the names that the report has.
pub(super) struct Figures {
    pods: usize,
    operator_seconds: Option<f64>,
    before: Took,
    found: Map<String, Value>,
}

impl Figures {
    /// Of that many pods, PodGangs and sets.
    pub(super) fn of(pods: usize, gangs: usize, sets: usize) -> Self {
        let counts = [("pods", pods), ("podGangs", gangs), ("sets", sets)];
        let found = counts.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
        Self { pods, operator_seconds: None, before: Took::default(), found }
    }

    /// When everything had converged.
    pub(super) fn of_operator(
        &mut self,
        bindings: Option<Bindings>,
        begin: Timestamp,
        history: &History,
        before: Took,
        cluster: &LocalCluster,
    ) {
        self.before = before;
        self.put("recordedVersions", history.versions().count() as f64);
        let Some(bindings) = bindings else { return };
        let seconds = bindings.seconds_since(begin);
        self.operator_seconds = Some(seconds);
        self.put("operatorSeconds", seconds);
        self.put("operatorPodsPerSecond", self.rate(seconds));
        self.put("longestInPartSeconds", bindings.longest_in_part.as_secs_f64());
        let took = Took::of(cluster, Part::Controller).processor.saturating_sub(before.processor);
        self.put("operatorProcessorSeconds", took.as_secs_f64());
    }

    /// What the operator has written, refused or not, until everything had converged.
    pub(super) fn of_writes(&mut self, writes: &[OperatorWrite]) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for write in writes {
            *counts.entry(format!("{} {}", write.verb, write.resource)).or_default() += 1;
        }
        let counts: Map<String, Value> =
            counts.into_iter().map(|(what, count)| (what, count.into())).collect();
        self.found.insert("operatorWrites".into(), counts.into());
        self.put("operatorWritesPerPod", writes.len() as f64 / self.pods.max(1) as f64);
    }

    /// What all programs took with the operator, and with the scheduler alone, if that has bound all.
    pub(super) fn of_all(&mut self, with: Duration, alone: Duration) {
        self.put("processorSecondsOfAll", with.as_secs_f64());
        if self.found.contains_key("schedulerAloneSeconds") {
            self.put("schedulerAloneProcessorSecondsOfAll", alone.as_secs_f64());
            self.put("processorRatio", with.as_secs_f64() / alone.as_secs_f64().max(0.001));
        }
    }

    /// When everything is gone: the operator's memory, and that of each other part, at their most.
    pub(super) fn deletion(&mut self, took: Option<Duration>, cluster: &LocalCluster) {
        if let Some(took) = took {
            self.put("deletionSeconds", took.as_secs_f64());
        }
        let operator = Took::of(cluster, Part::Controller);
        self.put("operatorPeakMegabytes", megabytes(operator.peak_bytes));
        let all = operator.processor.saturating_sub(self.before.processor);
        self.put("operatorProcessorSecondsWithDeletion", all.as_secs_f64());
        let others = cluster.parts().into_iter().filter(|part| *part != Part::Controller);
        let peaks: Map<String, Value> = others
            .map(|part| (part.program().to_owned(), whole(megabytes(Took::of(cluster, part).peak_bytes))))
            .collect();
        self.found.insert("peakMegabytes".into(), peaks.into());
    }

    /// When the scheduler has had the same alone.
    pub(super) fn of_scheduler(&mut self, alone: Alone, cluster: &LocalCluster) {
        let Some(bindings) = alone.bindings.filter(|_| alone.bound >= alone.pods) else {
            self.put("schedulerAloneBound", alone.bound as f64);
            return;
        };
        let seconds = bindings.seconds_since(alone.begin);
        self.put("schedulerAloneSeconds", seconds);
        self.put("schedulerAlonePodsPerSecond", self.rate(seconds));
        if let Some(with) = self.operator_seconds {
            self.put("ratio", with / seconds.max(0.001));
        }
        let apiserver = Took::of(cluster, Part::Apiserver).peak_bytes;
        self.put("apiServerPeakMegabytesAfterBoth", megabytes(apiserver));
    }

    /// Where the scheduler could not be given the same alone.
    pub(super) fn without_scheduler(&mut self, reason: &str) {
        self.found.insert("schedulerAloneFailed".into(), reason.into());
    }

    pub(super) fn detail(&self) -> Value {
        self.found.clone().into()
    }

    fn rate(&self, seconds: f64) -> f64 {
        self.pods as f64 / seconds.max(0.001)
    }

    fn put(&mut self, name: &str, figure: f64) {
        self.found.insert(name.into(), whole(figure));
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// To two places, and without them where they say nothing.
fn whole(figure: f64) -> Value {
    let rounded = (figure * 100.0).round() / 100.0;
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        return Value::from(rounded as i64);
    }
    Number::from_f64(rounded).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, gang: &str, node: Option<&str>) -> Value {
        json!({"kind": "Pod", "metadata": {"name": name, "uid": name, "labels": {"grove.io/podgang": gang}},
            "spec": {"nodeName": node}})
    }

    #[test]
    fn the_last_binding_and_the_gang_that_was_in_part_for_longest() {
        let story =
            Story::flat().added(pod("a", "x", None)).added(pod("b", "x", None)).added(pod("c", "y", None));
        let story =
            story.later(1).modified(pod("a", "x", Some("n"))).later(1).modified(pod("c", "y", Some("n")));
        let history = story
            .later(2)
            .modified(pod("b", "x", Some("n")))
            .later(9)
            .modified(pod("b", "x", Some("n")))
            .end();
        let bindings = Bindings::of(&history).unwrap();
        assert_eq!(bindings.seconds_since(Timestamp::UNIX_EPOCH), 4.0);
        assert_eq!(bindings.longest_in_part, Duration::from_secs(3));
        assert_eq!(Bindings::of(&Story::flat().added(pod("a", "x", None)).end()), None);
    }

    #[test]
    fn writes_count_by_what_they_are() {
        let write = |verb: &str, resource: &str, code| OperatorWrite {
            verb: verb.into(),
            group: String::new(),
            resource: resource.into(),
            name: "a".into(),
            code,
            at: Timestamp::UNIX_EPOCH,
        };
        let mut figures = Figures::of(2, 1, 1);
        let patches = [write("patch", "pods", 200), write("patch", "pods", 409)];
        figures.of_writes(&[&patches[..], &[write("create", "pods", 201)]].concat());
        let found = figures.detail();
        assert_eq!(found["operatorWrites"], json!({"create pods": 1, "patch pods": 2}));
        assert_eq!(found["operatorWritesPerPod"], json!(1.5));
    }

    #[rstest::rstest]
    #[case(2.0, json!(2))]
    #[case(1.239, json!(1.24))]
    #[case(f64::NAN, json!(null))]
    fn figures_are_short(#[case] figure: f64, #[case] wanted: Value) {
        assert_eq!(whole(figure), wanted);
    }
}
