//! Everything that can go wrong below the suite. Each message says what happened and what to do about it;
//! all of them are infrastructure errors (exit code 3), never a failed clause.

use std::path::PathBuf;

/// Why a cluster, or a part of one, could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No Go toolchain, or one that cannot serve the component's `go.mod`.
    #[error(
        "{reason}\nGo builds the components once; install Go {needed} or newer and put it on PATH, or give every program with --bin NAME=PATH"
    )]
    Go {
        /// What `go` answered, or that it is not on PATH.
        reason: String,
        /// The `go` line of the component's module.
        needed: String,
    },
    /// A component does not compile or its modules cannot be had.
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
    /// A program given with `--bin` that cannot be used.
    #[error("--bin {name}={}: {reason}", path.display())]
    Override {
        /// Name before the `=`.
        name: String,
        /// Path behind it.
        path: PathBuf,
        /// Why it does not serve.
        reason: String,
    },
    /// A folder given with `--kai-dir` that lacks something.
    #[error("--kai-dir {}: it lacks {}", path.display(), missing.join("; "))]
    KaiDir {
        /// The folder.
        path: PathBuf,
        /// Everything that is not below it.
        missing: Vec<String>,
    },
    /// A manifest that is no YAML.
    #[error("{}: {reason}", path.display())]
    Manifest {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
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
    /// No Docker engine that can be used.
    #[error(
        "{reason}\nkind clusters are containers: start a Docker engine (on Debian: apt-get install docker.io), or run with --provider local, which needs none"
    )]
    Docker {
        /// What is in the way.
        reason: String,
    },
    /// No Helm that can be used.
    #[error(
        "{reason}\n--install helm needs Helm 3.8 or newer: put `helm` on PATH (https://helm.sh/docs/intro/install), or run with --install manifests, which needs none and is without KAI"
    )]
    Helm {
        /// What is in the way.
        reason: String,
    },
    /// A command of another program failed.
    #[error("`{command}` failed: {reason}")]
    Command {
        /// Its words.
        command: String,
        /// What it said.
        reason: String,
    },
    /// A program that cannot be put into an image.
    #[error(
        "{program} cannot be put into an image, which holds no shared libraries: {reason}\nlink it with `cargo rustc --release --bin {program} -- -C target-feature=+crt-static` and give it with --bin {program}=PATH"
    )]
    Static {
        /// Its name.
        program: String,
        /// Why there is no static one.
        reason: String,
    },
    /// This machine cannot hold a kind cluster.
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
        "no free port on 127.0.0.1 could be reserved: {0}; stop what holds the ports or run `grove-conformance clean`"
    )]
    Ports(String),
    /// A cluster name that is taken, unknown or not usable.
    #[error("{0}")]
    Name(String),
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
    /// An operator that was given cannot be judged.
    #[error(transparent)]
    Operator(#[from] crate::operator::OperatorError),
    /// Certificates could not be made.
    #[error("cannot make certificates: {0}")]
    Certificates(String),
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
