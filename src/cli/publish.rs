//! `pod.storeResults`: a pod stores its report in ConfigMaps, because its files are lost when it ends. Then
//! it succeeds regardless of the verdicts: Kubernetes must retry a killed pod, not a failed case.

use std::path::Path;

use conformance_cluster::access::{Access, namespace_of_pod};
use conformance_cluster::suite::results::{self, LIMIT};
use conformance_programs::blocking::in_place;
use conformance_report as report;
use conformance_report::{Exit, Report};

use super::request::Pod;
use super::{Failure, output};

pub(crate) async fn publish(pod: &Pod, folder: &Path, report: &Report) -> Result<Exit, Failure> {
    let client = Access::Pod.client().await?;
    let namespace = namespace_of_pod()?;
    let packed = in_place(|| report::pack(folder, report, LIMIT))
        .map_err(|error| Failure::Infrastructure(format!("the results cannot be stored: {error}")))?;
    let left_out = (!packed.left_out.is_empty()).then(|| packed.left_out.to_string());
    let share = pod.share.unwrap_or((0, 1));
    results::store(&client, &namespace, share, &packed.archive, left_out).await?;
    output::say(&format!(
        "stored {:.1} MB of results in namespace {namespace}",
        packed.archive.len() as f64 / 1e6
    ));
    // An interrupted run has stored partial results. Exit code 3 lets Kubernetes start the run again.
    Ok(if report.incomplete { Exit::Inconclusive } else { Exit::Conformant })
}
