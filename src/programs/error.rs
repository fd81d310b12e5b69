use std::path::PathBuf;

use crate::source::SourceError;

#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error(
        "{reason}\nGo builds the components once; install Go {needed} or newer and put it on PATH, install a release archive, which contains them, or pass every program with --component NAME=PATH"
    )]
    Go {
        reason: String,
        /// The `go` line of the component's module, which states the minimum version.
        needed: String,
    },
    #[error("this machine lacks what is needed; nothing has been built:\n  {}", missing.join("\n  ").replace('\n', "\n  "))]
    Preflight { missing: Vec<String> },
    #[error("{} cannot be written: {source}; set {variable} to a folder that can", path.display())]
    NotWritable { path: PathBuf, variable: &'static str, source: std::io::Error },
    #[error("{available_mib} MiB of memory are available, {needed_mib} MiB are needed; stop other programs")]
    Memory { available_mib: u64, needed_mib: u64 },
    #[error(
        "Go modules pinned by components/{module} are not cached and cannot be downloaded: {reason}\nlet Go reach a module proxy (`go env GOPROXY`, HTTPS_PROXY), or set GOMODCACHE to a module cache that has them"
    )]
    Modules {
        /// The module's folder in `components/`.
        module: &'static str,
        reason: String,
    },
    #[error(
        "--component {name}=version:{version}: {module} {version} is not published: {reason}\n`grove-conformance dev versions` lists newer versions"
    )]
    NoVersion { name: &'static str, module: &'static str, version: String, reason: String },
    #[error(
        "the modules of {module} {version} cannot be resolved: {reason}\nGo builds versions other than the pinned one: put `go` on PATH, and let it reach a module proxy (`go env GOPROXY`, HTTPS_PROXY), or pass a program as {name}=PATH"
    )]
    Unresolved { name: &'static str, module: &'static str, version: String, reason: String },
    #[error("the versions of {module} cannot be listed: {reason}")]
    Versions { module: String, reason: String },
    /// A variable of `go env` that is not a folder, for example GOCACHE=off.
    #[error("{variable} is {value:?}, not a folder; unset it or set it to a folder")]
    GoFolder { variable: &'static str, value: String },
    #[error(
        "{reason}\ncargo links this project's programs for the containers of a kind cluster: install Rust (https://rustup.rs), put `cargo` on PATH and keep the sources, or use --provider local, which needs neither"
    )]
    Cargo { reason: String },
    #[error(
        "{source}\nmutants with faults need a build of the reference operator of their own: keep the checkout of this program's sources, install Rust (https://rustup.rs) and put `cargo` on PATH"
    )]
    Faults { source: CargoError },
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
    #[error("{}: {reason}; unpack the release archive again", path.display())]
    Release { path: PathBuf, reason: String },
    #[error(
        "offline, and these are neither in a release folder nor in the caches of this machine:\n  {}\nrun `grove-conformance dev components fetch --to DIR` on a machine with network access, or allow builds and downloads: omit programs.offline, or --offline of `cluster create`",
        missing.join("\n  ")
    )]
    Offline { missing: Vec<String> },
    #[error("--component {name}={}: {reason}", path.display())]
    Override { name: String, path: PathBuf, reason: String },
    #[error("{}: {source}", path.display())]
    Manifest { path: PathBuf, source: grove_yaml::YamlError },
    #[error("{process} {what}; log: {}\n{tail}", log.display())]
    Process {
        process: String,
        /// How the process ended, or why it did not start.
        what: String,
        log: PathBuf,
        tail: String,
    },
    #[error(
        "{reason}\nkind clusters are containers: start a Docker engine (on Debian: apt-get install docker.io), or use --provider local, which does not need it"
    )]
    Docker { reason: String },
    #[error("`{command}` failed: {reason}")]
    Command { command: String, reason: String },
    #[error(
        "{program} cannot be put into an image, which contains no shared libraries: {reason}\nlink it with `cargo rustc --release --bin {program} -- -C target-feature=+crt-static` and pass it with --component {program}=PATH"
    )]
    Static { program: String, reason: String },
    #[error(
        "no free port on 127.0.0.1 could be reserved: {0}; stop the programs that use them or run `grove-conformance clean`"
    )]
    Ports(String),
    #[error("cluster name {name:?}: use 1 to 40 lower-case letters, digits and '-'")]
    InvalidName { name: String },
    #[error(
        "cluster {name:?} is already running; stop it with `grove-conformance cluster delete {name}` or choose another name"
    )]
    NameTaken { name: String },
    /// The program is not a component, or the cluster was created without it.
    #[error("{reason} {program}")]
    NoProgram {
        program: String,
        /// The start of the message, up to the program's name.
        reason: &'static str,
    },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Source(#[from] SourceError),
}

#[derive(Debug, thiserror::Error)]
pub enum CargoError {
    #[error("the sources of this program are no longer in {}", .0.display())]
    NoSources(PathBuf),
    #[error(transparent)]
    Failed(Box<ProgramError>),
    #[error("cargo did not report the path of the program")]
    NoProgram,
}

impl ProgramError {
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    pub fn is_usage(&self) -> bool {
        match self {
            Self::Override { .. } | Self::NoVersion { .. } | Self::InvalidName { .. } => true,
            Self::Source(error) => error.is_usage(),
            _ => false,
        }
    }
}
