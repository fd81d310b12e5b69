use std::path::Path;

use conformance_cluster::ClusterError;
use conformance_cluster::local::Programs;
use conformance_contract::scheduler::Scheduler;
use conformance_install::catalogue::components_for;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_programs::components::{Overrides, Toolbox};
use conformance_run::environment::{Environment, Settings};
use tokio::runtime::Runtime;

use crate::harness::{Lines, retries};

pub(crate) fn run_id(letter: char) -> String {
    format!("{letter}{:x}", std::process::id())
}

pub(crate) fn environment(
    spec: ClusterSpec,
    run: String,
    folder: &str,
    runtime: &Runtime,
) -> Result<Environment, ClusterError> {
    // As in a run, kube-scheduler has extra control planes: it has the most dedicated cases.
    let of_kube = if spec.schedulers.len() == 1 { 3 } else { 2 };
    let planes = |scheduler: &Scheduler| if *scheduler == Scheduler::KUBE { of_kube } else { 1 };
    let dedicated = spec.schedulers.iter().map(|scheduler| (*scheduler, planes(scheduler))).collect();
    let components = components_for(spec.kubernetes, &spec.schedulers, spec.trainer.is_some());
    let toolbox = runtime.block_on(Toolbox::prepare_only(components, &Overrides::new(), &Lines))?;
    let programs = Programs::within(toolbox, Path::new(env!("CARGO_BIN_EXE_grove-conformance")));
    let out = format!("{}/{folder}", env!("CARGO_TARGET_TMPDIR")).into();
    Ok(Environment::new(Settings {
        concurrency: 10,
        grows: true,
        dedicated,
        retries: retries(),
        reproduce: "grove-conformance run {case} {target}".into(),
        ..Settings::local(run, programs, spec, out)
    }))
}
