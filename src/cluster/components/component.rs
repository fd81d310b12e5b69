//! What can be built: a program, and the pinned Go module that it is in. [`crate::catalogue`] lists them.

use std::borrow::Cow;

use conformance_contract::scheduler::Scheduler;

use super::amendment::Amendment;

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
    /// A module that the build needs with more files.
    pub amendment: Option<&'static Amendment>,
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
    /// A local control plane that runs TrainJobs.
    Trainer,
    /// A local control plane, whose nodes are simulated.
    Simulation,
    /// A kind cluster, on the host.
    Kind,
    /// A kind cluster, inside its nodes' image.
    Node,
}

/// The module of that folder below `components/`, with these linker flags, and an amendment if it needs one.
macro_rules! module {
    ($name:literal, $ldflags:expr) => {
        module!($name, $ldflags, None)
    };
    ($name:literal, $ldflags:expr, $amendment:expr) => {
        Module {
            name: $name,
            go_mod: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../components/", $name, "/go.mod")),
            go_sum: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../components/", $name, "/go.sum")),
            ldflags: std::borrow::Cow::Borrowed($ldflags),
            amendment: $amendment,
        }
    };
}
pub(crate) use module;

/// Lines of module, program and CPU seconds of its build.
const BUILD_SECONDS: &str = include_str!("../../../components/build-seconds.txt");

impl Component {
    /// CPU seconds that its build takes with an empty Go build cache, as measured; `None` if it was not.
    pub fn build_seconds(&self) -> Option<f64> {
        BUILD_SECONDS.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [module, name, seconds] if module == self.module.name && name == self.name => {
                seconds.parse().ok()
            }
            _ => None,
        })
    }

    /// Whether one call of Go builds both.
    pub(crate) fn is_built_with(&self, other: &Self) -> bool {
        self.module.name == other.module.name && self.version == other.version
    }

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conformance_contract::kubernetes::Kubernetes;

    use super::{BUILD_SECONDS, Component};
    use crate::catalogue::catalogue;

    #[test]
    fn measured_builds_are_those_of_the_catalogue() {
        let all: Vec<_> = Kubernetes::ALL.into_iter().flat_map(catalogue).collect();
        let is_measured = |component: &&&Component| component.build_seconds().is_some();
        let measured: BTreeSet<_> =
            all.iter().filter(is_measured).map(|component| (component.module.name, component.name)).collect();
        let lines = BUILD_SECONDS.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(measured.len(), lines, "a line is of no program, or has no figure");
    }
}
