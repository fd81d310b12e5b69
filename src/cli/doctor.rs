//! `doctor`: whether this machine can run the suite, and what is missing.

use conformance_cluster::catalogue::{catalogue, component};
use conformance_cluster::components::{Component, Purpose, Toolbox, Toolchain};
use conformance_cluster::schedulers::helm::Helm;
use conformance_cluster::schedulers::{self, installation};
use conformance_cluster::{home, kind};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_report::Exit;

use super::{Failure, output};

/// Checks the machine, and prints what to do about everything that is wrong.
///
/// # Errors
/// None: what is wrong is printed, and the exit is 3.
pub(crate) async fn doctor() -> Result<Exit, Failure> {
    let mut sound = true;
    let mut check = |what: &str, found: Result<String, String>| match found {
        Ok(text) => output::data(&format!("ok    {what}: {text}")),
        Err(text) => {
            sound = false;
            output::data(&format!("WRONG {what}: {text}"));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    check("processors", Ok(cores.to_string()));
    let mut unbuilt = Vec::new();
    let of_kind = |component: &&Component| matches!(component.purpose, Purpose::Kind | Purpose::Node);
    for version in Kubernetes::ALL {
        for component in catalogue(version).filter(|component| !of_kind(component)) {
            let name = format!("{} {}", component.name, component.version);
            if !unbuilt.contains(&name) && !Toolbox::is_built(component).await {
                unbuilt.push(name);
            }
        }
    }
    let go = match component("kube-apiserver") {
        Some(apiserver) => Toolchain::find(apiserver.module).await,
        None => return Err(Failure::Infrastructure("the catalogue has no kube-apiserver".into())),
    };
    let of_modules: Vec<_> = schedulers::all()
        .filter(|scheduler| installation(*scheduler).reads_its_module())
        .map(Scheduler::name)
        .collect();
    check(
        "go",
        match go {
            Ok(go) => Ok(format!("{} {}", go.version, go.target)),
            Err(error) if unbuilt.is_empty() => Ok(format!(
                "not usable; all is built, and only the CRDs of {} need it ({error})",
                of_modules.join(" and ")
            )),
            Err(error) => Err(error.to_string()),
        },
    );
    let built =
        if unbuilt.is_empty() { "all built".into() } else { format!("to be built: {}", unbuilt.join(", ")) };
    check("components", Ok(built));
    for (what, path, mib, variable) in [
        ("cache", home::cache(), 4096, home::CACHE_VARIABLE),
        ("state", home::state(), 1024, home::STATE_VARIABLE),
    ] {
        let space = home::require_space(&path, mib, "to be sure", variable);
        check(what, space.map(|()| path.display().to_string()).map_err(|e| e.to_string()));
    }
    // What only kind clusters need is no fault of a machine that has none.
    match kind::host::check().await {
        Ok(engine) => {
            check("kind", Ok(format!("Docker {}, cgroup v{}", engine.version, engine.cgroup_version)))
        }
        Err(error) => output::data(&format!("no    kind (--provider kind only): {error}")),
    }
    if let Ok(version) = Helm::on_path().version().await {
        check("helm (--install helm)", Ok(version));
    }
    let left: Vec<_> =
        home::clusters()?.into_iter().filter(|found| !found.live).map(|found| found.name).collect();
    let remains = if left.is_empty() {
        "none".into()
    } else {
        format!("{}; `grove-conformance clean` removes them", left.join(", "))
    };
    check("left by killed runs", Ok(remains));
    Ok(if sound { Exit::Conformant } else { Exit::Inconclusive })
}
