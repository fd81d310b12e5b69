//! What can be built: a program, and the pinned Go module that it is in. Which there are says [`crate::catalogue`].

use std::borrow::Cow;

use conformance_contract::scheduler::Scheduler;

/// A Go module with pinned requirements.
#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    /// Folder below `components/`.
    pub name: &'static str,
    /// Its `go.mod`.
    pub go_mod: &'static str,
    /// Its `go.sum`.
    pub go_sum: &'static str,
    /// Linker flags that stamp the version into the programs.
    pub ldflags: Cow<'static, str>,
}

/// One program.
#[derive(Debug, PartialEq, Eq)]
pub struct Component {
    /// The program's name, as in `--bin NAME=PATH`.
    pub name: &'static str,
    /// Its version as the module pins it.
    pub version: &'static str,
    /// The Go package of its `main`.
    pub package: &'static str,
    /// Where it is pinned.
    pub module: &'static Module,
    /// What it is needed for.
    pub purpose: Purpose,
}

/// What a program is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Any control plane.
    ControlPlane,
    /// A scheduler.
    Scheduler(Scheduler),
    /// A local control plane, whose nodes are simulated.
    Simulation,
    /// A kind cluster, on the host.
    Kind,
    /// A kind cluster, inside its nodes' image.
    Node,
}

/// The module of that folder below `components/`, with these linker flags.
macro_rules! module {
    ($name:literal, $ldflags:expr) => {
        Module {
            name: $name,
            go_mod: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../components/", $name, "/go.mod")),
            go_sum: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../components/", $name, "/go.sum")),
            ldflags: std::borrow::Cow::Borrowed($ldflags),
        }
    };
}
pub(crate) use module;

impl Component {
    /// Path of the Go module that the program comes from, by which its `go.mod` requires it.
    pub fn module_path(&self) -> &'static str {
        let end = ["/cmd/", "/plugins/main/", "/plugins/ipam/", "/plugins/meta/"];
        end.iter().find_map(|end| self.package.split_once(end)).map_or(self.package, |(module, _)| module)
    }
}

impl Module {
    /// The Go version its `go` line asks for.
    pub fn go_version(&self) -> &'static str {
        self.go_mod.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.26.0").trim()
    }
}
