//! `run --in-cluster`: runs the suite as pods of a Job in a cluster. This side submits the Job, prints the
//! pods' logs, fetches and merges their reports, and removes what it created. [`pod_args`] derives the
//! arguments of each pod.
//!
//! A pod runs `run` as usual. [`as_share`] derives its share of the cases from its arguments and from its
//! index in the Job, and `publish` stores its report in ConfigMaps.

mod pod_args;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_cluster::access::Access;
use conformance_cluster::kubeconfig::KubeconfigSource;
use conformance_cluster::suite::follow::{Ended, Follower, follow};
use conformance_cluster::suite::results::{self, Incomplete, Stored};
use conformance_cluster::suite::{SuiteRun, run_of_share, submit};
use conformance_cluster::{ClusterError, existing};
use conformance_programs::blocking::in_place;
use conformance_report as report;
use conformance_report::{Exit, LostShard, MergeInput, Report, Shard};
use conformance_run::interruption::Interruption;
use conformance_run::run_plan::RunPlan;
use kube::Client;

use super::args::{FetchArgs, RunArgs};
use super::output::{self, Console};
use super::report_files::{command, write};
use super::{Failure, provider, run_id};

/// The environment variable in which the Job controller gives a pod its index, from 0.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
/// The folder for the pods' reports, in the folder of the merged report.
const SHARDS: &str = "shards";

/// The index of this pod's share, from 0. Only pods of an Indexed Job have one.
pub(crate) fn index() -> Result<usize, Failure> {
    let index = std::env::var(INDEX_VARIABLE).ok().and_then(|index| index.parse().ok());
    index.ok_or_else(|| {
        Failure::Usage(format!(
            "--shards needs --in-cluster, or a pod of an Indexed Job, which has {INDEX_VARIABLE}; otherwise pass --shard I/N"
        ))
    })
}

/// The arguments of a run, with a pod's share, and an id that distinguishes its objects from those of other
/// pods.
pub(crate) fn as_share(args: &RunArgs) -> Result<Cow<'_, RunArgs>, Failure> {
    if args.share.in_cluster || (args.share.shards.is_none() && args.share.run_id.is_none()) {
        return Ok(Cow::Borrowed(args));
    }
    let (index, shard) = match args.share.shards {
        Some(shards) => {
            let index = index()?;
            let none = || Failure::Usage(format!("{INDEX_VARIABLE} is {index}, and --shards is {shards}"));
            (index, Some(Shard::at(index, shards.get()).ok_or_else(none)?))
        }
        None => (0, args.share.shard),
    };
    let run_id = args.share.run_id.as_deref().map(|run| run_of_share(run, index));
    let mut share_args = args.clone();
    share_args.share.shard = shard;
    share_args.share.run_id = run_id;
    Ok(Cow::Owned(share_args))
}

/// Runs the cases in the cluster, and merges the reports of the pods. Wrong options and missing permissions
/// are reported before anything is created.
pub(crate) async fn run(
    args: &RunArgs,
    plan: &RunPlan,
    interruption: &Arc<Interruption>,
) -> Result<Report, Failure> {
    let pod_args = pod_args::of(args)?;
    let Some(image) = &args.share.image else {
        return Err(Failure::Usage("--in-cluster needs --image IMAGE".into()));
    };
    let kubeconfig = args.provider.kubeconfig_source();
    provider::readable(&kubeconfig).await?;
    std::fs::create_dir_all(&args.report_dir)
        .map_err(|e| Failure::Usage(format!("--output {}: {e}", args.report_dir.display())))?;
    let wanted = args.share.shards.map_or(1, std::num::NonZeroUsize::get);
    let count =
        plan.chosen.iter().filter(|case| plan.targets.iter().any(|target| case.is_for(*target))).count();
    let suite = SuiteRun {
        run: run_id(),
        image: image.clone(),
        shares: wanted.min(count.max(1)),
        leased_nodes: args.provider.nodes_where.clone(),
        args: Vec::new(),
    };
    if suite.shares < wanted {
        output::say(&format!("{count} cases are selected: {} shards instead of {wanted}", suite.shares));
    }
    let suite = SuiteRun { args: pod_args.with_shares(suite.shares), ..suite };
    let client = existing::reached(&Access::Kubeconfig(kubeconfig.clone())).await?;
    submit::check_rights(&client, &suite).await?;
    let _accepting = interruption.accept_requests();
    output::say(&format!("run {} in namespace {}", suite.run, suite.name()));
    let report = async {
        let ended = submit_and_follow(&client, &suite, interruption).await?;
        fetch_and_merge(&client, &suite.name(), &args.report_dir, Some(suite.shares), &ended).await
    };
    let written = report.await.and_then(|report| {
        write(&args.report_dir, &report, args.output.quiet)?;
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
    written
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

/// Prints the log lines of the pods, each with the number of its pod.
struct PodLogs {
    console: Console,
    shares: usize,
}

impl Follower for PodLogs {
    fn line(&self, share: usize, text: &str) {
        self.console.line(&format!("{}/{}: {text}", share + 1, self.shares));
    }
}

/// `report fetch`: merges the reports that pods have stored in a namespace.
pub(crate) async fn fetch(args: &FetchArgs) -> Result<Exit, Failure> {
    let kubeconfig = KubeconfigSource { file: args.kubeconfig.clone(), context: args.context.clone() };
    provider::readable(&kubeconfig).await?;
    let client = existing::reached(&Access::Kubeconfig(kubeconfig)).await?;
    let merged = fetch_and_merge(&client, &args.namespace, &args.report_dir, None, &Ended::default()).await?;
    write(&args.report_dir, &merged, false)?;
    Ok(merged.exit())
}

/// Fetches the stored reports of a namespace, and merges them. `shares` is the number of reports to expect; by
/// default, the stored reports contain it.
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

/// Unpacks the stored reports and merges them. The merged report shows the cases of a missing report as not
/// run.
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
