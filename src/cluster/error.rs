//! Errors below the suite. Each message states what failed and what to do. All are infrastructure errors
//! (exit code 3), never a failed clause.

use std::path::PathBuf;
use std::sync::Arc;

use crate::access::Access;
use crate::cargo::CargoError;

#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error(
        "{reason}\nGo builds the components once; install Go {needed} or newer and put it on PATH, or pass every program with --bin NAME=PATH"
    )]
    Go {
        reason: String,
        /// The `go` line of the component's module.
        needed: String,
    },
    #[error("this machine lacks what is needed; nothing has been built:\n  {}", missing.join("\n  ").replace('\n', "\n  "))]
    Preflight { missing: Vec<String> },
    #[error("{} cannot be written: {source}; set {variable} to a folder that can", path.display())]
    NotWritable { path: PathBuf, variable: &'static str, source: std::io::Error },
    #[error("{available_mib} MiB are available, {needed_mib} MiB are needed; stop other programs")]
    Memory { available_mib: u64, needed_mib: u64 },
    #[error(
        "Go modules pinned by components/{module} are not cached and cannot be downloaded: {reason}\nlet Go reach a module proxy (`go env GOPROXY`, HTTPS_PROXY), or set GOMODCACHE to a module cache that has them"
    )]
    Modules {
        /// The folder below `components/`.
        module: &'static str,
        reason: String,
    },
    /// A variable of `go env` that is not a folder, for example GOCACHE=off.
    #[error("{variable} is {value:?}, not a folder; unset it or set it to a folder")]
    GoFolder { variable: &'static str, value: String },
    /// Programs of this project cannot be linked for containers.
    #[error(
        "{reason}\ncargo links this project's programs for the containers of a kind cluster: install Rust (https://rustup.rs), put `cargo` on PATH and keep the sources, or use --provider local, which needs neither"
    )]
    Cargo { reason: String },
    /// The reference operator cannot be built with the faults of mutants.
    #[error(
        "{source}\nmutants with faults need a build of the reference operator of their own: keep the checkout of this program's sources, install Rust (https://rustup.rs) and put `cargo` on PATH"
    )]
    Faults { source: CargoError },
    /// A component does not compile, or Go cannot download its modules.
    #[error("building {component} {version} failed; log: {}\n{tail}", log.display())]
    Build { component: String, version: String, log: PathBuf, tail: String },
    #[error("{} has {free_mib} MiB free, {needed_mib} MiB are needed {purpose}; free some space or set {variable} to a folder on another disk", path.display())]
    Disk {
        path: PathBuf,
        free_mib: u64,
        needed_mib: u64,
        /// Completes "MiB are needed …".
        purpose: &'static str,
        variable: &'static str,
    },
    #[error("{component}: {reason}; remove it with `grove-conformance clean --components` and run again")]
    Corrupt { component: String, reason: String },
    /// A fault proxy does not start, or rejects a rule.
    #[error(transparent)]
    Proxy(#[from] conformance_proxy::ProxyError),
    #[error("--bin {name}={}: {reason}", path.display())]
    Override { name: String, path: PathBuf, reason: String },
    /// A folder lacks programs or CRDs of a scheduler, or files of a trainer.
    #[error("{flag} {}: it lacks {}", path.display(), missing.join("; "))]
    ProgramFolder { flag: &'static str, path: PathBuf, missing: Vec<String> },
    /// A folder of a scheduler or a trainer cannot be read.
    #[error("{flag} {}: {source}", path.display())]
    NoProgramFolder { flag: &'static str, path: PathBuf, source: std::io::Error },
    /// A manifest is not valid YAML.
    #[error("{}: {source}", path.display())]
    Manifest { path: PathBuf, source: grove_yaml::YamlError },
    /// A child process ended or did not start.
    #[error("{process} {what}; log: {}\n{tail}", log.display())]
    Process { process: String, what: String, log: PathBuf, tail: String },
    #[error("timed out after {seconds} s waiting for {what}: {last}")]
    NotReady { what: String, seconds: u64, last: String },
    #[error(
        "{reason}\nkind clusters are containers: start a Docker engine (on Debian: apt-get install docker.io), or use --provider local, which does not need it"
    )]
    Docker { reason: String },
    #[error(
        "{reason}\n--install helm needs Helm 3.8 or newer: put `helm` on PATH (https://helm.sh/docs/intro/install), or run with --install manifests, which does not need it and leaves out KAI"
    )]
    Helm { reason: String },
    #[error("`{command}` failed: {reason}")]
    Command { command: String, reason: String },
    #[error(
        "{program} cannot be put into an image, which contains no shared libraries: {reason}\nlink it with `cargo rustc --release --bin {program} -- -C target-feature=+crt-static` and pass it with --bin {program}=PATH"
    )]
    Static { program: String, reason: String },
    /// This machine cannot run a kind cluster.
    #[error("{what}: {found}; {advice}")]
    Host { what: &'static str, found: String, advice: String },
    #[error(
        "no free port on 127.0.0.1 could be reserved: {0}; stop the programs that use them or run `grove-conformance clean`"
    )]
    Ports(String),
    #[error("cluster name {name:?}: use 1 to 40 lower-case letters, digits and '-'")]
    InvalidName { name: String },
    #[error(
        "cluster {name:?} is already running; stop it with `grove-conformance down {name}` or choose another name"
    )]
    NameTaken { name: String },
    /// A kind cluster of this name exists that this program did not create.
    #[error(
        "kind cluster {name:?} has containers that this program did not create; delete it with `kind delete cluster --name {name}` or choose another name"
    )]
    NotOurs {
        /// The name as kind knows it.
        name: String,
    },
    /// A program that is not a component, or that the cluster was created without.
    #[error("{reason} {program}")]
    NoProgram {
        program: String,
        /// The start of the message, up to the program's name.
        reason: &'static str,
    },
    /// Another client overwrote a change of the harness.
    #[error("{0}: another client overwrote it, so the case decides no clause; run it again")]
    WrittenOver(String),
    #[error("{wanted} nodes are needed, {there} exist")]
    TooFewNodes { wanted: usize, there: usize },
    /// Too few nodes may be leased to cases.
    #[error(
        "--nodes-where {selector}: {labelled} nodes have the label, {usable} of them are Ready, not cordoned and not \
         leased by another run; label at least 2 nodes, one of them for canaries"
    )]
    NoNodes { selector: String, labelled: usize, usable: usize },
    /// Another run leases the same nodes.
    #[error(
        "another run, in namespace {namespace}, leases the nodes with {label}: wait until it ends, or label other nodes for this run"
    )]
    NodesLent { label: String, namespace: String },
    #[error("{what} was deleted by another client")]
    Gone { what: String },
    /// A ConfigMap with the label of results is not a valid head.
    #[error(
        "ConfigMap {namespace}/{name} is not a valid index of results; another version of the suite wrote it"
    )]
    Results { namespace: String, name: String },
    #[error("pool {pool} has not reserved enough nodes")]
    NotReserved { pool: String },
    /// Only a cluster of another provider supports the operation.
    #[error("the cluster is not {needed}")]
    OtherProvider { needed: &'static str },
    #[error(
        "the cluster runs PodCliqueSets that this suite did not create ({}); a run puts load on the controller and the scheduler, and adds nodes and a ClusterTopologyBinding: use another cluster, or pass --beside-foreign-workloads", sets.join(", ")
    )]
    ForeignWorkloads {
        /// Each as `namespace/name`.
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
    /// A scheduler did not become ready, or exited.
    #[error("backend {backend} is not run: {source}")]
    NoScheduler { backend: String, source: SchedulerFailure },
    #[error("--kubeconfig {}: {source}; pass the kubeconfig of a running cluster", path.display())]
    Kubeconfig { path: PathBuf, source: Box<kube::config::KubeconfigError> },
    /// The pod lacks the files of its service account.
    #[error("the service account of this pod: {source}")]
    ServiceAccount { source: Box<kube::config::InClusterError> },
    /// The server of a kubeconfig does not answer, or rejects the user.
    #[error("{access}: {server} {reason}\n{}", access.advice())]
    Unreachable { access: Access, server: String, reason: String },
    #[error("kind configuration: {0}")]
    KindConfig(#[from] KindConfigError),
    #[error("{url}: {source}")]
    Address { url: String, source: http::uri::InvalidUri },
    /// The API server returned an object without the label that selected it.
    #[error(
        "the API server returned {object} for label {label}, which the object does not have: nothing is removed"
    )]
    Unlabelled {
        /// The object's kind and name.
        object: String,
        label: String,
    },
    /// A watch could not reconnect for too long.
    #[error("the watch of {kind} has been down for {seconds} s, after {failures} attempts: {last}")]
    WatchLost { kind: &'static str, seconds: u64, failures: u32, last: String },
    #[error("watching {what}: {source}")]
    Watch { what: String, source: Box<kube::runtime::wait::Error> },
    /// A watch did not deliver an expected object.
    #[error("{during}: the watches delivered no {what}")]
    NotSeen { during: String, what: &'static str },
    /// The error of a recorded run that is checked again from its history. Only its text was saved.
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
    /// The suite itself has a defect.
    #[error("a defect of the suite: {what} panicked: {message}")]
    Defect { what: &'static str, message: String },
    #[error("{action}: {source}")]
    Api { action: String, source: Box<kube::Error> },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// The run was interrupted before a cluster was ready.
    #[error("the run was interrupted")]
    Interrupted,
    #[error(transparent)]
    Operator(#[from] crate::operator::OperatorError),
    #[error(transparent)]
    Source(#[from] crate::source::SourceError),
    #[error("cannot make certificates: {0}")]
    Certificates(String),
}

/// Why a cluster continues without a scheduler. Every case on that scheduler reports this error.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{error}{logs}")]
pub struct SchedulerFailure {
    #[source]
    pub error: Arc<ClusterError>,
    /// The last lines of its processes' logs, each on its own line.
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
    /// Wraps a client error with the attempted action. A 403 becomes [`ClusterError::Forbidden`].
    pub fn api(action: impl Into<String>, source: kube::Error) -> Self {
        match source {
            kube::Error::Api(status) if status.code == 403 => {
                Self::Forbidden { action: action.into(), reason: status.message.clone() }
            }
            source => Self::Api { action: action.into(), source: Box::new(source) },
        }
    }

    /// Whether the API server answered that the object or kind does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Api { source, .. } if matches!(&**source, kube::Error::Api(status) if status.is_not_found()))
    }

    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
