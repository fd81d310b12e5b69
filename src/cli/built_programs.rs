//! Specifies a cluster and builds its programs, from the programs and versions that the user has given.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use conformance_cluster::local::Programs;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_install::catalogue::{components_for, control_plane};
use conformance_install::cluster_spec::{ClusterSpec, Gates};
use conformance_install::{memory, schedulers};
use conformance_programs::components::{Overrides, Replacement, Toolbox, reject_unknown_overrides};
use conformance_programs::own_program::{CONTROLLER, OwnProgram, TRAINER_PLUGIN};
use conformance_programs::{cargo, preflight};

use super::output::Console;
use super::request::ProgramRequest;
use super::{Failure, given, offline, other_versions};

/// Returns the specification of the cluster, and builds schedulers that are given as checkouts or versions.
pub(crate) async fn cluster_spec(
    kubernetes: Kubernetes,
    programs: &ProgramRequest,
    schedulers: &BTreeSet<Scheduler>,
    progress: &Console,
) -> Result<ClusterSpec, Failure> {
    programs.check_versions(kubernetes)?;
    let mut spec = ClusterSpec::of(kubernetes).with_schedulers(schedulers.iter().copied());
    // A program refuses to start with a gate that its version does not have.
    if let Some(minor) = programs.minor_of_kube_scheduler()
        && minor != kubernetes
    {
        spec.scheduler_gates = Gates::workload_api(minor);
    }
    let mut given = given::schedulers(programs, &spec.schedulers, progress).await?;
    given.extend(other_versions::schedulers(programs, kubernetes, &spec.schedulers, progress).await?);
    let configured = programs.configurations.iter();
    let configurations = configured.map(|(scheduler, _, configuration)| (*scheduler, configuration.clone()));
    Ok(ClusterSpec { given, configurations: configurations.collect(), ..spec })
}

/// Builds the programs of a local cluster. Rejects a given program only if no local cluster uses it.
pub(crate) async fn programs(
    programs: &ProgramRequest,
    spec: &ClusterSpec,
    console: &Console,
) -> Result<Programs, Failure> {
    let (mut overrides, parts) = overrides(programs)?;
    reject_unknown_overrides(
        &overrides,
        components_for(spec.kubernetes, &schedulers::all().collect(), true),
    )?;
    overrides.extend(other_versions::overrides(programs, spec.kubernetes, console).await?);
    // Fail before spending minutes on builds.
    preflight::require(vec![memory::check(spec.schedulers.len())])?;
    let given = |name: &str| {
        spec.given.values().any(|scheduler| scheduler.program(name).is_some())
            || spec.given_trainer().is_some_and(|trainer| trainer.program.name == name)
    };
    let components: Vec<_> = components_for(spec.kubernetes, &spec.schedulers, spec.trainer.is_some())
        .filter(|component| !given(component.name))
        .collect();
    if programs.offline {
        offline::require(&components, &overrides, spec).await?;
    }
    let toolbox = Toolbox::prepare_only(components.into_iter(), &overrides, console).await?;
    let controller = parts.controller(spec, console).await?;
    Ok(Programs { replaced: replaced(programs, spec, console).await?, ..parts.with(toolbox, controller)? })
}

/// Builds the control plane that an upgrade replaces, in pinned versions regardless of `--component`.
async fn replaced(
    programs: &ProgramRequest,
    spec: &ClusterSpec,
    console: &Console,
) -> Result<Option<(Kubernetes, Toolbox)>, Failure> {
    let Some(old) = spec.upgrade.as_ref().and_then(|upgrade| upgrade.control_plane.as_ref()) else {
        return Ok(None);
    };
    let (components, pinned): (Vec<_>, _) = (control_plane(old.kubernetes).collect(), Overrides::default());
    if programs.offline {
        offline::require(&components, &pinned, spec).await?;
    }
    let toolbox = Toolbox::prepare_only(components.into_iter(), &pinned, console).await?;
    Ok(Some((old.kubernetes, toolbox)))
}

/// Returns the files that replace components, and those that replace programs in this executable.
pub(crate) fn overrides(programs: &ProgramRequest) -> Result<(Overrides, GivenParts), Failure> {
    let mut files: BTreeMap<_, _> = programs.files.iter().cloned().collect();
    let mut part = |name: &str| match files.remove(name) {
        Some(path) if !path.is_file() => {
            Err(Failure::Usage(format!("--component {name}={}: no such file", path.display())))
        }
        path => Ok(path.map(OwnProgram::alone)),
    };
    let parts = GivenParts { controller: part(CONTROLLER)?, trainer_plugin: part(TRAINER_PLUGIN)? };
    let overrides = files.into_iter().map(|(name, path)| (name, Replacement::File(path))).collect();
    Ok((overrides, parts))
}

/// Replacements of programs in this executable. `None` means that the program in this executable is used.
pub(crate) struct GivenParts {
    controller: Option<OwnProgram>,
    trainer_plugin: Option<OwnProgram>,
}

impl GivenParts {
    /// Only a build for mutants contains the faults, so a cluster with faults needs such a build.
    pub(crate) async fn controller(
        &self,
        spec: &ClusterSpec,
        console: &Console,
    ) -> Result<OwnProgram, Failure> {
        if let Some(given) = &self.controller {
            return Ok(given.clone());
        }
        if spec.has_faults() {
            console.now("building the reference operator with faults");
            return Ok(OwnProgram::alone(cargo::controller_with_faults().await?));
        }
        this_program().map(OwnProgram::controller_within)
    }

    pub(crate) fn with(self, toolbox: Toolbox, controller: OwnProgram) -> Result<Programs, Failure> {
        let within = Programs::within(toolbox, &this_program()?);
        Ok(Programs {
            controller,
            trainer_plugin: self.trainer_plugin.unwrap_or(within.trainer_plugin),
            ..within
        })
    }
}

pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|e| Failure::Infrastructure(format!("cannot find the path of this program: {e}")))
}
