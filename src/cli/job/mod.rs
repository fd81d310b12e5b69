//! `job`: runs the suite as pods of a Job in a cluster. This side submits the Job with the arguments of
//! [`pod_args`], prints the pods' logs, merges their reports, and removes what it created. In a pod,
//! `request` derives its share of the cases, and `publish` stores the report in ConfigMaps.

mod pod_args;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_cluster::access::Access;
use conformance_cluster::kubeconfig::KubeconfigSource;
use conformance_cluster::suite::follow::{Ended, Follower, follow};
use conformance_cluster::suite::results::{self, Incomplete, Stored};
use conformance_cluster::suite::{SuiteRun, submit};
use conformance_cluster::{ClusterError, existing};
use conformance_programs::blocking::in_place;
use conformance_report as report;
use conformance_report::{Exit, LostShard, MergeInput, Report, Shard};
use conformance_run::interruption::Interruption;
use kube::Client;

use super::args::FetchArgs;
use super::output::{self, Console};
use super::report_files::{command, write};
use super::request::{JobRequest, Request};
use super::{Failure, provider, run, run_id};

const SHARDS: &str = "shards";

/// Runs the Job. Wrong options and missing permissions are reported before anything is created.
pub(crate) async fn job(
    request: &Request,
    job: &JobRequest,
    interruption: &Arc<Interruption>,
) -> Result<Exit, Failure> {
    let plan = run::plan(request.subject.versions[0], request)?;
    let (folder, wanted) = (&request.output.folder, job.shards);
    let kubeconfig = request.cluster.kubeconfig.clone();
    provider::readable(&kubeconfig).await?;
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::Usage(format!("--output {}: {e}", folder.display())))?;
    let count =
        plan.chosen.iter().filter(|case| plan.targets.iter().any(|target| case.is_for(*target))).count();
    let suite = SuiteRun {
        run: run_id(),
        image: job.image.clone(),
        shares: wanted.min(count.max(1)),
        leased_nodes: request.cluster.nodes_where.clone(),
        args: Vec::new(),
    };
    if suite.shares < wanted {
        output::say(&format!("selected cases: {count}; shards: {} instead of {wanted}", suite.shares));
    }
    let suite = SuiteRun { args: pod_args::of(request).with_shares(suite.shares), ..suite };
    let client = existing::reached(&Access::Kubeconfig(kubeconfig.clone())).await?;
    submit::check_rights(&client, &suite).await?;
    let _accepting = interruption.accept_requests();
    output::say(&format!("run {} in namespace {}", suite.run, suite.name()));
    let report = async {
        let ended = submit_and_follow(&client, &suite, interruption).await?;
        fetch_and_merge(&client, &suite.name(), folder, Some(suite.shares), &ended).await
    };
    let written = report.await.and_then(|report| {
        write(folder, &report, request.output.quiet)?;
        Ok(report)
    });
    // Remove the objects even if the run failed.
    if let Err(error) = submit::remove(&client, &suite).await {
        let named = KubeconfigSource {
            file: Some(kubeconfig.file.unwrap_or_else(|| "FILE".into())),
            context: kubeconfig.context,
        };
        output::say(&format!(
            "clean-up: {error}\n`grove-conformance clean{}` removes the remaining objects",
            named.options()
        ));
    }
    run::finish(request, &written?).await
}

async fn submit_and_follow(
    client: &Client,
    suite: &SuiteRun,
    interruption: &Interruption,
) -> Result<Ended, ClusterError> {
    submit::submit(client, suite).await?;
    let follower: Arc<dyn Follower> = Arc::new(PodLogs { console: Console::default(), shares: suite.shares });
    tokio::select! {
        ended = follow(client, suite, &follower) => ended,
        () = interruption.requested() => {
            submit::end(client, suite).await?;
            submit::until_without_pods(client, suite).await?;
            let cause = interruption.cause().unwrap_or_default();
            Ok(Ended { job: Some(format!("interrupted ({cause})")), ..Ended::default() })
        }
    }
}

struct PodLogs {
    console: Console,
    shares: usize,
}

impl Follower for PodLogs {
    fn line(&self, share: usize, text: &str) {
        self.console.line(&format!("{}/{}: {text}", share + 1, self.shares));
    }
}

pub(crate) async fn fetch(args: &FetchArgs) -> Result<Exit, Failure> {
    let kubeconfig = KubeconfigSource { file: args.kubeconfig.clone(), context: args.context.clone() };
    provider::readable(&kubeconfig).await?;
    let client = existing::reached(&Access::Kubeconfig(kubeconfig)).await?;
    let merged = fetch_and_merge(&client, &args.namespace, &args.report_dir, None, &Ended::default()).await?;
    write(&args.report_dir, &merged, false)?;
    Ok(merged.exit())
}

/// `shares` is the expected number of reports. If it is `None`, the stored reports contain the number.
async fn fetch_and_merge(
    client: &Client,
    namespace: &str,
    folder: &Path,
    shares: Option<usize>,
    ended: &Ended,
) -> Result<Report, Failure> {
    let stored = results::fetch(client, namespace).await?;
    let stored_number = || stored.values().flatten().map(|stored| stored.head.shares).max();
    let shares = shares.or_else(stored_number).unwrap_or(1);
    in_place(|| merge(stored, namespace, folder, shares, ended))
}

/// Merges the stored reports. The cases of a missing report count as not run.
fn merge(
    mut stored: BTreeMap<usize, Result<Stored, Incomplete>>,
    namespace: &str,
    folder: &Path,
    shares: usize,
    ended: &Ended,
) -> Result<Report, Failure> {
    let infrastructure = |error: &dyn std::fmt::Display| Failure::Infrastructure(error.to_string());
    let shards = folder.join(SHARDS);
    // A report of an earlier run must not be merged.
    let _ = std::fs::remove_dir_all(&shards);
    let (mut sources, mut lost) = (Vec::new(), Vec::new());
    for (index, shard) in (0..shares).filter_map(|index| Some((index, Shard::at(index, shares)?))) {
        match stored.remove(&index) {
            Some(Ok(Stored { head, archive })) => {
                let below: PathBuf = [SHARDS, &(index + 1).to_string()].iter().collect();
                let into = folder.join(&below);
                report::unpack(&archive, &into).map_err(|error| infrastructure(&error))?;
                let file = into.join("report.yaml");
                let report = report::read(&file).map_err(|error| infrastructure(&error))?;
                sources.push(MergeInput { file, folder: below, report });
                if let Some(left_out) = head.left_out {
                    output::say(&format!("shard {shard}: no room to store {left_out}"));
                }
            }
            incomplete_or_none => {
                let incomplete = incomplete_or_none.and_then(Result::err).map(|error| error.to_string());
                let failed = ended.failed.get(&index).or(ended.job.as_ref()).cloned();
                let nothing = || format!("no results are stored in namespace {namespace}");
                lost.push(LostShard { shard, reason: failed.or(incomplete).unwrap_or_else(nothing) });
            }
        }
    }
    if sources.is_empty() {
        let reasons: Vec<_> =
            lost.iter().map(|LostShard { shard, reason }| format!("shard {shard}: {reason}")).collect();
        return Err(Failure::Infrastructure(format!("no pod stored a report: {}", reasons.join("; "))));
    }
    let merged = report::merge(&sources, command()).map_err(|error| infrastructure(&error))?;
    Ok(merged.without(&lost))
}

#[cfg(test)]
mod manifests_tests;
#[cfg(test)]
mod tests;
