//! What can be built. A new program is one entry here and, if its module is new, a folder in `components/`.

use std::collections::BTreeSet;

use crate::cluster::schedulers::Scheduler;

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
static KIND: Module = module!("kind", "-s -w");
static CONTAINERD: Module =
    module!("containerd", "-s -w -X github.com/containerd/containerd/v2/version.Version=v2.2.9");
static CNI: Module = module!("cni", "-s -w");
static CRI_TOOLS: Module = module!("cri-tools", "-s -w -X sigs.k8s.io/cri-tools/pkg/version.Version=v1.36.0");
static VOLCANO: Module = module!("volcano", "-s -w -X volcano.sh/volcano/pkg/version.Version=v1.14.1");
static KOORDINATOR: Module = module!(
    "koordinator",
    // It has no version of its own; the gates follow the kube-scheduler inside, and build metadata does not touch them.
    "-s -w -X k8s.io/component-base/version.gitVersion=v1.35.2+koordinator.v1.8.0 \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=35"
);

/// Every program that can be built, in the order in which builds share the most work.
pub static CATALOGUE: [Component; 20] = [
    Component {
        name: "etcd",
        version: "v3.6.10",
        package: "go.etcd.io/etcd/server/v3",
        module: &ETCD,
        purpose: Purpose::ControlPlane,
    },
    kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", Purpose::ControlPlane),
    kubernetes(
        "kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        Purpose::ControlPlane,
    ),
    kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", Purpose::Scheduler(Scheduler::Kube)),
    kubernetes("kubelet", "k8s.io/kubernetes/cmd/kubelet", Purpose::Node),
    kubernetes("kubeadm", "k8s.io/kubernetes/cmd/kubeadm", Purpose::Node),
    kubernetes("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy", Purpose::Node),
    kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl", Purpose::Node),
    Component {
        name: "kwok",
        version: "v0.8.0",
        package: "sigs.k8s.io/kwok/cmd/kwok",
        module: &KWOK,
        purpose: Purpose::Simulation,
    },
    Component {
        name: "vc-scheduler",
        version: "v1.14.1",
        package: "volcano.sh/volcano/cmd/scheduler",
        module: &VOLCANO,
        purpose: Purpose::Scheduler(Scheduler::Volcano),
    },
    Component {
        name: "koord-scheduler",
        version: "v1.8.0",
        package: "github.com/koordinator-sh/koordinator/cmd/koord-scheduler",
        module: &KOORDINATOR,
        purpose: Purpose::Scheduler(Scheduler::Koordinator),
    },
    Component {
        name: "kind",
        version: "v0.33.0",
        package: "sigs.k8s.io/kind",
        module: &KIND,
        purpose: Purpose::Kind,
    },
    containerd("containerd", "github.com/containerd/containerd/v2/cmd/containerd"),
    containerd("containerd-shim-runc-v2", "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"),
    containerd("ctr", "github.com/containerd/containerd/v2/cmd/ctr"),
    Component {
        name: "crictl",
        version: "v1.36.0",
        package: "sigs.k8s.io/cri-tools/cmd/crictl",
        module: &CRI_TOOLS,
        purpose: Purpose::Node,
    },
    cni("ptp", "github.com/containernetworking/plugins/plugins/main/ptp"),
    cni("loopback", "github.com/containernetworking/plugins/plugins/main/loopback"),
    cni("host-local", "github.com/containernetworking/plugins/plugins/ipam/host-local"),
    cni("portmap", "github.com/containernetworking/plugins/plugins/meta/portmap"),
];

const fn kubernetes(name: &'static str, package: &'static str, purpose: Purpose) -> Component {
    Component { name, version: "v1.36.4", package, module: &KUBERNETES, purpose }
}

const fn containerd(name: &'static str, package: &'static str) -> Component {
    Component { name, version: "v2.2.9", package, module: &CONTAINERD, purpose: Purpose::Node }
}

const fn cni(name: &'static str, package: &'static str) -> Component {
    Component { name, version: "v1.9.1", package, module: &CNI, purpose: Purpose::Node }
}

/// The programs of a local control plane with these schedulers.
pub fn components_for(schedulers: &BTreeSet<Scheduler>) -> impl Iterator<Item = &'static Component> {
    CATALOGUE.iter().filter(|component| match component.purpose {
        Purpose::ControlPlane | Purpose::Simulation => true,
        Purpose::Scheduler(scheduler) => schedulers.contains(&scheduler),
        Purpose::Kind | Purpose::Node => false,
    })
}

/// The programs of a kind cluster with these schedulers, beside what is in its nodes' image.
pub fn components_for_kind(schedulers: &BTreeSet<Scheduler>) -> impl Iterator<Item = &'static Component> {
    CATALOGUE.iter().filter(|component| match component.purpose {
        Purpose::Kind => true,
        // kube-scheduler is in the nodes' image.
        Purpose::Scheduler(scheduler) => scheduler != Scheduler::Kube && schedulers.contains(&scheduler),
        Purpose::ControlPlane | Purpose::Simulation | Purpose::Node => false,
    })
}

/// The programs in the image of a kind cluster's nodes.
pub fn components_of_node_image() -> impl Iterator<Item = &'static Component> {
    CATALOGUE.iter().filter(|component| {
        matches!(
            component.purpose,
            Purpose::Node | Purpose::ControlPlane | Purpose::Scheduler(Scheduler::Kube)
        )
    })
}

/// The program of that name.
pub fn component(name: &str) -> Option<&'static Component> {
    CATALOGUE.iter().find(|component| component.name == name)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_the_pinned_ones() {
        for component in &CATALOGUE {
            let line = format!("{} {}", component.module_path(), component.version);
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

    #[test]
    fn a_cluster_of_one_scheduler_needs_no_other() {
        let names: Vec<_> =
            components_for(&BTreeSet::from([Scheduler::Kube])).map(|component| component.name).collect();
        assert_eq!(names, ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"]);
        let schedulers = Scheduler::ALL.into();
        let all = components_for(&schedulers).map(|component| component.name);
        assert_eq!(all.skip(names.len()).collect::<Vec<_>>(), ["vc-scheduler", "koord-scheduler"]);
        let kind: Vec<_> =
            components_for_kind(&BTreeSet::from([Scheduler::Kube])).map(|component| component.name).collect();
        assert_eq!(kind, ["kind"]);
    }
}
