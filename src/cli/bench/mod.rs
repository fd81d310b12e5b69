//! `dev bench`: figures that users ask for, measured on this machine. [`figures`] uses the watches of cases,
//! on control planes of its own with a real API server, a real scheduler and simulated nodes.

mod calibration;
mod cold;
mod figures;
mod timed;

use conformance_report::Exit;

use super::args::{BenchArgs, BenchVerb};
use super::{Failure, output};

pub(crate) async fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    output::data(&match calibration::calibrate() {
        Ok(took) => format!("calibration, sha256sum of 2 GB of zeros: {:.1} s", took.as_secs_f64()),
        Err(error) => format!("calibration, sha256sum of 2 GB of zeros: not measured: {error}"),
    });
    if let Some(BenchVerb::Cold(args)) = &args.verb {
        return cold::cold(args).await;
    }
    let versions = args.kubernetes.all();
    for version in &versions {
        if versions.len() > 1 {
            output::data(&format!("Kubernetes {}", version.version()));
        }
        figures::figures(*version, args).await?;
    }
    Ok(Exit::Conformant)
}
