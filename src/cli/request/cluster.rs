use std::path::PathBuf;

use conformance_cluster::kubeconfig::KubeconfigSource;

use crate::Failure;
use crate::options::{ClusterOptions, ProviderName};

#[derive(Debug, Clone)]
pub(crate) struct ClusterRequest {
    pub provider: ProviderName,
    pub kubeconfig: KubeconfigSource,
    /// The label `KEY=VALUE` of the nodes that are leased to cases.
    pub nodes_where: Option<String>,
    /// The name of a cluster of `cluster create`.
    pub name: Option<String>,
    pub allow_foreign_workloads: bool,
    pub one_etcd: bool,
    pub node_image: Option<String>,
    pub kind_config: Option<PathBuf>,
    pub keep: bool,
    pub hold_on_failure: bool,
}

impl ClusterRequest {
    pub(super) fn of(options: ClusterOptions) -> Result<Self, Failure> {
        if let Some(label) = options.nodes_where.as_deref().filter(|label| !is_label(label)) {
            return Err(Failure::Usage(format!(
                "--nodes-where {label}: expected KEY=VALUE, a label of the nodes"
            )));
        }
        Ok(Self {
            provider: options.provider.unwrap_or_default(),
            kubeconfig: KubeconfigSource { file: options.kubeconfig, context: options.context },
            nodes_where: options.nodes_where,
            name: options.name,
            allow_foreign_workloads: options.allow_foreign_workloads.unwrap_or_default(),
            one_etcd: options.one_etcd.unwrap_or_default(),
            node_image: options.node_image,
            kind_config: options.kind_config,
            keep: options.keep.unwrap_or_default(),
            hold_on_failure: options.hold_on_failure.unwrap_or_default(),
        })
    }
}

fn is_label(word: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
    };
    word.split_once('=').is_some_and(|(key, value)| is_part(key) && is_part(value))
}
