//! Builds reports for tests. A test sets what matters to it; the other fields have defaults.

use std::time::Duration;

use super::{API_VERSION, Implementation, KIND, Provider, Report, Settings, Suite, TargetReport, Timings};

/// A report of a run of 10 seconds with these targets, on 2026-12-01 at 10:00:42.
pub fn report(targets: Vec<TargetReport>) -> Report {
    let seconds = |seconds| Duration::from_secs(seconds).into();
    Report {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        date: jiff::Timestamp::constant(1_796_119_242, 0),
        suite: Suite {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            contract: Some(conformance_contract::clauses::VERSION.to_owned()),
            digest: None,
        },
        command: "grove-conformance run".to_owned(),
        incomplete: false,
        incomplete_reason: None,
        operator: Implementation {
            name: "sample".to_owned(),
            version: "1".to_owned(),
            ..Implementation::default()
        },
        provider: Provider {
            name: "local".to_owned(),
            kubernetes_version: "v1.36.4".to_owned(),
            feature_gates: Default::default(),
        },
        other_providers: Vec::new(),
        components: Vec::new(),
        settings: Settings { timeout_scale: 1.0, concurrency: 1, strict: false, seed: Some(1) },
        targets,
        timings: Timings {
            build_seconds: seconds(0),
            cluster_ready_seconds: seconds(1),
            total_seconds: seconds(10),
            processor_seconds: Default::default(),
            peak_memory: Default::default(),
            critical_path: Default::default(),
        },
    }
}
