//! `/metrics`, in OpenMetrics text. Only the leader counts PodGangs by phase, so that a sum counts each once.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use grove_api::PodGang;
use jiff::Timestamp;
use kube::ResourceExt;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::faults::fault;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReconcilerLabels {
    reconciler: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WriteLabels {
    verb: String,
    resource: String,
    code: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NamespaceLabels {
    namespace: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct PodGangLabels {
    namespace: String,
    phase: String,
}

#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Mutex<Registry>>,
    reconciles: Family<ReconcilerLabels, Counter>,
    errors: Family<ReconcilerLabels, Counter>,
    durations: Family<ReconcilerLabels, Histogram>,
    writes: Family<WriteLabels, Counter>,
    gangs: Family<PodGangLabels, Gauge>,
    recycles: Family<NamespaceLabels, Counter>,
    updates: Family<NamespaceLabels, Counter>,
    times_to_bound: Family<NamespaceLabels, Histogram>,
    /// UIDs of PodGangs that were bound. After a restart, one that has lost a pod is measured again.
    bound: Arc<Mutex<HashSet<String>>>,
    is_leader: Arc<AtomicBool>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("grove");
        let (reconciles, errors, writes) = (Family::default(), Family::default(), Family::default());
        let durations = Family::new_with_constructor(
            (|| Histogram::new(exponential_buckets(0.000_1, 4.0, 10))) as fn() -> Histogram,
        );
        registry.register("reconciles", "Reconciliations", reconciles.clone());
        registry.register("reconcile_errors", "Reconciliations that failed", errors.clone());
        registry.register("reconcile_duration_seconds", "Duration of reconciliations", durations.clone());
        registry.register(
            "writes",
            "Writes to the API server by verb, resource and HTTP code",
            writes.clone(),
        );
        let (gangs, recycles, updates) = (Family::default(), Family::default(), Family::default());
        // From 0.25 s to 4096 s.
        let times_to_bound = Family::new_with_constructor(
            (|| Histogram::new(exponential_buckets(0.25, 2.0, 15))) as fn() -> Histogram,
        );
        registry.register("podgangs", "PodGangs by phase", gangs.clone());
        registry.register(
            "recycles",
            "Gang terminations of PodCliqueSet replicas, and of single replicas of scaling groups",
            recycles.clone(),
        );
        registry.register(
            "podcliqueset_updates",
            "Updates of PodCliqueSets that have ended",
            updates.clone(),
        );
        registry.register(
            "podgang_time_to_bound_seconds",
            "Time from the creation of a PodGang until the minimum of all its podgroups was first bound",
            times_to_bound.clone(),
        );
        Self {
            registry: Arc::new(Mutex::new(registry)),
            reconciles,
            errors,
            durations,
            writes,
            gangs,
            recycles,
            updates,
            times_to_bound,
            bound: Arc::default(),
            is_leader: Arc::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn record_reconciliation(&self, reconciler: &'static str, took: Duration, failed: bool) {
        let labels = ReconcilerLabels { reconciler };
        self.reconciles.get_or_create(&labels).inc();
        if failed {
            self.errors.get_or_create(&labels).inc();
        }
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn record_write(&self, verb: &str, resource: &str, code: u16) {
        let labels = WriteLabels { verb: verb.to_owned(), resource: resource.to_owned(), code };
        self.writes.get_or_create(&labels).inc();
    }

    pub(crate) fn set_leading(&self) {
        self.is_leader.store(true, Ordering::Relaxed);
    }

    pub(crate) fn record_recycles(&self, namespace: &str, count: usize) {
        self.recycles
            .get_or_create(&NamespaceLabels { namespace: namespace.to_owned() })
            .inc_by(count as u64);
    }

    pub(crate) fn record_update(&self, namespace: &str) {
        self.updates.get_or_create(&NamespaceLabels { namespace: namespace.to_owned() }).inc();
    }

    /// Measures the time only once, and not if the PodGang was bound before this process started.
    pub(crate) fn record_bound(&self, pod_gang: &PodGang, was_bound: bool) {
        let uid = pod_gang.uid().unwrap_or_default();
        let is_first = self.bound.lock().insert(uid);
        let is_first = is_first || fault!("time-to-bound-repeats");
        let created = pod_gang.metadata.creation_timestamp.as_ref();
        if let (true, false, Some(created)) = (is_first, was_bound, created) {
            let seconds = Timestamp::now().duration_since(created.0).as_secs_f64().max(0.0);
            let labels = NamespaceLabels { namespace: pod_gang.namespace().unwrap_or_default() };
            self.times_to_bound.get_or_create(&labels).observe(seconds);
        }
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.bound.lock().remove(uid);
    }

    pub(crate) fn text(&self, pod_gangs: &[Arc<PodGang>]) -> Result<String, std::fmt::Error> {
        let registry = self.registry.lock();
        let mut counts: BTreeMap<PodGangLabels, i64> = BTreeMap::new();
        for pod_gang in pod_gangs.iter().filter(|_| self.is_leader.load(Ordering::Relaxed)) {
            let phase = pod_gang.status.as_ref().map(|status| status.phase).unwrap_or_default();
            let namespace = pod_gang.namespace().unwrap_or_default();
            *counts.entry(PodGangLabels { namespace, phase: format!("{phase:?}") }).or_default() += 1;
        }
        if !fault!("former-gangs-counted") {
            self.gangs.clear();
        }
        for (gangs, count) in counts {
            self.gangs.get_or_create(&gangs).set(count);
        }
        let mut text = String::new();
        encode(&mut text, &registry)?;
        if fault!("buckets-stay-empty") {
            text = text.lines().map(with_empty_buckets).collect();
        }
        Ok(text)
    }
}

fn with_empty_buckets(line: &str) -> String {
    let is_bucket = line.contains("_to_bound_seconds_bucket") && !line.contains("+Inf");
    let start = line.rsplit_once(' ').filter(|_| is_bucket).map(|(start, _)| start);
    start.map_or_else(|| format!("{line}\n"), |start| format!("{start} 0\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod_gang(name: &str, phase: &str, seconds: i64) -> Arc<PodGang> {
        let created = Timestamp::now().saturating_sub(jiff::SignedDuration::from_secs(seconds)).unwrap();
        let object = json!({
            "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": created.to_string()},
            "spec": {"podgroups": []},
            "status": {"phase": phase},
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn lines(metrics: &Metrics, pod_gangs: &[Arc<PodGang>], name: &str) -> Vec<String> {
        let text = metrics.text(pod_gangs).unwrap();
        text.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
    }

    #[test]
    fn existing_pod_gangs_are_counted_by_the_leader_only() {
        let metrics = Metrics::default();
        let all = [pod_gang("a", "Pending", 0), pod_gang("b", "Pending", 0), pod_gang("c", "Running", 0)];
        assert!(lines(&metrics, &all, "grove_podgangs").is_empty());
        metrics.set_leading();
        let mut found = lines(&metrics, &all, "grove_podgangs");
        found.sort_unstable();
        let line =
            |phase: &str, count: u32| format!(r#"grove_podgangs{{namespace="ns",phase="{phase}"}} {count}"#);
        assert_eq!(found, [line("Pending", 2), line("Running", 1)]);
        assert_eq!(lines(&metrics, &all[2..], "grove_podgangs"), [line("Running", 1)]);
    }

    #[test]
    fn the_time_to_bound_of_a_pod_gang_is_measured_once() {
        let metrics = Metrics::default();
        let (first, second) = (pod_gang("a", "Pending", 10), pod_gang("b", "Pending", 20));
        metrics.record_bound(&first, false);
        metrics.record_bound(&first, false);
        metrics.record_bound(&second, true);
        let name = "grove_podgang_time_to_bound_seconds";
        assert_eq!(
            lines(&metrics, &[], &format!("{name}_count")),
            [format!(r#"{name}_count{{namespace="ns"}} 1"#)]
        );
        let sum = lines(&metrics, &[], &format!("{name}_sum")).swap_remove(0);
        let sum: f64 = sum.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((10.0..20.0).contains(&sum), "{sum}");
    }

    #[test]
    fn recycles_and_updates_are_counted_by_namespace() {
        let metrics = Metrics::default();
        metrics.record_recycles("a", 1);
        metrics.record_recycles("a", 2);
        metrics.record_update("b");
        assert_eq!(lines(&metrics, &[], "grove_recycles"), [r#"grove_recycles_total{namespace="a"} 3"#]);
        let updates = lines(&metrics, &[], "grove_podcliqueset_updates");
        assert_eq!(updates, [r#"grove_podcliqueset_updates_total{namespace="b"} 1"#]);
    }
}
