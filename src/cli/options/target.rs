use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Versions;
use super::layer::layered;
use super::scheduler_names;

#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TargetOptions {
    /// Backend to judge; all of them in one control plane (all); or your own scheduler that reads PodGangs
    /// (external:NAME) [default: default-scheduler]
    #[arg(long, value_name = "NAME|all", help = scheduler_names::backend())]
    pub backend: Option<String>,
    /// Judge only this gang scope of kube-scheduler: PodGroup or PodGang, or Tree on Kubernetes 1.37.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Kubernetes version [default: 1.36, or the version that --scope requires].
    #[arg(long, value_enum, value_name = "VERSION")]
    pub kubernetes: Option<Versions>,
    /// Features that the scheduler of backend external:NAME declares, to be judged: AtomicPodGang,
    /// TopologyRequired.
    #[arg(skip)]
    pub features: Vec<String>,
}

layered!(TargetOptions: backend, scope, kubernetes, features);
