//! The arguments for the origin of a cluster, for what runs in it, and for the build of its programs.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use conformance_cluster::kubeconfig::KubeconfigSource;
use conformance_contract::kubernetes::Kubernetes;

use super::headings::OPERATOR;
use super::scheduler_names;
use super::value_parsers::{label, name_and_chart, name_and_dir, name_and_path};

/// How the programs of clusters are built.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterArgs {
    /// Use this program instead of building it, e.g. kube-scheduler=./my-scheduler. May be repeated.
    #[arg(long = "bin", value_name = "NAME=PATH", value_parser = name_and_path)]
    pub bins: Vec<(String, PathBuf)>,
    /// Folder with KAI's programs (kai-scheduler, kai-binder and, optionally, kai-podgrouper) and its four CRDs.
    #[arg(long, value_name = "DIR", env = "GROVE_CONFORMANCE_KAI_DIR", hide_env_values = true)]
    pub kai_dir: Option<PathBuf>,
    /// Checkout of kai-scheduler/KAI-Scheduler, instead of --kai-dir: short for --scheduler-source kai-scheduler=DIR.
    #[arg(long, value_name = "DIR")]
    pub kai_source: Option<PathBuf>,
    #[arg(long = "scheduler-source", value_name = "NAME=DIR", value_parser = name_and_dir,
          help = scheduler_names::scheduler_source())]
    pub scheduler_sources: Vec<(String, PathBuf)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    One(Kubernetes),
    /// Every version, one after the other, in one report.
    All,
}

impl ValueEnum for Versions {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Versions>> =
            LazyLock::new(|| Kubernetes::ALL.into_iter().map(Versions::One).chain([Versions::All]).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::One(version) => PossibleValue::new(version.minor()).help(version.about()),
            Self::All => PossibleValue::new("all").help("Every version, one after the other, in one report"),
        })
    }
}

impl From<Kubernetes> for Versions {
    fn from(version: Kubernetes) -> Self {
        Self::One(version)
    }
}

impl Versions {
    pub(crate) fn all(self) -> Vec<Kubernetes> {
        match self {
            Self::One(version) => vec![version],
            Self::All => Kubernetes::ALL.into(),
        }
    }
}

/// Where clusters come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    /// Local processes and nodes simulated by KWOK; no Docker.
    Local,
    /// Containers with real kubelets and fake GPUs; needs Docker.
    Kind,
    /// Your own cluster, found by its kubeconfig as kubectl does.
    Existing,
}

impl ProviderName {
    /// The name in reports.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Kind => "kind",
            Self::Existing => "existing",
        }
    }
}

/// The value of `--operator` for an operator that someone else runs.
pub(crate) const EXISTING: &str = "existing";

/// The value of `--operator` for the reference controller, which needs no description.
pub(crate) const REFERENCE: &str = "reference";

/// How the schedulers of a kind cluster are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Install {
    /// From images built here; KAI's of --kai-source or --kai-dir.
    Manifests,
    /// From their Helm charts; needs Helm and registry access.
    Helm,
}

/// An operator that replaces the reference controller.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OperatorArgs {
    /// Judge this operator instead of the reference controller: upstream=DIR, a checkout of ai-dynamo/grove,
    /// which is built with Go once; exec:FILE, a description of any operator (docs/your-operator.md);
    /// existing, the one that you run in the cluster yourself; or reference.
    #[arg(long, value_name = "upstream=DIR|exec:FILE|existing")]
    pub operator: Option<String>,
    /// Declaration of the operator, instead of the file that comes with its description. Clauses of
    /// undeclared features are unsupported.
    #[arg(long, value_name = "FILE", requires = "operator")]
    pub declares: Option<PathBuf>,
}

impl OperatorArgs {
    /// Whether someone else runs the operator.
    pub(crate) fn is_existing(&self) -> bool {
        self.operator.as_deref() == Some(EXISTING)
    }

    /// The `--operator` value of an operator that the harness must start.
    pub(crate) fn started(&self) -> Option<&str> {
        self.operator.as_deref().filter(|word| ![EXISTING, REFERENCE].contains(word))
    }
}

/// Where a run's cluster comes from.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProviderArgs {
    /// Where the cluster comes from.
    #[arg(long, value_enum, default_value = "local")]
    pub provider: ProviderName,
    /// Node image for kind, instead of the published one or one built here.
    #[arg(long, value_name = "IMAGE")]
    pub node_image: Option<String>,
    /// kind configuration, instead of kind-configs/all-backends.yaml.
    #[arg(long, value_name = "FILE")]
    pub kind_config: Option<PathBuf>,
    /// How Volcano, Koordinator and KAI are installed in a kind cluster.
    #[arg(long, value_enum, default_value = "manifests")]
    pub install: Install,
    #[arg(long = "chart", value_name = "NAME=CHART[@VERSION]", value_parser = name_and_chart,
          help = scheduler_names::chart())]
    pub charts: Vec<(String, String)>,
    /// Kubeconfig of your own cluster, instead of $KUBECONFIG or ~/.kube/config. In a pod of that cluster without
    /// any of them, its service account is used. Nothing is installed in the cluster. It must run KWOK for nodes
    /// annotated kwok.x-k8s.io/node=fake, unless --nodes-where selects nodes.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Lease the nodes of your cluster with this label to cases, with their own capacity, instead of
    /// simulating nodes. The harness restores their labels and taints. One node more than a case needs is for
    /// canaries.
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub nodes_where: Option<String>,
    /// Run even if the cluster has PodCliqueSets that no conformance run created.
    #[arg(long)]
    pub beside_foreign_workloads: bool,
    /// The cluster stores all kinds in one etcd, so clauses about the order of writes across kinds can be judged.
    #[arg(long)]
    pub one_etcd: bool,
    /// Name of the operator in the report, with --operator existing.
    #[arg(long, value_name = "NAME", default_value = "unnamed", help_heading = OPERATOR)]
    pub operator_name: String,
    /// Version of the operator in the report, with --operator existing.
    #[arg(long, value_name = "VERSION", default_value = "unknown", help_heading = OPERATOR)]
    pub operator_version: String,
}

impl ProviderArgs {
    /// The kubeconfig of the user's own cluster.
    pub(crate) fn kubeconfig_source(&self) -> KubeconfigSource {
        KubeconfigSource { file: self.kubeconfig.clone(), context: self.context.clone() }
    }
}
