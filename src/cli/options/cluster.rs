use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Deserialize;

use super::layer::layered;

#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ClusterOptions {
    /// Where the cluster comes from [default: local].
    #[arg(long, value_enum)]
    pub provider: Option<ProviderName>,
    /// Kubeconfig of your own cluster, instead of $KUBECONFIG or ~/.kube/config. In a pod of that cluster
    /// without any of them, its service account is used. Nothing is installed in the cluster. It must run
    /// KWOK for nodes annotated kwok.x-k8s.io/node=fake, unless --nodes-where selects nodes.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Lease the nodes of your cluster with this label to cases, instead of simulating nodes. The harness
    /// restores their labels and taints. One of the nodes is for canaries.
    #[arg(long, value_name = "KEY=VALUE")]
    pub nodes_where: Option<String>,
    /// Run on a cluster of `cluster create` (cases that stop components still get their own cluster).
    #[arg(long = "cluster", value_name = "NAME")]
    pub name: Option<String>,
    /// If a case fails, keep its namespace, nodes and control plane, and print KUBECONFIG and where to look,
    /// until Ctrl-C. Implies --fail-fast.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true)]
    pub hold_on_failure: Option<bool>,
    /// Run even if the cluster has PodCliqueSets that no conformance run created.
    #[arg(skip)]
    pub allow_foreign_workloads: Option<bool>,
    /// The cluster stores all kinds in one etcd, so clauses about the order of writes across kinds can be
    /// judged.
    #[arg(skip)]
    pub one_etcd: Option<bool>,
    /// Node image for kind, instead of the published one or one built here.
    #[arg(skip)]
    pub node_image: Option<String>,
    /// kind configuration, instead of kind-configs/all-backends.yaml.
    #[arg(skip)]
    pub kind_config: Option<PathBuf>,
    /// Keep the cluster folders (logs, etcd data) of a run that ends normally.
    #[arg(skip)]
    pub keep: Option<bool>,
}

layered!(ClusterOptions:
    provider, kubeconfig, context, nodes_where, name, hold_on_failure, allow_foreign_workloads, one_etcd,
    node_image, kind_config, keep
);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProviderName {
    /// Local processes and nodes simulated by KWOK; no Docker.
    #[default]
    Local,
    /// Containers with real kubelets and fake GPUs; needs Docker.
    Kind,
    /// Your own cluster, found by its kubeconfig as kubectl does.
    Existing,
}

impl ProviderName {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Kind => "kind",
            Self::Existing => "existing",
        }
    }
}
