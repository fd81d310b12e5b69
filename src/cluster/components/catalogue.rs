//! What can be built. A new program is one entry here and, if its module is new, a folder in `components/`.

use std::collections::BTreeSet;

use conformance_contract::kubernetes::Kubernetes;
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

// Without the stamp Kubernetes' programs call themselves v0.0.0-master and refuse version-gated features.
static KUBERNETES_1_36: Module = module!(
    "kubernetes-1.36",
    "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.4 -X k8s.io/component-base/version.gitMajor=1 \
     -X k8s.io/component-base/version.gitMinor=36 -X k8s.io/component-base/version.gitTreeState=clean"
);
static KUBERNETES_1_37: Module = module!(
    "kubernetes-1.37",
    "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.1 -X k8s.io/component-base/version.gitMajor=1 \
     -X k8s.io/component-base/version.gitMinor=37 -X k8s.io/component-base/version.gitTreeState=clean"
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

static ETCD_ALONE: [Component; 1] = [Component {
    name: "etcd",
    version: "v3.6.10",
    package: "go.etcd.io/etcd/server/v3",
    module: &ETCD,
    purpose: Purpose::ControlPlane,
}];

/// One row per entry of [`Kubernetes::ALL`].
static OF_KUBERNETES: [[Component; 7]; 2] =
    [of_kubernetes(Kubernetes::V1_36, &KUBERNETES_1_36), of_kubernetes(Kubernetes::V1_37, &KUBERNETES_1_37)];

static OTHERS: [Component; 12] = [
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

/// Every program that clusters of a Kubernetes version are made of, in the order in which builds share the most work.
pub fn catalogue(kubernetes: Kubernetes) -> impl Iterator<Item = &'static Component> {
    ETCD_ALONE.iter().chain(&OF_KUBERNETES[kubernetes as usize]).chain(&OTHERS)
}

const fn of_kubernetes(kubernetes: Kubernetes, module: &'static Module) -> [Component; 7] {
    const fn program(
        name: &'static str,
        package: &'static str,
        purpose: Purpose,
        kubernetes: Kubernetes,
        module: &'static Module,
    ) -> Component {
        Component { name, version: kubernetes.version(), package, module, purpose }
    }
    let (k, m) = (kubernetes, module);
    let scheduler = Purpose::Scheduler(Scheduler::Kube);
    [
        program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", Purpose::ControlPlane, k, m),
        program(
            "kube-controller-manager",
            "k8s.io/kubernetes/cmd/kube-controller-manager",
            Purpose::ControlPlane,
            k,
            m,
        ),
        program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", scheduler, k, m),
        program("kubelet", "k8s.io/kubernetes/cmd/kubelet", Purpose::Node, k, m),
        program("kubeadm", "k8s.io/kubernetes/cmd/kubeadm", Purpose::Node, k, m),
        program("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy", Purpose::Node, k, m),
        program("kubectl", "k8s.io/kubernetes/cmd/kubectl", Purpose::Node, k, m),
    ]
}

const fn containerd(name: &'static str, package: &'static str) -> Component {
    Component { name, version: "v2.2.9", package, module: &CONTAINERD, purpose: Purpose::Node }
}

const fn cni(name: &'static str, package: &'static str) -> Component {
    Component { name, version: "v1.9.1", package, module: &CNI, purpose: Purpose::Node }
}

/// The programs of a local control plane of that version with these schedulers.
pub fn components_for(
    kubernetes: Kubernetes,
    schedulers: &BTreeSet<Scheduler>,
) -> impl Iterator<Item = &'static Component> {
    catalogue(kubernetes).filter(|component| match component.purpose {
        Purpose::ControlPlane | Purpose::Simulation => true,
        Purpose::Scheduler(scheduler) => schedulers.contains(&scheduler),
        Purpose::Kind | Purpose::Node => false,
    })
}

/// The programs of a kind cluster with these schedulers, beside what is in its nodes' image.
pub fn components_for_kind(schedulers: &BTreeSet<Scheduler>) -> impl Iterator<Item = &'static Component> {
    OTHERS.iter().filter(|component| match component.purpose {
        Purpose::Kind => true,
        // kube-scheduler is in the nodes' image.
        Purpose::Scheduler(scheduler) => scheduler != Scheduler::Kube && schedulers.contains(&scheduler),
        Purpose::ControlPlane | Purpose::Simulation | Purpose::Node => false,
    })
}

/// The programs in the image of a kind cluster's nodes.
pub fn components_of_node_image(kubernetes: Kubernetes) -> impl Iterator<Item = &'static Component> {
    catalogue(kubernetes).filter(|component| {
        matches!(
            component.purpose,
            Purpose::Node | Purpose::ControlPlane | Purpose::Scheduler(Scheduler::Kube)
        )
    })
}

/// The program of that name; of Kubernetes' own, the newest.
pub fn component(name: &str) -> Option<&'static Component> {
    let newest = Kubernetes::ALL[Kubernetes::ALL.len() - 1];
    catalogue(newest).find(|component| component.name == name)
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

    #[rstest::rstest]
    #[case(Kubernetes::V1_36)]
    #[case(Kubernetes::V1_37)]
    fn versions_are_the_pinned_ones(#[case] kubernetes: Kubernetes) {
        for component in catalogue(kubernetes) {
            let line = format!("{} {}", component.module_path(), component.version);
            assert!(
                component.module.go_mod.contains(&line),
                "{}: go.mod does not pin {line}",
                component.name
            );
        }
    }

    #[rstest::rstest]
    #[case(Kubernetes::V1_36)]
    #[case(Kubernetes::V1_37)]
    fn the_stamp_is_the_pinned_version(#[case] kubernetes: Kubernetes) {
        let apiserver = catalogue(kubernetes).find(|component| component.name == "kube-apiserver").unwrap();
        let stamp = format!("gitVersion={} ", kubernetes.version());
        assert!(apiserver.module.ldflags.contains(&stamp), "{}", apiserver.module.ldflags);
        assert!(apiserver.module.name.ends_with(kubernetes.minor()), "{}", apiserver.module.name);
    }

    #[test]
    fn a_cluster_of_one_scheduler_needs_no_other() {
        let names: Vec<_> = components_for(Kubernetes::V1_36, &BTreeSet::from([Scheduler::Kube]))
            .map(|component| component.name)
            .collect();
        assert_eq!(names, ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"]);
        let schedulers = Scheduler::ALL.into();
        let all = components_for(Kubernetes::V1_37, &schedulers).map(|component| component.name);
        assert_eq!(all.skip(names.len()).collect::<Vec<_>>(), ["vc-scheduler", "koord-scheduler"]);
        let kind: Vec<_> =
            components_for_kind(&BTreeSet::from([Scheduler::Kube])).map(|component| component.name).collect();
        assert_eq!(kind, ["kind"]);
    }
}
