//! `programs.offline`: fails before anything starts if a program must be built or downloaded.

use conformance_install::cluster_spec::ClusterSpec;
use conformance_programs::ProgramError;
use conformance_programs::components::{Component, Overrides, Toolbox, has_source, to_build_for};

pub(crate) async fn require(
    components: &[&'static Component],
    overrides: &Overrides,
    spec: &ClusterSpec,
) -> Result<(), ProgramError> {
    let not_given = components.iter().copied().filter_map(|component| to_build_for(component, overrides));
    let unbuilt = Toolbox::to_build(not_given).await;
    let mut missing: Vec<_> = unbuilt.iter().map(|component| title(component)).collect();
    for files in spec.module_files() {
        let component = files.component;
        if !has_source(component).await? {
            missing.push(format!("manifests of {} {}", component.module_path(), component.version));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(ProgramError::Offline { missing }) }
}

pub(crate) async fn require_built(component: &'static Component) -> Result<(), ProgramError> {
    if Toolbox::is_built(component).await {
        return Ok(());
    }
    Err(ProgramError::Offline { missing: vec![title(component)] })
}

fn title(component: &Component) -> String {
    format!("{} {}", component.name, component.version)
}
