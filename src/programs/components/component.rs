use std::borrow::Cow;

use conformance_contract::scheduler::Scheduler;
use sha2::{Digest, Sha256};

use super::amendment::Amendment;
use super::digests::hex;

#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    pub name: &'static str,
    pub go_mod: &'static str,
    pub go_sum: &'static str,
    /// Linker flags that stamp the version into the programs.
    pub ldflags: Cow<'static, str>,
    pub amendment: Option<&'static Amendment>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Component {
    pub name: &'static str,
    pub version: &'static str,
    pub package: &'static str,
    pub module: &'static Module,
    pub purpose: Purpose,
}

/// Which clusters need the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    ControlPlane,
    Scheduler(Scheduler),
    Trainer,
    Simulation,
    Kind,
    Node,
}

#[macro_export]
macro_rules! module {
    ($name:literal, $ldflags:expr) => {
        $crate::module!($name, $ldflags, None)
    };
    ($name:literal, $ldflags:expr, $amendment:expr) => {
        $crate::components::Module {
            name: $name,
            go_mod: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../components/", $name, "/go.mod")),
            go_sum: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../components/", $name, "/go.sum")),
            ldflags: std::borrow::Cow::Borrowed($ldflags),
            amendment: $amendment,
        }
    };
}

const KUBERNETES: &str = "k8s.io/kubernetes";

/// Each line contains a module, a program and the CPU seconds of its build.
const BUILD_SECONDS: &str = include_str!("../../../components/build-seconds.txt");

impl Component {
    /// Returns the CPU seconds of a build with an empty Go build cache.
    pub fn build_seconds(&self) -> Option<f64> {
        BUILD_SECONDS.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [module, name, seconds] if module == self.module.name && name == self.name => {
                seconds.parse().ok()
            }
            _ => None,
        })
    }

    pub fn is_built_with(&self, other: &Self) -> bool {
        self.module.name == other.module.name && self.version == other.version
    }

    /// A hash of the pinned modules, the linker flags and the package. It does not depend on the toolchain.
    pub(super) fn pins(&self) -> String {
        let module = self.module;
        let mut hash = Sha256::new();
        for part in [module.go_mod, module.go_sum, &*module.ldflags, self.package] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        if let Some(amendment) = module.amendment {
            amendment.hash_into(&mut hash);
        }
        hex(&hash.finalize())[..8].to_owned()
    }

    pub fn module_path(&self) -> &'static str {
        let separators = ["/cmd/", "/plugins/main/", "/plugins/ipam/", "/plugins/meta/"];
        let parts = separators.iter().find_map(|separator| self.package.split_once(separator));
        parts.map_or(self.package, |(module, _)| module)
    }

    pub fn is_of_kubernetes(&self) -> bool {
        self.module_path() == KUBERNETES
    }
}

impl Module {
    pub fn go_version(&self) -> &'static str {
        self.go_mod.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.26.0").trim()
    }
}
