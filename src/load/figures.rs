use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use conformance_cluster::local::{LocalCluster, OperatorWrite};
use conformance_driver::usage::Usage;
use conformance_history::History;
use conformance_install::part::Part;
use conformance_programs::processor_time;
use jiff::Timestamp;
use serde_json::{Map, Number, Value};

use super::alone::SchedulerAlone;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bindings {
    last: Timestamp,
    /// The longest time from the first to the last binding of a gang.
    longest_partial: Duration,
}

impl Bindings {
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
        let longest_partial =
            gangs.into_values().map(|(first, last)| seconds(first, last)).fold(0.0, f64::max);
        let last = bound.into_values().max()?;
        Some(Self { last, longest_partial: Duration::from_secs_f64(longest_partial) })
    }

    fn seconds_since(&self, begin: Timestamp) -> f64 {
        seconds(begin, self.last)
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

pub(super) fn processor_of_all(cluster: &LocalCluster) -> Duration {
    let parts = cluster.parts().into_iter().map(|part| Usage::of(cluster, part).processor).sum::<Duration>();
    parts + processor_time::of_process(std::process::id()).unwrap_or_default()
}

/// A stage of the load test: from the harness's first request until all pods have converged.
pub(super) struct Stage {
    name: &'static str,
    pub(super) begin: Timestamp,
    before: Usage,
}

impl Stage {
    pub(super) fn begin(name: &'static str, cluster: &LocalCluster) -> Self {
        Self { name, begin: Timestamp::now(), before: Usage::of(cluster, Part::Controller) }
    }
}

pub(super) struct Figures {
    pods: usize,
    found: Map<String, Value>,
}

impl Figures {
    pub(super) fn of(pods: usize, gangs: usize, sets: usize) -> Self {
        let counts = [("pods", pods), ("podGangs", gangs), ("sets", sets)];
        let found = counts.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
        Self { pods, found }
    }

    pub(super) fn add_stage(&mut self, stage: &Stage, bindings: Option<Bindings>, cluster: &LocalCluster) {
        if let Some(bindings) = bindings {
            self.put_seconds(stage.name, bindings.seconds_since(stage.begin));
        }
        let now = Usage::of(cluster, Part::Controller);
        let processor = now.processor.saturating_sub(stage.before.processor);
        self.put(&format!("{}ProcessorSeconds", stage.name), processor.as_secs_f64());
        self.put(&format!("{}PeakMegabytes", stage.name), megabytes(now.peak_bytes));
    }

    /// Adds the number of the operator's write requests in a stage, including rejected ones.
    pub(super) fn add_writes(&mut self, stage: &Stage, writes: &[OperatorWrite]) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for write in writes {
            *counts.entry(format!("{} {}", write.verb, write.resource)).or_default() += 1;
        }
        let counts: Map<String, Value> =
            counts.into_iter().map(|(what, count)| (what, count.into())).collect();
        self.found.insert(format!("{}Writes", stage.name), counts.into());
        self.put(&format!("{}WritesPerPod", stage.name), writes.len() as f64 / self.pods.max(1) as f64);
    }

    pub(super) fn add_history(&mut self, history: &History, bindings: Option<Bindings>) {
        self.put("recordedVersions", history.versions().count() as f64);
        if let Some(bindings) = bindings {
            self.put("longestInPartSeconds", bindings.longest_partial.as_secs_f64());
        }
    }

    /// Adds the processor time of all programs with the operator, and without it if the scheduler bound all.
    pub(super) fn add_processor_time(&mut self, with: Duration, alone: Duration) {
        self.put("processorSecondsOfAll", with.as_secs_f64());
        if self.found.contains_key("schedulerAloneSeconds") {
            self.put("schedulerAloneProcessorSecondsOfAll", alone.as_secs_f64());
            self.put("processorRatio", with.as_secs_f64() / alone.as_secs_f64().max(0.001));
        }
    }

    pub(super) fn add_deletion(&mut self, took: Option<Duration>, first: &Stage, cluster: &LocalCluster) {
        if let Some(took) = took {
            self.put("deletionSeconds", took.as_secs_f64());
        }
        let operator = Usage::of(cluster, Part::Controller);
        self.put("operatorPeakMegabytes", megabytes(operator.peak_bytes));
        let processor = operator.processor.saturating_sub(first.before.processor);
        self.put("operatorProcessorSecondsWithDeletion", processor.as_secs_f64());
        let others = cluster.parts().into_iter().filter(|part| *part != Part::Controller);
        let peaks: Map<String, Value> = others
            .map(|part| (part.program().to_owned(), rounded(megabytes(Usage::of(cluster, part).peak_bytes))))
            .collect();
        self.found.insert("peakMegabytes".into(), peaks.into());
    }

    /// Adds the time in which the scheduler alone bound all pods, and the ratio to the time with the
    /// operator. If pods stayed unbound, adds only the number of bound pods.
    pub(super) fn add_scheduler_alone(&mut self, alone: SchedulerAlone, cluster: &LocalCluster) {
        let Some(bindings) = alone.bindings.filter(|_| alone.bound >= alone.pods) else {
            self.put("schedulerAloneBound", alone.bound as f64);
            return;
        };
        let seconds = bindings.seconds_since(alone.begin);
        self.put_seconds("schedulerAlone", seconds);
        if let Some(with) = self.found.get("operatorSeconds").and_then(Value::as_f64) {
            self.put("ratio", with / seconds.max(0.001));
        }
        let apiserver = Usage::of(cluster, Part::Apiserver).peak_bytes;
        self.put("apiServerPeakMegabytesAfterBoth", megabytes(apiserver));
    }

    pub(super) fn add_preemption(&mut self, took: Duration, gangs: [(&str, usize); 4]) {
        self.put("preemptionSeconds", took.as_secs_f64());
        self.found.extend(gangs.map(|(name, count)| (name.to_owned(), count.into())));
    }

    pub(super) fn add_scheduler_failure(&mut self, reason: &str) {
        self.found.insert("schedulerAloneFailed".into(), reason.into());
    }

    pub(super) fn detail(&self) -> Value {
        self.found.clone().into()
    }

    fn put_seconds(&mut self, prefix: &str, seconds: f64) {
        self.put(&format!("{prefix}Seconds"), seconds);
        self.put(&format!("{prefix}PodsPerSecond"), self.pods as f64 / seconds.max(0.001));
    }

    fn put(&mut self, name: &str, figure: f64) {
        self.found.insert(name.into(), rounded(figure));
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn rounded(figure: f64) -> Value {
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
    fn bindings_record_the_last_binding_and_the_longest_partial_gang() {
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
        assert_eq!(bindings.longest_partial, Duration::from_secs(3));
        assert_eq!(Bindings::of(&Story::flat().added(pod("a", "x", None)).end()), None);
    }

    #[test]
    fn writes_are_counted_by_verb_and_resource() {
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
        let update = Stage { name: "update", begin: Timestamp::UNIX_EPOCH, before: Usage::default() };
        figures.add_writes(&update, &[&patches[..], &[write("create", "pods", 201)]].concat());
        let found = figures.detail();
        assert_eq!(found["updateWrites"], json!({"create pods": 1, "patch pods": 2}));
        assert_eq!(found["updateWritesPerPod"], json!(1.5));
    }

    #[rstest::rstest]
    #[case(2.0, json!(2))]
    #[case(1.239, json!(1.24))]
    #[case(f64::NAN, json!(null))]
    fn figures_are_rounded(#[case] figure: f64, #[case] wanted: Value) {
        assert_eq!(rounded(figure), wanted);
    }
}
