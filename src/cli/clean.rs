//! `clean`: removes what killed runs left. On this machine, it keeps what a live process uses. In a cluster,
//! it cannot know whether a run has ended, so it removes the objects of all runs, or of `--run`.

use conformance_cluster::access::Access;
use conformance_cluster::kind;
use conformance_cluster::kubeconfig::KubeconfigSource;
use conformance_cluster::sweep::{self, RunLabel};
use conformance_contract::names;
use conformance_programs::home;
use conformance_report::Exit;

use super::args::CleanArgs;
use super::{Failure, output, provider};

pub(crate) async fn clean(args: &CleanArgs) -> Result<Exit, Failure> {
    // Objects are removed only from a cluster whose kubeconfig is named.
    if args.kubeconfig.is_some() {
        let kubeconfig = KubeconfigSource { file: args.kubeconfig.clone(), context: args.context.clone() };
        return clean_cluster(kubeconfig, args.run.as_deref(), args.dry_run).await;
    }
    // Remove the containers first: the folders show which clusters are live.
    for name in kind::remove_abandoned().await? {
        output::data(&format!("removed the containers and volumes of kind cluster {name}"));
    }
    for name in home::remove_abandoned()? {
        output::data(&format!("removed the folder of cluster {name}"));
    }
    for found in home::clusters()? {
        output::say(&format!(
            "cluster {} is running and is kept; stop it with `grove-conformance cluster delete {0}`",
            found.name
        ));
    }
    if args.components {
        let cache = home::cache();
        if cache.exists() {
            std::fs::remove_dir_all(&cache)
                .map_err(|e| Failure::Infrastructure(format!("{}: {e}", cache.display())))?;
            output::data(&format!("removed {}", cache.display()));
        }
    }
    Ok(Exit::Conformant)
}

/// Removes every object that can be removed, and returns the first error.
async fn clean_cluster(
    kubeconfig: KubeconfigSource,
    run: Option<&str>,
    dry_run: bool,
) -> Result<Exit, Failure> {
    provider::readable(&kubeconfig).await?;
    let client = Access::Kubeconfig(kubeconfig).client().await?;
    let left = sweep::left(&client, RunLabel { key: names::RUN, run }).await?;
    if left.is_empty() {
        output::say("no object in the cluster has the label of a run");
    }
    let mut failed = None;
    for object in left {
        if dry_run {
            output::data(&format!("would remove {object}"));
            continue;
        }
        match object.remove().await {
            Ok(()) => output::data(&format!("removed {object}")),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(Exit::Conformant), |error| Err(error.into()))
}
