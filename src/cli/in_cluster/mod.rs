//! `run --in-cluster`: runs the suite as pods of a Job in a cluster. This side submits the Job, prints the
//! pods' logs, fetches and merges their reports, and removes what it created. [`words`] is the arguments of
//! each pod.
//!
//! A pod runs `run` as usual: [`as_share`] derives its share of the cases from its arguments and from what
//! Kubernetes provides, and `publish` leaves its report in ConfigMaps.

mod words;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_cluster::access::Access;
use conformance_cluster::suite::follow::{Ended, Follower, follow};
use conformance_cluster::suite::results::{self, Stored};
use conformance_cluster::suite::{SuiteRun, run_of_share, submit};
use conformance_cluster::{ClusterError, existing};
use conformance_report as report;
use conformance_report::{Exit, Lost, MergeInput, Report, Shard};
use conformance_run::interruption::Interruption;
use conformance_run::runner::Plan;
use kube::Client;

use super::args::{FetchArgs, RunArgs};
use super::output::{self, Console};
use super::run::{command, write};
use super::{Failure, provider, run_id};

/// The environment variable in which the Job controller gives a pod its index, from 0.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
/// The folder of the pods' reports below that of the merged one.
const SHARDS: &str = "shards";

/// The index of this pod's share, from 0. It is only known in a pod of an Indexed Job.
pub(crate) fn index() -> Result<usize, Failure> {
    let said = std::env::var(INDEX_VARIABLE).ok().and_then(|index| index.parse().ok());
    said.ok_or_else(|| {
        Failure::Usage(format!(
            "--shards needs --in-cluster, or a pod of an Indexed Job, which has {INDEX_VARIABLE}; otherwise pass --shard I/N"
        ))
    })
}

/// The arguments of a run, with a pod's share, and an id that distinguishes its objects from those of other
/// pods.
pub(crate) fn as_share(args: &RunArgs) -> Result<Cow<'_, RunArgs>, Failure> {
    if args.in_cluster || (args.shards.is_none() && args.run_id.is_none()) {
        return Ok(Cow::Borrowed(args));
    }
    let (index, shard) = match args.shards {
        Some(shards) => {
            let index = index()?;
            let none = || Failure::Usage(format!("{INDEX_VARIABLE} is {index}, and --shards is {shards}"));
            (index, Some(Shard::at(index, shards.get()).ok_or_else(none)?))
        }
        None => (0, args.shard),
    };
    let run_id = args.run_id.as_deref().map(|run| run_of_share(run, index));
    Ok(Cow::Owned(RunArgs { shard, run_id, ..args.clone() }))
}

/// Runs the cases in the cluster, and merges the reports of its pods. Options without a meaning there and
/// missing permissions are reported before anything is created.
pub(crate) async fn run(
    args: &RunArgs,
    plan: &Plan,
    interruption: &Arc<Interruption>,
) -> Result<Report, Failure> {
    let pod_args = words::of(args)?;
    let (Some(kubeconfig), Some(image)) = (&args.provider.kubeconfig, &args.image) else {
        return Err(Failure::Usage("--in-cluster needs --kubeconfig FILE and --image IMAGE".into()));
    };
    provider::readable(kubeconfig).await?;
    std::fs::create_dir_all(&args.report_dir)
        .map_err(|e| Failure::Usage(format!("--report-dir {}: {e}", args.report_dir.display())))?;
    let wanted = args.shards.map_or(1, std::num::NonZeroUsize::get);
    let held =
        plan.chosen.iter().filter(|case| plan.targets.iter().any(|target| case.is_for(*target))).count();
    let suite = SuiteRun {
        run: run_id(),
        image: image.clone(),
        shares: wanted.min(held.max(1)),
        lent: args.provider.nodes_where.clone(),
        args: Vec::new(),
    };
    if suite.shares < wanted {
        output::say(&format!("{held} cases are selected: {} shards instead of {wanted}", suite.shares));
    }
    let suite = SuiteRun { args: pod_args.with_shares(suite.shares), ..suite };
    let client = existing::reached(&Access::Kubeconfig(kubeconfig.clone())).await?;
    submit::may(&client, &suite).await?;
    let _heeded = interruption.heed();
    output::say(&format!("run {} in namespace {}", suite.run, suite.name()));
    let ran = async {
        let ended = ran(&client, &suite, interruption).await?;
        merged(&client, &suite.name(), &args.report_dir, Some(suite.shares), &ended).await
    };
    let merged = ran.await;
    // Regardless of the outcome.
    if let Err(error) = submit::remove(&client, &suite).await {
        let file = kubeconfig.display();
        output::say(&format!(
            "clean-up: {error}\n`grove-conformance clean --kubeconfig {file}` removes the remaining objects"
        ));
    }
    merged
}

async fn ran(client: &Client, suite: &SuiteRun, interruption: &Interruption) -> Result<Ended, ClusterError> {
    submit::submit(client, suite).await?;
    let follower: Arc<dyn Follower> = Arc::new(Lines { console: Console::default(), shares: suite.shares });
    tokio::select! {
        ended = follow(client, suite, &follower) => ended,
        () = interruption.requested() => {
            submit::end(client, suite).await?;
            submit::emptied(client, suite).await?;
            let cause = interruption.cause().unwrap_or_default();
            Ok(Ended { job: Some(format!("interrupted ({cause})")), ..Ended::default() })
        }
    }
}

struct Lines {
    console: Console,
    shares: usize,
}

impl Follower for Lines {
    fn line(&self, share: usize, text: &str) {
        self.console.line(&format!("{}/{}: {text}", share + 1, self.shares));
    }
}

/// `report fetch`: merges the reports that pods have stored in a namespace.
pub(crate) async fn fetch(args: &FetchArgs) -> Result<Exit, Failure> {
    provider::readable(&args.kubeconfig).await?;
    let client = existing::reached(&Access::Kubeconfig(args.kubeconfig.clone())).await?;
    let merged = merged(&client, &args.namespace, &args.report_dir, None, &Ended::default()).await?;
    Ok(merged.exit())
}

/// Fetches the stored reports of a namespace, merges them, and writes and prints the result. Without
/// `shares`, the stored reports give their number.
async fn merged(
    client: &Client,
    namespace: &str,
    folder: &Path,
    shares: Option<usize>,
    ended: &Ended,
) -> Result<Report, Failure> {
    let stored = results::fetch(client, namespace).await?;
    let said = || stored.values().flatten().map(|stored| stored.head.shares).max();
    let shares = shares.or_else(said).unwrap_or(1);
    let report = merge(stored, namespace, folder, shares, ended)?;
    write(folder, &report)?;
    Ok(report)
}

/// Merges the stored reports. The cases of a share without a report are not run.
fn merge(
    mut stored: BTreeMap<usize, Result<Stored, String>>,
    namespace: &str,
    folder: &Path,
    shares: usize,
    ended: &Ended,
) -> Result<Report, Failure> {
    let infrastructure = |error: &dyn std::fmt::Display| Failure::Infrastructure(error.to_string());
    let shards = folder.join(SHARDS);
    // Files of an earlier run would be taken for this run's.
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
            torn_or_none => {
                let torn = torn_or_none.and_then(Result::err);
                let failed = ended.failed.get(&index).or(ended.job.as_ref()).cloned();
                let nothing = || format!("no results are stored in namespace {namespace}");
                lost.push(Lost { shard, reason: failed.or(torn).unwrap_or_else(nothing) });
            }
        }
    }
    if sources.is_empty() {
        let said: Vec<_> =
            lost.iter().map(|Lost { shard, reason }| format!("shard {shard}: {reason}")).collect();
        return Err(Failure::Infrastructure(format!("no pod stored a report: {}", said.join("; "))));
    }
    let merged = report::merge(&sources, command()).map_err(|error| infrastructure(&error))?;
    Ok(merged.without(&lost))
}

#[cfg(test)]
mod manifests_tests;
#[cfg(test)]
mod tests;
