//! `run`: runs the suite, or your own workload, on clusters, writes the report, and returns the exit code.
//!
//! - `check` rejects arguments that contradict each other, and `request` reads the files that they name;
//! - `plan` selects the cases and targets, and `rounds` divides them among several control planes;
//! - `one_cluster` runs a plan on one cluster, and `reproduce` is the command line that runs one case again.

mod check;
mod one_cluster;
mod plan;
mod reproduce;
mod request;
mod rounds;

use std::sync::Arc;

use conformance_report::{Exit, Report};
use conformance_run::interruption::Interruption;

pub(crate) use self::one_cluster::{close, execute};
use self::plan::plan;
use self::request::Request;
use crate::args::{RunArgs, Versions};
use crate::{Failure, baseline, in_cluster, publish, report_files, select};

/// Returns an error only before the first case. Later failures are in the report.
pub(crate) async fn run(args: &RunArgs, interruption: &Arc<Interruption>) -> Result<Exit, Failure> {
    let args = &*in_cluster::as_share(args)?;
    check::check(args)?;
    let report = run_cases(args, interruption).await?;
    report_files::write_further_files(args, &report)?;
    if args.share.store_results {
        return publish::publish(&args.share, &args.report_dir, &report).await;
    }
    match &args.output.baseline {
        Some(file) => baseline::compare_with(file, &report),
        None => Ok(report.exit()),
    }
}

async fn run_cases(args: &RunArgs, interruption: &Arc<Interruption>) -> Result<Report, Failure> {
    let request = Request::read(args)?;
    let default = || Versions::from(select::version_for(request.scope.as_deref()));
    let versions = args.subject.kubernetes.unwrap_or_else(default);
    match versions.all().as_slice() {
        [version] if args.share.in_cluster => {
            let plan = plan(*version, &request)?;
            in_cluster::run(args, &plan, interruption).await
        }
        [version] if args.tools.trainjob => rounds::run_train_jobs(*version, &request, interruption).await,
        [version] => {
            let plan = plan(*version, &request)?;
            one_cluster::run(*version, plan, &request, &args.report_dir, interruption).await
        }
        versions => rounds::run_on_all(versions, &request, interruption).await,
    }
}
