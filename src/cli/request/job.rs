//! A Job whose pods run the suite. They judge what runs in the cluster, and read no files of this machine.

use super::{OperatorSource, Request};
use crate::Failure;
use crate::options::ProviderName;

#[derive(Debug, Clone)]
pub(crate) struct JobRequest {
    pub image: String,
    pub shards: usize,
}

pub(super) fn check(request: &Request) -> Result<(), Failure> {
    let Request { subject, operator, cluster, selection, programs, output, pod, .. } = request;
    let given = [
        ("--provider", cluster.provider != ProviderName::Existing),
        ("--kubernetes all", subject.versions.len() > 1),
        ("--upgrade-from", operator.upgrade_from.is_some()),
        ("--cluster", cluster.name.is_some()),
        ("cluster.keep", cluster.keep),
        ("--hold-on-failure", cluster.hold_on_failure),
        ("--operator", matches!(operator.source, OperatorSource::Started(_))),
        ("operator.declaration", operator.declaration.is_some()),
        ("--component", !programs.is_empty()),
        ("cluster.nodeImage", cluster.node_image.is_some()),
        ("cluster.kindConfig", cluster.kind_config.is_some()),
        ("--shard", selection.shard.is_some()),
        ("output.accept", output.accepted.is_some()),
        ("pod.storeResults", pod.store_results),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} cannot be combined with `job`: the pods test what runs in the cluster and cannot read \
             files of this machine"
        ))),
    }
}
