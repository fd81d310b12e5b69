//! From the words of `run` to the cluster that trials are held on: local processes, kind, or somebody else's.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::args::{ImplementationOrigin, ProviderArgs, ProviderName, RunArgs};
use super::{Failure, clusters, output, overrides, own, sibling, sibling_of};
use crate::cluster::components::Toolbox;
use crate::cluster::kind::prepare::{self, OwnPrograms, Wanted};
use crate::cluster::kind::{KindSpec, config};
use crate::cluster::local::{ClusterSpec, Programs};
use crate::cluster::process::Launcher;
use crate::cluster::schedulers::Scheduler;
use crate::report::Implementation;
use crate::suite::arena::Origin;

/// Where the shared cluster comes from, and the programs that the run needs for it.
///
/// # Errors
/// [`Failure::Usage`] for words that do not go together; [`Failure::Infrastructure`] for what the machine lacks.
pub async fn origin(
    args: &RunArgs,
    spec: &ClusterSpec,
    talk: &output::Talk,
) -> Result<(Origin, Programs), Failure> {
    let origin = match (args.provider.provider, &args.cluster, &args.provider.kubeconfig) {
        (ProviderName::Local, Some(name), None) => Origin::Up(clusters::kubeconfig(name, spec.kubernetes)?),
        (ProviderName::Local, None, None) => Origin::Local,
        (ProviderName::Existing, None, Some(kubeconfig)) => Origin::Existing {
            kubeconfig: kubeconfig.clone(),
            beside_others: args.provider.beside_foreign_workloads,
            one_etcd: args.provider.one_etcd,
        },
        (ProviderName::Existing, ..) => {
            return Err(Failure::Usage(
                "--provider existing needs --kubeconfig FILE, and no --cluster".into(),
            ));
        }
        (ProviderName::Kind, None, None) => {
            let (spec, programs) = kind(args, spec, talk).await?;
            return Ok((Origin::Kind(Box::new(spec)), programs));
        }
        (ProviderName::Kind, ..) => {
            return Err(Failure::Usage(
                "--provider kind makes its own cluster: no --cluster, no --kubeconfig".into(),
            ));
        }
        (ProviderName::Local, ..) => {
            return Err(Failure::Usage("--kubeconfig is for --provider existing".into()));
        }
    };
    let programs = match &origin {
        // Nothing is started.
        Origin::Existing { .. } => {
            let nothing = std::iter::empty();
            let toolbox = Toolbox::prepare_only(nothing, &Default::default(), talk).await?;
            Programs { toolbox, launcher: Launcher::new(own()?), controller: PathBuf::new() }
        }
        _ => super::programs(&args.cluster_args, spec, talk).await?,
    };
    Ok((origin, programs))
}

/// The implementation that is judged, where it is not the reference controller.
///
/// # Errors
/// [`Failure::Usage`].
pub fn implementation(args: &ProviderArgs) -> Result<Option<Implementation>, Failure> {
    match (args.implementation, args.provider) {
        (ImplementationOrigin::Reference, _) => Ok(None),
        (ImplementationOrigin::Existing, ProviderName::Existing) => Ok(Some(Implementation {
            name: args.implementation_name.clone(),
            version: args.implementation_version.clone(),
            organization: None,
            url: None,
            ours: false,
        })),
        (ImplementationOrigin::Existing, _) => Err(Failure::Usage(
            "--implementation existing is what runs in a cluster of your own: give --provider existing"
                .into(),
        )),
    }
}

async fn kind(
    args: &RunArgs,
    spec: &ClusterSpec,
    talk: &output::Talk,
) -> Result<(KindSpec, Programs), Failure> {
    let schedulers: BTreeSet<_> = spec.schedulers.iter().copied().filter(|s| *s != Scheduler::Kai).collect();
    if schedulers.len() < spec.schedulers.len() {
        output::say("KAI comes by its chart only, which this run does not install: its clauses are not run");
    }
    let config = match &args.provider.kind_config {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|e| Failure::Usage(format!("--kind-config {}: {e}", path.display())))?,
        None => config::of(spec.kubernetes),
    };
    let (overrides, controller) = overrides(&args.cluster_args)?;
    talk.now("building what a kind cluster is made of");
    let own_programs = OwnPrograms {
        controller: controller.map_or_else(sibling, Ok)?,
        plugin: sibling_of("fake-gpu-plugin")?,
        pause: sibling_of("pause")?,
    };
    let controller = own_programs.controller.clone();
    let wanted = Wanted {
        kubernetes: spec.kubernetes,
        schedulers: &schedulers,
        controller: &spec.controller,
        config: &config,
        node_image: args.provider.node_image.as_deref(),
        overrides: &overrides,
        own: own_programs,
    };
    let (spec, toolbox) = prepare::prepare(wanted, talk).await?;
    for image in spec.own_images() {
        output::say(&format!("image {} {:.1} MB", image.reference, image.bytes as f64 / 1e6));
    }
    Ok((spec, Programs { toolbox, launcher: Launcher::new(own()?), controller }))
}
