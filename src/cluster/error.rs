//! Everything that can go wrong below the suite. Each message says what happened and what to do about it;
//! all of them are infrastructure errors (exit code 3), never a failed clause.

use std::path::PathBuf;
use std::sync::Arc;

use crate::access::Access;

/// Why a cluster, or a component of one, is not available.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No Go toolchain, or one that is too old for the component's `go.mod`.
    #[error(
        "{reason}\nGo builds the components once; install Go {needed} or newer and put it on PATH, or give every program with --bin NAME=PATH"
    )]
    Go {
        /// What `go` answered, or that it is not on PATH.
        reason: String,
        /// The `go` line of the component's module.
        needed: String,
    },
    /// This machine cannot do what was asked of it. Nothing has been built or started.
    #[error("this machine lacks what is needed; nothing has been built:\n  {}", missing.join("\n  ").replace('\n', "\n  "))]
    Preflight {
        /// Everything that is missing, each with what to do.
        missing: Vec<String>,
    },
    /// A folder that has to be written.
    #[error("{} cannot be written: {source}; set {variable} to a folder that can", path.display())]
    NotWritable {
        /// The folder.
        path: PathBuf,
        /// The environment variable that moves it.
        variable: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// Too little memory for a build or a cluster.
    #[error("{available_mib} MiB are available, {needed_mib} MiB are needed; end what else is running")]
    Memory {
        /// What the kernel could give to new programs.
        available_mib: u64,
        /// What it should be.
        needed_mib: u64,
    },
    /// Go modules that are neither in the module cache nor to be had.
    #[error(
        "those that components/{module} pins are not in Go's module cache and cannot be downloaded: {reason}\nlet Go reach a module proxy (`go env GOPROXY`, HTTPS_PROXY), or set GOMODCACHE to a module cache that has them"
    )]
    Modules {
        /// The folder below `components/`.
        module: &'static str,
        /// What Go answered.
        reason: String,
    },
    /// A variable of `go env` that names no folder, such as GOCACHE=off.
    #[error("{variable} is {value:?}, not a folder; unset it or set it to a folder")]
    GoFolder {
        /// The variable of `go env`.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// Programs of this project cannot be linked for containers.
    #[error(
        "{reason}\ncargo links this project's programs for the containers of a kind cluster: install Rust (https://rustup.rs), put `cargo` on PATH and keep the sources, or use --provider local, which needs neither"
    )]
    Cargo {
        /// What is in the way.
        reason: String,
    },
    /// A component does not compile, or its modules cannot be downloaded.
    #[error("building {component} {version} failed; log: {}\n{tail}", log.display())]
    Build {
        /// Program name.
        component: String,
        /// Its pinned version.
        version: String,
        /// Where the whole log is.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },
    /// Too little room for a build or a cluster.
    #[error("{} has {free_mib} MiB free, {needed_mib} MiB are needed {purpose}; free some space or set {variable} to a folder on another disk", path.display())]
    Disk {
        /// The folder that was asked about.
        path: PathBuf,
        /// What it has.
        free_mib: u64,
        /// What it should have.
        needed_mib: u64,
        /// What for.
        purpose: &'static str,
        /// The environment variable that moves the folder.
        variable: &'static str,
    },
    /// A cached program is not what was built.
    #[error("{component}: {reason}; remove it with `grove-conformance clean --components` and run again")]
    Corrupt {
        /// Program name.
        component: String,
        /// What differs.
        reason: String,
    },
    /// A fault proxy that cannot be started, or does not take a rule.
    #[error(transparent)]
    Proxy(#[from] conformance_proxy::ProxyError),
    /// A program given with `--bin` that cannot be used.
    #[error("--bin {name}={}: {reason}", path.display())]
    Override {
        /// Name before the `=`.
        name: String,
        /// Path behind it.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// A folder with a scheduler's programs that lacks something.
    #[error("{flag} {}: it lacks {}", path.display(), missing.join("; "))]
    ProgramFolder {
        /// The flag that names it.
        flag: &'static str,
        /// The folder.
        path: PathBuf,
        /// Everything that was not found in it.
        missing: Vec<String>,
    },
    /// Such a folder that cannot be read.
    #[error("{flag} {}: {source}", path.display())]
    NoProgramFolder {
        /// The flag that names it.
        flag: &'static str,
        /// What was given.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A manifest that is not YAML.
    #[error("{}: {source}", path.display())]
    Manifest {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: grove_yaml::YamlError,
    },
    /// A child process ended or did not start.
    #[error("{process} {what}; log: {}\n{tail}", log.display())]
    Process {
        /// The component's name.
        process: String,
        /// How it ended.
        what: String,
        /// Where its log is.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },
    /// Something did not become ready in time.
    #[error("{what} was not ready after {seconds} s: {last}")]
    NotReady {
        /// What was waited for.
        what: String,
        /// For how long.
        seconds: u64,
        /// The last answer.
        last: String,
    },
    /// No usable Docker engine.
    #[error(
        "{reason}\nkind clusters are containers: start a Docker engine (on Debian: apt-get install docker.io), or use --provider local, which does not need it"
    )]
    Docker {
        /// What is in the way.
        reason: String,
    },
    /// No usable Helm.
    #[error(
        "{reason}\n--install helm needs Helm 3.8 or newer: put `helm` on PATH (https://helm.sh/docs/intro/install), or run with --install manifests, which does not need it and leaves out KAI"
    )]
    Helm {
        /// What is in the way.
        reason: String,
    },
    /// A command of another program failed.
    #[error("`{command}` failed: {reason}")]
    Command {
        /// The command line.
        command: String,
        /// What it said.
        reason: String,
    },
    /// A program that cannot be put into an image.
    #[error(
        "{program} cannot be put into an image, which contains no shared libraries: {reason}\nlink it with `cargo rustc --release --bin {program} -- -C target-feature=+crt-static` and give it with --bin {program}=PATH"
    )]
    Static {
        /// Its name.
        program: String,
        /// Why it is not linked statically.
        reason: String,
    },
    /// This machine cannot run a kind cluster.
    #[error("{what}: {found}; {advice}")]
    Host {
        /// What was looked at.
        what: &'static str,
        /// How it is.
        found: String,
        /// What to do.
        advice: String,
    },
    /// No free loopback port could be reserved.
    #[error(
        "no free port on 127.0.0.1 could be reserved: {0}; stop the programs that use them or run `grove-conformance clean`"
    )]
    Ports(String),
    /// An invalid cluster name.
    #[error("cluster name {name:?}: use 1 to 40 lower-case letters, digits and '-'")]
    InvalidName {
        /// What was given.
        name: String,
    },
    /// The name of a cluster that is up.
    #[error(
        "cluster {name:?} is up already; end it with `grove-conformance down {name}` or choose another name"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A kind cluster of that name that this program did not create.
    #[error(
        "there are containers of a kind cluster {name:?} that is not this program's; delete it with `kind delete cluster --name {name}` or choose another name"
    )]
    NotOurs {
        /// The name that kind knows.
        name: String,
    },
    /// A program that is no component, or that the cluster was made without.
    #[error("{reason} {program}")]
    NoProgram {
        /// Its name.
        program: String,
        /// Where it is missing, up to the name.
        reason: &'static str,
    },
    /// What the harness wrote did not hold.
    #[error("{0}: something else wrote over it, so nothing of this case is known; run it again")]
    WrittenOver(String),
    /// More nodes than the cluster can have.
    #[error("{wanted} nodes are needed, there are {there}")]
    TooFewNodes {
        /// How many are needed.
        wanted: usize,
        /// How many there are.
        there: usize,
    },
    /// Too few nodes of a cluster may be lent to cases.
    #[error(
        "--nodes-where {selector}: {labelled} nodes carry it, {usable} of them are Ready, not cordoned and not lent to \
         another run; label at least 2, of which one is for canaries"
    )]
    NoNodes {
        /// What they have to carry.
        selector: String,
        /// How many do.
        labelled: usize,
        /// How many of those can be used.
        usable: usize,
    },
    /// Another run shares out the same nodes.
    #[error(
        "another run, in namespace {namespace}, lends the nodes with {label}: wait for its end, or label others for this run"
    )]
    NodesLent {
        /// The label.
        label: String,
        /// The other run's namespace.
        namespace: String,
    },
    /// Something that the harness made, and somebody else removed.
    #[error("{what} was deleted by somebody else")]
    Gone {
        /// What.
        what: String,
    },
    /// A ConfigMap that is no head of results.
    #[error(
        "ConfigMap {namespace}/{name} does not say what results there are; they are of another version of the suite"
    )]
    Results {
        /// Where it lies.
        namespace: String,
        /// What it is called.
        name: String,
    },
    /// More nodes than a pool has reserved.
    #[error("{pool} has not reserved so many nodes")]
    NotReserved {
        /// The pool.
        pool: String,
    },
    /// Something that only a cluster of another provider has.
    #[error("the cluster is not {needed}")]
    OtherProvider {
        /// What it would have to be.
        needed: &'static str,
    },
    /// A cluster with PodCliqueSets that are not the suite's.
    #[error(
        "the cluster runs PodCliqueSets that are not this suite's ({}); a run loads its controller and scheduler, and adds nodes and a ClusterTopologyBinding: use another cluster, or say --beside-foreign-workloads", sets.join(", ")
    )]
    ForeignWorkloads {
        /// Their PodCliqueSets, as `namespace/name`.
        sets: Vec<String>,
    },
    /// Kinds that a scheduler waits for, so that it binds nothing.
    #[error(
        "the API server does not serve {}; a scheduler that lacks one of its kinds binds no pod: install its CRDs, or turn its API on",
        missing.join(", ")
    )]
    NotServed {
        /// All that are missing: `PLURAL of GROUP/VERSION` each.
        missing: Vec<String>,
    },
    /// Volcano's queue for gangs that name none, in a state in which it allocates nothing.
    #[error(
        "Volcano's queue default has the state {state:?}, and Volcano binds pods of an Open queue only: run its controllers, or open it with `kubectl patch queues.scheduling.volcano.sh default --type merge --subresource status --patch '{{\"status\":{{\"state\":\"Open\"}}}}'`"
    )]
    QueueNotOpen {
        /// The state; empty if nobody has set it.
        state: String,
    },
    /// A scheduler that did not come up, or ended.
    #[error("backend {backend} is not run: {source}")]
    NoScheduler {
        /// Whose it is.
        backend: String,
        /// Why it is not there.
        source: SchedulerFailure,
    },
    /// A kubeconfig that cannot be used.
    #[error("--kubeconfig {}: {source}; give the kubeconfig of a cluster that is there", path.display())]
    Kubeconfig {
        /// Which file.
        path: PathBuf,
        /// The client's error.
        source: Box<kube::config::KubeconfigError>,
    },
    /// A pod without what its service account needs.
    #[error("the service account of this pod: {source}")]
    ServiceAccount {
        /// The client's error.
        source: Box<kube::config::InClusterError>,
    },
    /// The server that a kubeconfig names does not answer, or not its user.
    #[error("{access}: {server} {reason}\n{}", access.advice())]
    Unreachable {
        /// How it was to be reached.
        access: Access,
        /// The server's address.
        server: String,
        /// What happened instead.
        reason: String,
    },
    /// A kind configuration that is none.
    #[error("kind configuration: {0}")]
    KindConfig(#[from] KindConfigError),
    /// An invalid address.
    #[error("{url}: {source}")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        source: http::uri::InvalidUri,
    },
    /// An object without the label by which it was selected.
    #[error("the API server returned {object} for {label}, which it does not carry: nothing is removed")]
    Unlabelled {
        /// Its kind and name.
        object: String,
        /// What was selected.
        label: String,
    },
    /// A watch has been away for too long.
    #[error("the watch of {kind} is lost since {seconds} s, after {failures} attempts: {last}")]
    WatchLost {
        /// Of this kind.
        kind: &'static str,
        /// For how long.
        seconds: u64,
        /// How often it was tried again.
        failures: u32,
        /// The last error.
        last: String,
    },
    /// Something could not be watched.
    #[error("watching {what}: {source}")]
    Watch {
        /// What was watched.
        what: String,
        /// The client's error.
        source: Box<kube::runtime::wait::Error>,
    },
    /// What a watch should have shown.
    #[error("{during}: the watches have shown no {what}")]
    NotSeen {
        /// When it should have.
        during: String,
        /// What it is.
        what: &'static str,
    },
    /// The error of a recorded run whose history is judged again: only its text was saved.
    #[error("{0}")]
    Recorded(String),
    /// The user may not do what an installation needs.
    #[error(
        "the API server refused to {action}: {reason}\nthe identity in the kubeconfig needs the rights of cluster-admin to install CRDs, RBAC and webhooks"
    )]
    Forbidden {
        /// What was tried.
        action: String,
        /// What it said.
        reason: String,
    },
    /// A run needs rights that the user does not have.
    #[error(
        "the identity in the kubeconfig may not {}; a run needs all of these rights: give them to it, or run as one that has them",
        missing.join(", ")
    )]
    Rights {
        /// All that are missing: `VERB RESOURCE.GROUP` each.
        missing: Vec<String>,
    },
    /// The suite itself is at fault.
    #[error("a defect of the suite: {what} panicked: {message}")]
    Defect {
        /// Which part of it.
        what: &'static str,
        /// What it said.
        message: String,
    },
    /// The API server answered with an error.
    #[error("{action}: {source}")]
    Api {
        /// What was tried.
        action: String,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The run was interrupted before a cluster was up.
    #[error("the run was interrupted")]
    Interrupted,
    /// An operator that was given cannot be judged.
    #[error(transparent)]
    Operator(#[from] crate::operator::OperatorError),
    /// A working tree from which nothing can be built.
    #[error(transparent)]
    Source(#[from] crate::source::SourceError),
    /// Certificates could not be made.
    #[error("cannot make certificates: {0}")]
    Certificates(String),
}

/// Why a cluster goes on without a scheduler: an error that every case on that scheduler reports.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{error}{logs}")]
pub struct SchedulerFailure {
    /// What failed.
    #[source]
    pub error: Arc<ClusterError>,
    /// The last lines of its processes' logs, each on a line of its own.
    pub(crate) logs: String,
}

impl From<ClusterError> for SchedulerFailure {
    fn from(error: ClusterError) -> Self {
        Self { error: Arc::new(error), logs: String::new() }
    }
}

/// Why a text is no kind configuration.
#[derive(Debug, thiserror::Error)]
pub enum KindConfigError {
    /// It is no YAML.
    #[error(transparent)]
    Yaml(#[from] grove_yaml::YamlError),
    /// It is not one document.
    #[error("it holds {0} documents, not one")]
    Documents(usize),
    /// It is something else.
    #[error("kind is {0}, expected Cluster")]
    Kind(serde_json::Value),
}

impl ClusterError {
    /// Wraps a client error with what was tried; a 403 becomes [`ClusterError::Forbidden`].
    pub fn api(action: impl Into<String>, source: kube::Error) -> Self {
        match source {
            kube::Error::Api(status) if status.code == 403 => {
                Self::Forbidden { action: action.into(), reason: status.message.clone() }
            }
            source => Self::Api { action: action.into(), source: Box::new(source) },
        }
    }

    /// Whether it is the API server's answer that there is no such object or kind.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Api { source, .. } if matches!(&**source, kube::Error::Api(status) if status.is_not_found()))
    }

    /// Wraps a file error with its path.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
