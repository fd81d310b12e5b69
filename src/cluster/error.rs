//! Errors of clusters. All have exit code 3 (infrastructure). Each message states what failed and what to do.

use std::path::PathBuf;
use std::sync::Arc;

use conformance_install::InstallError;
use conformance_install::operator::OperatorError;
use conformance_programs::ProgramError;

#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error(transparent)]
    Proxy(#[from] conformance_proxy::ProxyError),
    #[error("timed out after {seconds} s waiting for {what}: {last}")]
    NotReady { what: String, seconds: u64, last: String },
    #[error("{what}: {found}; {advice}")]
    Host { what: &'static str, found: String, advice: String },
    #[error(
        "kind cluster {name:?} has containers that this program did not create; delete it with `kind delete cluster --name {name}` or choose another name"
    )]
    NotOurs { name: String },
    #[error("{0}: another client overwrote it, so the case decides no clause; run it again")]
    Overwritten(String),
    #[error("a case needs {wanted} nodes, only {existing} can be leased: add nodes, or skip the case")]
    TooFewNodes { wanted: usize, existing: usize },
    #[error(
        "--nodes-where {selector}: nodes with the label: {labelled}; Ready, not cordoned and not leased by another run: \
         {usable}; label at least 2 nodes, one of them for canaries"
    )]
    NoNodes { selector: String, labelled: usize, usable: usize },
    #[error(
        "another run, in namespace {namespace}, leases the nodes with {label}: wait until it ends, or label other nodes for this run"
    )]
    NodesLeased { label: String, namespace: String },
    #[error("another client deleted {what}: run again")]
    Deleted { what: String },
    #[error(
        "ConfigMap {namespace}/{name} is not a valid index of results: another version of the suite wrote it; use that version"
    )]
    Results { namespace: String, name: String },
    #[error("the case adds more nodes to pool {pool} than the pool has reserved")]
    NotReserved { pool: String },
    #[error("the cluster is not {needed}")]
    OtherProvider { needed: &'static str },
    #[error(
        "the cluster runs PodCliqueSets that this suite did not create ({}); a run puts load on the controller and the scheduler, and adds nodes and a ClusterTopologyBinding: use another cluster, or pass --set cluster.allowForeignWorkloads=true", sets.join(", ")
    )]
    ForeignWorkloads {
        /// Each as `NAMESPACE/NAME`.
        sets: Vec<String>,
    },
    #[error(
        "the API server does not serve {}; without them the scheduler binds no pod: install the CRDs, or enable the API",
        missing.join(", ")
    )]
    NotServed {
        /// Each as `PLURAL of GROUP/VERSION`.
        missing: Vec<String>,
    },
    /// Volcano allocates nothing from its default queue unless the queue is Open.
    #[error(
        "Volcano's queue default has the state {state:?}, and Volcano only binds pods of an Open queue: run its controllers, or open it with `kubectl patch queues.scheduling.volcano.sh default --type merge --subresource status --patch '{{\"status\":{{\"state\":\"Open\"}}}}'`"
    )]
    QueueNotOpen {
        /// Empty if the status has no state.
        state: String,
    },
    #[error("backend {backend} is not run: {source}")]
    NoScheduler { backend: String, source: SchedulerFailure },
    #[error("{kubeconfig}: {source}; pass the kubeconfig of a running cluster")]
    Kubeconfig { kubeconfig: String, source: Box<kube::config::KubeconfigError> },
    #[error("cannot read the service account of this pod: {source}; mount its token into the pod")]
    ServiceAccount { source: Box<kube::config::InClusterError> },
    #[error("{access}: {server} {reason}\n{advice}")]
    Unreachable { access: String, server: String, reason: String, advice: String },
    #[error("kind configuration: {0}")]
    KindConfig(#[from] KindConfigError),
    #[error("invalid address {url}: {source}")]
    Address { url: String, source: http::uri::InvalidUri },
    #[error(
        "the API server returned {object} for label {label}, which the object does not have: nothing is removed"
    )]
    Unlabelled { object: String, label: String },
    #[error("the watch of {kind} has been down for {seconds} s, after {failures} attempts: {last}")]
    WatchLost { kind: &'static str, seconds: u64, failures: u32, last: String },
    #[error("failed to watch {what}: {source}")]
    Watch { what: String, source: Box<kube::runtime::wait::Error> },
    /// The error of a recorded run. The record has only its text.
    #[error("{0}")]
    Recorded(String),
    #[error(
        "the API server refused to {action}: {reason}\nthe identity in the kubeconfig needs the rights of cluster-admin to install CRDs, RBAC and webhooks"
    )]
    Forbidden { action: String, reason: String },
    #[error(
        "the identity in the kubeconfig may not {}; a run needs all of these rights: grant them, or use another identity",
        missing.join(", ")
    )]
    Rights {
        /// Each as `VERB RESOURCE.GROUP`.
        missing: Vec<String>,
    },
    #[error("a defect of the suite: {what} panicked: {message}; open an issue with this message")]
    Defect { what: &'static str, message: String },
    #[error("cannot {action}: {source}")]
    Api { action: String, source: Box<kube::Error> },
    #[error("the run was interrupted")]
    Interrupted,
    #[error("cannot create certificates: {0}")]
    Certificates(String),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// Why a scheduler is not available. Every case on the scheduler reports this error.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{error}{logs}")]
pub struct SchedulerFailure {
    #[source]
    pub error: Arc<ClusterError>,
    /// The last lines of the logs of the scheduler's processes. Each log starts on a new line.
    pub(crate) logs: String,
}

impl From<ClusterError> for SchedulerFailure {
    fn from(error: ClusterError) -> Self {
        Self { error: Arc::new(error), logs: String::new() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum KindConfigError {
    #[error(transparent)]
    Yaml(#[from] grove_yaml::YamlError),
    #[error("found {0} documents, expected one")]
    Documents(usize),
    #[error("kind is {0}, expected Cluster")]
    Kind(serde_json::Value),
}

impl ClusterError {
    /// Returns the error of a request that attempted `action`. A 403 becomes [`ClusterError::Forbidden`].
    pub fn api(action: impl Into<String>, source: kube::Error) -> Self {
        match source {
            kube::Error::Api(status) if status.code == 403 => {
                Self::Forbidden { action: action.into(), reason: status.message.clone() }
            }
            source => Self::Api { action: action.into(), source: Box::new(source) },
        }
    }

    /// Like [`ClusterError::api`], for `map_err`.
    pub fn during(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::api(action, source)
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Api { source, .. } if matches!(&**source, kube::Error::Api(status) if status.is_not_found()))
    }

    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let failed = ProgramError::file(path);
        move |source| failed(source).into()
    }

    pub(crate) fn program(&self) -> Option<&ProgramError> {
        match self {
            Self::Program(error) | Self::Install(InstallError::Program(error)) => Some(error),
            _ => None,
        }
    }

    pub fn is_usage(&self) -> bool {
        match self {
            Self::KindConfig(_) => true,
            Self::Install(error) => error.is_usage(),
            Self::Program(error) => error.is_usage(),
            _ => false,
        }
    }
}

impl From<OperatorError> for ClusterError {
    fn from(error: OperatorError) -> Self {
        Self::Install(error.into())
    }
}
