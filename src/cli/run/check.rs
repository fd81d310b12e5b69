//! Rejects arguments that contradict each other, before any file is read and anything is built.

use crate::args::{Install, OutputArgs, ProviderName, RunArgs, Versions};
use crate::{Failure, given};

pub(super) fn check(args: &RunArgs) -> Result<(), Failure> {
    evidence_folder_exists(&args.output)?;
    if args.subject.kubernetes == Some(Versions::All) {
        all_versions(args)?;
    }
    provider(args)
}

fn usage(message: &str) -> Result<(), Failure> {
    Err(Failure::Usage(message.to_owned()))
}

fn evidence_folder_exists(output: &OutputArgs) -> Result<(), Failure> {
    let Some(folder) = output.evidence.as_ref().and_then(|file| file.parent()) else { return Ok(()) };
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    usage(&format!("--evidence: folder {} does not exist: create it", folder.display()))
}

fn all_versions(args: &RunArgs) -> Result<(), Failure> {
    if args.tools.trainjob {
        return usage("--trainjob runs on one version of Kubernetes: omit --kubernetes all");
    }
    if args.tools.profile.is_some() {
        return usage("--profile runs on one version of Kubernetes: omit --kubernetes all");
    }
    if args.provider.provider == ProviderName::Existing || args.execution.cluster.is_some() {
        return usage("--kubernetes all creates its own clusters, because a cluster has one version");
    }
    if args.subject.scope.is_some() {
        return usage("--kubernetes all runs every gang scope: omit --scope");
    }
    Ok(())
}

fn provider(args: &RunArgs) -> Result<(), Failure> {
    let provider = args.provider.provider;
    // An upgrade replaces one process by another.
    if args.upgrade_from.is_some() && provider != ProviderName::Local {
        return usage("--upgrade-from starts local processes: pass --provider local");
    }
    match provider {
        ProviderName::Local => {}
        ProviderName::Kind => {
            given::sources_on_kind(&args.cluster_args, args.provider.install == Install::Helm)?;
        }
        ProviderName::Existing => {
            let reason = "nothing is installed in your own cluster: install it there";
            given::no_sources(&args.cluster_args, reason)?;
        }
    }
    if args.tools.trainjob && provider != ProviderName::Local {
        return usage("--trainjob starts the trainer as a local process: pass --provider local");
    }
    if args.tools.profile.is_some() && provider == ProviderName::Kind {
        return usage(
            "--profile tests plain pods without an operator, and the harness installs one in kind clusters: pass \
             --provider local, or existing for your own cluster",
        );
    }
    Ok(())
}
