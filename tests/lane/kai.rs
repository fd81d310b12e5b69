//! KAI's programs, which the machine may have.

use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_cluster::local::ClusterSpec;
use conformance_cluster::schedulers::{in_folder, kai};

/// Names a folder with KAI's programs and CRDs. Without it, only what the API server shows of its backend is tested.
const DIR: &str = "GROVE_CONFORMANCE_KAI_DIR";

/// Whether there are any.
pub(crate) fn is_there() -> bool {
    std::env::var_os(DIR).is_some()
}

/// The same cluster with KAI's programs, if they are there.
///
/// # Errors
/// What the folder lacks.
pub(crate) fn with(mut spec: ClusterSpec) -> Result<ClusterSpec, ClusterError> {
    if let Some(path) = std::env::var_os(DIR) {
        let kai = in_folder(kai::SCHEDULER, path.as_ref())?;
        spec.given.extend(kai.map(|given| (kai::SCHEDULER, Arc::new(given))));
    }
    Ok(spec)
}
