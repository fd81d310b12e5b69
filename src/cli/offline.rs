//! `programs.offline`: fails before anything starts if a program would be built, or a file of a module
//! downloaded.

use conformance_install::cluster_spec::ClusterSpec;
use conformance_programs::ProgramError;
use conformance_programs::components::{Component, Overrides, Toolbox, has_source};

/// Fails with everything that is missing for a local control plane with these components.
pub(crate) async fn require(
    components: &[&'static Component],
    overrides: &Overrides,
    spec: &ClusterSpec,
) -> Result<(), ProgramError> {
    let pinned = components.iter().copied().filter(|component| !overrides.contains_key(component.name));
    let unbuilt = Toolbox::to_build(pinned).await;
    let mut missing: Vec<_> =
        unbuilt.iter().map(|component| format!("{} {}", component.name, component.version)).collect();
    for files in spec.module_files() {
        let component = files.component;
        if !has_source(component).await? {
            missing.push(format!("manifests of {} {}", component.module_path(), component.version));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(ProgramError::Offline { missing }) }
}
