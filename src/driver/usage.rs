use std::time::Duration;

use conformance_cluster::local::LocalCluster;
use conformance_history::MarkName;
use conformance_install::part::Part;
use conformance_programs::{memory_in_use, peak_memory, processor_time};
use serde_json::{Value, json};

use crate::context::{Stop, TestContext};

#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    pub processor: Duration,
    pub peak_bytes: u64,
    /// Memory in use, without file-backed pages.
    private_bytes: u64,
}

impl Usage {
    pub fn of(cluster: &LocalCluster, part: Part) -> Self {
        let pid = cluster.pid(part);
        Self {
            processor: pid.and_then(processor_time::of_process).unwrap_or_default(),
            peak_bytes: pid.and_then(peak_memory::of_process).unwrap_or_default(),
            private_bytes: pid.and_then(memory_in_use::of_process).unwrap_or_default(),
        }
    }
}

impl TestContext {
    /// Records the processor time and memory of the target's scheduler as `{"processorSeconds",
    /// "megabytes"}`. The mark is empty if a process does not run.
    pub fn record_scheduler_usage(&self, mark: MarkName) -> Result<(), Stop> {
        let cluster = self.local()?;
        let (mut processor, mut bytes, mut all_run) = (Duration::ZERO, 0_u64, true);
        for part in cluster.spec().parts_of(self.target.scheduler()) {
            let usage = Usage::of(cluster, part);
            processor += usage.processor;
            bytes += usage.private_bytes;
            all_run &= usage.private_bytes > 0;
        }
        let used = json!({"processorSeconds": processor.as_secs_f64(), "megabytes": bytes as f64 / 1e6});
        self.mark(mark, if all_run { used } else { Value::Null });
        Ok(())
    }
}
