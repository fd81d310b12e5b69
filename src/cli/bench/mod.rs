//! `bench`: figures that users ask for, measured on this machine.
//!
//! - [`figures`]: the suite and the controller: cluster start, latency of a small gang, memory;
//! - [`calibration`]: the speed of the machine;
//! - [`train_jobs`] (`--trainjob`): the same for TrainJobs; [`trainer_plugin`]: the KAI plugin's time per
//!   request;
//! - [`cold`] (`cold DIR...`): README's commands where nothing is built;
//! - [`throughput`] (`--throughput`): kube-scheduler's, for each mapping of a PodGang; [`workload`] is its
//!   input, [`table`] its output.
//!
//! Every figure comes from the same watches that decide cases, on dedicated control planes: simulated nodes,
//! a real API server, a real scheduler.

mod calibration;
mod cold;
mod figures;
mod table;
mod throughput;
mod timed;
mod train_jobs;
mod trainer_plugin;
mod workload;

use conformance_contract::kubernetes::Kubernetes;
use conformance_report::Exit;

use super::args::{BenchArgs, BenchVerb, Versions};
use super::{Failure, output};

pub(crate) async fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    output::data(&match calibration::calibrate() {
        Ok(took) => format!("calibration, sha256sum of 2 GB of zeros: {:.1} s", took.as_secs_f64()),
        Err(error) => format!("calibration, sha256sum of 2 GB of zeros: not measured: {error}"),
    });
    if let Some(BenchVerb::Cold(args)) = &args.verb {
        return cold::cold(args).await;
    }
    if args.throughput {
        return throughput::throughput(args).await;
    }
    let versions = args.kubernetes.unwrap_or(Versions::from(Kubernetes::default())).all();
    for version in &versions {
        if versions.len() > 1 {
            output::data(&format!("Kubernetes {}", version.version()));
        }
        match args.trainjob {
            true => train_jobs::train_jobs(*version, args).await?,
            false => figures::figures(*version, args).await?,
        }
    }
    Ok(Exit::Conformant)
}
