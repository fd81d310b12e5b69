//! The contents of `/metrics`, in OpenMetrics text.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Which reconciler.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reconciler {
    reconciler: &'static str,
}

/// Which kind of write.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Write {
    verb: String,
    resource: String,
    code: u16,
}

/// The counters of the process.
#[derive(Clone)]
pub(super) struct Metrics {
    registry: Arc<Mutex<Registry>>,
    reconciles: Family<Reconciler, Counter>,
    errors: Family<Reconciler, Counter>,
    durations: Family<Reconciler, Histogram>,
    writes: Family<Write, Counter>,
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
        Self { registry: Arc::new(Mutex::new(registry)), reconciles, errors, durations, writes }
    }
}

impl Metrics {
    /// Counts a reconciliation.
    pub(super) fn reconciled(&self, reconciler: &'static str, took: Duration, failed: bool) {
        let labels = Reconciler { reconciler };
        self.reconciles.get_or_create(&labels).inc();
        if failed {
            self.errors.get_or_create(&labels).inc();
        }
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Counts a write.
    pub(super) fn wrote(&self, verb: &str, resource: &str, code: u16) {
        let labels = Write { verb: verb.to_owned(), resource: resource.to_owned(), code };
        self.writes.get_or_create(&labels).inc();
    }

    /// All metrics as text.
    ///
    /// # Errors
    /// The text could not be formatted.
    pub(super) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(text)
    }
}
