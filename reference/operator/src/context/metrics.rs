//! The contents of `/metrics`, in OpenMetrics text.
//!
//! Actions are counted once the API server has accepted their write. PodGangs by phase are counted on each
//! scrape, and only by the leader, because a sum over replicas would count them several times.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use grove_api::PodGang;
use jiff::Timestamp;
use kube::ResourceExt;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::faults::fault;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reconciler {
    reconciler: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Write {
    verb: String,
    resource: String,
    code: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Place {
    namespace: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct Gangs {
    namespace: String,
    phase: String,
}

#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Mutex<Registry>>,
    reconciles: Family<Reconciler, Counter>,
    errors: Family<Reconciler, Counter>,
    durations: Family<Reconciler, Histogram>,
    writes: Family<Write, Counter>,
    gangs: Family<Gangs, Gauge>,
    recycles: Family<Place, Counter>,
    updates: Family<Place, Counter>,
    times_to_bound: Family<Place, Histogram>,
    /// Uids of the PodGangs whose minimum was bound. Kept in memory only: if a PodGang has lost a pod when
    /// the controller starts, its time is measured again.
    bound: Arc<Mutex<HashSet<String>>>,
    leads: Arc<AtomicBool>,
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
            "Recycles of PodCliqueSet replicas, and of single replicas of scaling groups",
            recycles.clone(),
        );
        registry.register(
            "podcliqueset_updates",
            "Updates of PodCliqueSets that have ended",
            updates.clone(),
        );
        registry.register(
            "podgang_time_to_bound_seconds",
            "Time from the creation of a PodGang until the minimum of all its podgroups was bound first",
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
            leads: Arc::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn reconciled(&self, reconciler: &'static str, took: Duration, failed: bool) {
        let labels = Reconciler { reconciler };
        self.reconciles.get_or_create(&labels).inc();
        if failed {
            self.errors.get_or_create(&labels).inc();
        }
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn wrote(&self, verb: &str, resource: &str, code: u16) {
        let labels = Write { verb: verb.to_owned(), resource: resource.to_owned(), code };
        self.writes.get_or_create(&labels).inc();
    }

    pub(crate) fn lead(&self) {
        self.leads.store(true, Ordering::Relaxed);
    }

    pub(crate) fn recycled(&self, namespace: &str, count: usize) {
        self.recycles.get_or_create(&Place { namespace: namespace.to_owned() }).inc_by(count as u64);
    }

    pub(crate) fn updated(&self, namespace: &str) {
        self.updates.get_or_create(&Place { namespace: namespace.to_owned() }).inc();
    }

    /// Records that the minimum of a PodGang is bound. Measures the time only once, and not if the PodGang
    /// was bound before this process started.
    pub(crate) fn bound(&self, pod_gang: &PodGang, was_bound: bool) {
        let uid = pod_gang.uid().unwrap_or_default();
        let is_news = self.bound.lock().unwrap_or_else(PoisonError::into_inner).insert(uid);
        let is_news = is_news || fault!("rebound-counts");
        let made = pod_gang.metadata.creation_timestamp.as_ref();
        if let (true, false, Some(made)) = (is_news, was_bound, made) {
            let seconds = Timestamp::now().duration_since(made.0).as_secs_f64().max(0.0);
            let place = Place { namespace: pod_gang.namespace().unwrap_or_default() };
            self.times_to_bound.get_or_create(&place).observe(seconds);
        }
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    pub(crate) fn text(&self, pod_gangs: &[Arc<PodGang>]) -> Result<String, std::fmt::Error> {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts: BTreeMap<Gangs, i64> = BTreeMap::new();
        for pod_gang in pod_gangs.iter().filter(|_| self.leads.load(Ordering::Relaxed)) {
            let phase = pod_gang.status.as_ref().map(|status| status.phase).unwrap_or_default();
            let namespace = pod_gang.namespace().unwrap_or_default();
            *counts.entry(Gangs { namespace, phase: format!("{phase:?}") }).or_default() += 1;
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
            text = text.lines().map(emptied).collect();
        }
        Ok(text)
    }
}

/// The line, with the count of a finite bucket set to 0.
fn emptied(line: &str) -> String {
    let is_bucket = line.contains("_to_bound_seconds_bucket") && !line.contains("+Inf");
    let start = line.rsplit_once(' ').filter(|_| is_bucket).map(|(start, _)| start);
    start.map_or_else(|| format!("{line}\n"), |start| format!("{start} 0\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod_gang(name: &str, phase: &str, seconds: i64) -> Arc<PodGang> {
        let made = Timestamp::now().saturating_sub(jiff::SignedDuration::from_secs(seconds)).unwrap();
        let object = json!({
            "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": made.to_string()},
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
    fn only_what_there_is_counts_and_only_where_somebody_leads() {
        let metrics = Metrics::default();
        let all = [pod_gang("a", "Pending", 0), pod_gang("b", "Pending", 0), pod_gang("c", "Running", 0)];
        assert!(lines(&metrics, &all, "grove_podgangs").is_empty());
        metrics.lead();
        let mut found = lines(&metrics, &all, "grove_podgangs");
        found.sort_unstable();
        let line =
            |phase: &str, count: u32| format!(r#"grove_podgangs{{namespace="ns",phase="{phase}"}} {count}"#);
        assert_eq!(found, [line("Pending", 2), line("Running", 1)]);
        assert_eq!(lines(&metrics, &all[2..], "grove_podgangs"), [line("Running", 1)]);
    }

    #[test]
    fn the_time_of_a_gang_is_taken_once() {
        let metrics = Metrics::default();
        let (first, second) = (pod_gang("a", "Pending", 10), pod_gang("b", "Pending", 20));
        metrics.bound(&first, false);
        metrics.bound(&first, false);
        metrics.bound(&second, true);
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
    fn what_happened_is_counted_by_namespace() {
        let metrics = Metrics::default();
        metrics.recycled("a", 1);
        metrics.recycled("a", 2);
        metrics.updated("b");
        assert_eq!(lines(&metrics, &[], "grove_recycles"), [r#"grove_recycles_total{namespace="a"} 3"#]);
        let updates = lines(&metrics, &[], "grove_podcliqueset_updates");
        assert_eq!(updates, [r#"grove_podcliqueset_updates_total{namespace="b"} 1"#]);
    }
}
