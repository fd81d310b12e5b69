use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::schedulers::{in_folder, kai};

/// Folder of KAI's programs. Without it, tests cover only what the API server shows.
pub(crate) const DIR: &str = "GROVE_CONFORMANCE_KAI_DIR";

pub(crate) fn with(mut spec: ClusterSpec) -> Result<ClusterSpec, ClusterError> {
    if let Some(path) = std::env::var_os(DIR) {
        let kai = in_folder(kai::SCHEDULER, path.as_ref())?;
        spec.given.extend(kai.map(|given| (kai::SCHEDULER, Arc::new(given))));
    }
    Ok(spec)
}
