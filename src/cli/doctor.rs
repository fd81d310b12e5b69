//! `doctor`: checks whether this machine can run the suite, and prints what is missing.

use conformance_cluster::kind;
use conformance_contract::kubernetes::Kubernetes;
use conformance_install::catalogue::catalogue;
use conformance_install::schedulers::helm::Helm;
use conformance_programs::components::{Component, Purpose, Toolbox};
use conformance_programs::{home, preflight};
use conformance_report::Exit;

use super::{Failure, measured, output};

/// The exit code is 3 if there is a problem.
pub(crate) async fn doctor() -> Result<Exit, Failure> {
    let mut is_ready = true;
    let mut check = |what: &str, found: Result<String, String>| match found {
        Ok(text) => output::data(&format!("ok    {what}: {text}")),
        Err(text) => {
            is_ready = false;
            output::data(&format!("WRONG {what}: {text}"));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    check("processors", Ok(cores.to_string()));
    let mut components = Vec::new();
    let is_only_for_kind =
        |component: &&Component| matches!(component.purpose, Purpose::Kind | Purpose::Node);
    for version in Kubernetes::ALL {
        for component in catalogue(version).filter(|component| !is_only_for_kind(component)) {
            if !components.contains(&component) {
                components.push(component);
            }
        }
    }
    let unbuilt = Toolbox::to_build(components.into_iter()).await;
    let names: Vec<_> =
        unbuilt.iter().map(|component| format!("{} {}", component.name, component.version)).collect();
    let built =
        if names.is_empty() { "all built".into() } else { format!("to be built: {}", names.join(", ")) };
    check("components", Ok(built));
    for found in preflight::checks(&unbuilt).await {
        check(found.what, found.found);
    }
    // If the folder does not exist, the check of the cache folder has reported it.
    if let Some(disk) = measured::disk_of_builds() {
        check("disk of builds", Ok(disk));
    }
    check("memory of a run, one scheduler", measured::memory_of_run(1));
    check("memory of a run, three schedulers", measured::memory_of_run(3));
    // A machine without Docker can run everything except kind clusters, so this is not a problem.
    match kind::host::check().await {
        Ok(engine) => {
            check("kind", Ok(format!("Docker {}, cgroup v{}", engine.version, engine.cgroup_version)))
        }
        Err(error) => output::data(&format!(
            "no    kind (--provider kind only): {error}\n      on Debian, as root: {}",
            kind::host::PREPARE_DEBIAN
        )),
    }
    if let Ok(version) = Helm::on_path().version().await {
        check("helm (--component NAME=chart:REF)", Ok(version));
    }
    let left: Vec<_> =
        home::clusters()?.into_iter().filter(|found| !found.live).map(|found| found.name).collect();
    let remains = if left.is_empty() {
        "none".into()
    } else {
        format!("{}; `grove-conformance clean` removes them", left.join(", "))
    };
    check("left by killed runs", Ok(remains));
    Ok(if is_ready { Exit::Conformant } else { Exit::Inconclusive })
}
