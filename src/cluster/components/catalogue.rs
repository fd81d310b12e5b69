//! What can be built. A new program is one entry here and, if its module is new, a folder in `components/`.

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
    pub ldflags: &'static str,
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
}

macro_rules! module {
    ($name:literal, $ldflags:expr) => {
        Module {
            name: $name,
            go_mod: include_str!(concat!("../../../components/", $name, "/go.mod")),
            go_sum: include_str!(concat!("../../../components/", $name, "/go.sum")),
            ldflags: $ldflags,
        }
    };
}

static KUBERNETES: Module = module!(
    "kubernetes",
    // Without the stamp the programs call themselves v0.0.0-master and refuse version-gated features.
    "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.4 -X k8s.io/component-base/version.gitMajor=1 \
     -X k8s.io/component-base/version.gitMinor=36 -X k8s.io/component-base/version.gitTreeState=clean"
);
static ETCD: Module = module!("etcd", "-s -w");
static KWOK: Module = module!("kwok", "-s -w");

/// Every program that can be built, in the order in which builds share the most work.
pub static CATALOGUE: [Component; 5] = [
    Component { name: "etcd", version: "v3.6.10", package: "go.etcd.io/etcd/server/v3", module: &ETCD },
    kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    kubernetes("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Component { name: "kwok", version: "v0.8.0", package: "sigs.k8s.io/kwok/cmd/kwok", module: &KWOK },
];

const fn kubernetes(name: &'static str, package: &'static str) -> Component {
    Component { name, version: "v1.36.4", package, module: &KUBERNETES }
}

/// The program of that name.
pub fn component(name: &str) -> Option<&'static Component> {
    CATALOGUE.iter().find(|component| component.name == name)
}

impl Module {
    /// The Go version its `go` line asks for.
    pub fn go_version(&self) -> &'static str {
        self.go_mod.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.26.0").trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_the_pinned_ones() {
        for component in &CATALOGUE {
            let module = component.package.split("/cmd/").next().unwrap_or_default();
            let line = format!("{module} {}", component.version);
            assert!(
                component.module.go_mod.contains(&line),
                "{}: go.mod does not pin {line}",
                component.name
            );
        }
    }

    #[test]
    fn the_stamp_is_the_pinned_version() {
        assert!(KUBERNETES.ldflags.contains("gitVersion=v1.36.4 "), "{}", KUBERNETES.ldflags);
    }
}
