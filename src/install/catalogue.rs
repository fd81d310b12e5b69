//! The programs of clusters. The file of a scheduler in [`crate::schedulers`] lists its programs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::{
    Component, Module, ModuleFiles, Overrides, Progress, Purpose, Toolbox, reject_unknown_overrides,
};
use conformance_programs::{ProgramError, module};

use crate::{schedulers, trainer};

/// Without linker flags here, because [`stamp`] sets them for each version.
const MODULES_OF_KUBERNETES: [Module; Kubernetes::ALL.len()] =
    [module!("kubernetes-1.36", ""), module!("kubernetes-1.37", "")];
static ETCD: Module = module!("etcd", "-s -w");
static KWOK: Module = module!("kwok", "-s -w");
static KIND: Module = module!("kind", "-s -w");
static CONTAINERD: Module =
    module!("containerd", "-s -w -X github.com/containerd/containerd/v2/version.Version=v2.2.9");
static CNI: Module = module!("cni", "-s -w");
static CRI_TOOLS: Module = module!("cri-tools", "-s -w -X sigs.k8s.io/cri-tools/pkg/version.Version=v1.36.0");

static ETCD_PROGRAM: [Component; 1] = [Component {
    name: "etcd",
    version: "v3.6.10",
    package: "go.etcd.io/etcd/server/v3",
    module: &ETCD,
    purpose: Purpose::ControlPlane,
}];

static OF_KUBERNETES: LazyLock<Vec<Vec<Component>>> = LazyLock::new(|| {
    static MODULES: LazyLock<Vec<Module>> = LazyLock::new(|| {
        let modules = Kubernetes::ALL.into_iter().zip(MODULES_OF_KUBERNETES);
        let stamped = |(version, module): (Kubernetes, Module)| {
            let ldflags = stamp(version.version()).into();
            Module { ldflags, ..module }
        };
        modules.map(stamped).collect()
    });
    Kubernetes::ALL
        .into_iter()
        .zip(&*MODULES)
        .map(|(version, module)| of_kubernetes(version, module))
        .collect()
});

/// Without these flags, Kubernetes' programs report v0.0.0-master and refuse version-gated features.
pub(crate) fn stamp(version: &str) -> String {
    const PACKAGE: &str = "k8s.io/component-base/version";
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    format!(
        "-s -w -X {PACKAGE}.gitVersion={version} -X {PACKAGE}.gitMajor={major} -X {PACKAGE}.gitMinor={minor} \
         -X {PACKAGE}.gitTreeState=clean"
    )
}

static SIMULATION: [Component; 1] = [Component {
    name: "kwok",
    version: "v0.8.0",
    package: "sigs.k8s.io/kwok/cmd/kwok",
    module: &KWOK,
    purpose: Purpose::Simulation,
}];

static NODES: [Component; 7] = [
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
    cni("host-local", "github.com/containernetworking/plugins/plugins/ipam/host-local"),
];

/// For a preview, returns the programs of the newest release, which [`crate::versions`] replaces.
pub fn catalogue(kubernetes: Kubernetes) -> impl Iterator<Item = &'static Component> {
    let pinned = kubernetes.with_pins();
    let kubernetes =
        Kubernetes::ALL.iter().zip(&*OF_KUBERNETES).filter(move |(version, _)| **version == pinned);
    ETCD_PROGRAM
        .iter()
        .chain(kubernetes.flat_map(|(_, components)| components))
        .chain(&SIMULATION)
        .chain(schedulers::components())
        .chain(&trainer::COMPONENTS)
        .chain(&NODES)
}

fn of_kubernetes(kubernetes: Kubernetes, module: &'static Module) -> Vec<Component> {
    let program = |(name, package, purpose)| Component {
        name,
        version: kubernetes.version(),
        package,
        module,
        purpose,
    };
    let all = [
        ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", Purpose::ControlPlane),
        ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", Purpose::ControlPlane),
        ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", Purpose::Scheduler(Scheduler::KUBE)),
        ("kubelet", "k8s.io/kubernetes/cmd/kubelet", Purpose::Node),
        ("kubeadm", "k8s.io/kubernetes/cmd/kubeadm", Purpose::Node),
        ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy", Purpose::Node),
        ("kubectl", "k8s.io/kubernetes/cmd/kubectl", Purpose::Node),
    ];
    all.into_iter().map(program).collect()
}

const fn containerd(name: &'static str, package: &'static str) -> Component {
    Component { name, version: "v2.2.9", package, module: &CONTAINERD, purpose: Purpose::Node }
}

const fn cni(name: &'static str, package: &'static str) -> Component {
    Component { name, version: "v1.9.1", package, module: &CNI, purpose: Purpose::Node }
}

pub fn components_for(
    kubernetes: Kubernetes,
    wanted: &BTreeSet<Scheduler>,
    with_trainer: bool,
) -> impl Iterator<Item = &'static Component> {
    catalogue(kubernetes).filter(move |component| match component.purpose {
        Purpose::ControlPlane | Purpose::Simulation => true,
        Purpose::Scheduler(scheduler) => wanted.contains(&scheduler),
        Purpose::Trainer => with_trainer,
        Purpose::Kind | Purpose::Node => false,
    })
}

pub fn control_plane(kubernetes: Kubernetes) -> impl Iterator<Item = &'static Component> {
    catalogue(kubernetes).filter(|component| {
        component.is_of_kubernetes()
            && matches!(component.purpose, Purpose::ControlPlane | Purpose::Scheduler(_))
    })
}

pub fn module_files(wanted: &BTreeSet<Scheduler>, with_trainer: bool) -> Vec<ModuleFiles> {
    let of_schedulers = schedulers::all().filter(|scheduler| wanted.contains(scheduler));
    let of_schedulers =
        of_schedulers.filter_map(|scheduler| schedulers::installation(scheduler).module_files());
    of_schedulers.chain(trainer::module_files().into_iter().filter(|_| with_trainer)).collect()
}

/// The programs of a kind cluster with these schedulers, except those in the node image.
pub fn components_for_kind(wanted: &BTreeSet<Scheduler>) -> impl Iterator<Item = &'static Component> {
    // Omit kube-scheduler, because the node image contains it.
    schedulers::components().chain(&NODES).filter(|component| match component.purpose {
        Purpose::Kind => true,
        Purpose::Scheduler(scheduler) => wanted.contains(&scheduler),
        Purpose::ControlPlane | Purpose::Simulation | Purpose::Node | Purpose::Trainer => false,
    })
}

pub fn components_of_node_image(kubernetes: Kubernetes) -> impl Iterator<Item = &'static Component> {
    catalogue(kubernetes).filter(|component| {
        matches!(
            component.purpose,
            Purpose::Node | Purpose::ControlPlane | Purpose::Scheduler(Scheduler::KUBE)
        )
    })
}

/// Returns the program with this name. A program of Kubernetes has the newest version.
pub fn component(name: &str) -> Option<&'static Component> {
    let newest = Kubernetes::ALL[Kubernetes::ALL.len() - 1];
    catalogue(newest).find(|component| component.name == name)
}

pub async fn prepare(
    kubernetes: Kubernetes,
    overrides: &Overrides,
    progress: &dyn Progress,
) -> Result<Toolbox, ProgramError> {
    reject_unknown_overrides(overrides, catalogue(kubernetes))?;
    Toolbox::prepare_only(catalogue(kubernetes), overrides, progress).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_go_mod_pins_the_version_of_its_programs() {
        for component in Kubernetes::ALL.into_iter().flat_map(catalogue) {
            let line = format!("{} {}", component.module_path(), component.version);
            assert!(
                component.module.go_mod.contains(&line),
                "{}: go.mod does not pin {line}",
                component.name
            );
        }
    }

    /// `replace` lines override the required versions.
    fn required(go_mod: &str) -> BTreeMap<&str, &str> {
        let mut found = BTreeMap::new();
        let mut excluded = false;
        for line in go_mod.lines() {
            excluded = line.starts_with("exclude") || excluded && line != ")";
            let words: Vec<_> = line.trim_start_matches("require ").split_whitespace().collect();
            match words[..] {
                [path, "=>", _, version] => drop(found.insert(path, version)),
                [path, version, ..] if !excluded && version.starts_with('v') => {
                    found.insert(path, version);
                }
                _ => {}
            }
        }
        found
    }

    /// Go compiles a package again if its module has another version.
    #[test]
    fn etcd_and_kwok_require_the_module_versions_of_kubernetes() {
        let kubernetes = required(MODULES_OF_KUBERNETES[0].go_mod);
        assert!(kubernetes.len() > 100, "{kubernetes:?}");
        for module in [&ETCD, &KWOK] {
            let required = required(module.go_mod);
            let shared: Vec<_> = required.iter().filter(|(path, _)| kubernetes.contains_key(*path)).collect();
            assert!(shared.len() > 40, "{}: {shared:?}", module.name);
            for (path, version) in shared {
                let is_etcd = path.starts_with("go.etcd.io/etcd/");
                assert!(is_etcd || kubernetes[path] == *version, "{}: {path} {version}", module.name);
            }
        }
    }

    #[test]
    fn every_measured_build_time_belongs_to_a_program() {
        const BUILD_SECONDS: &str = include_str!("../../components/build-seconds.txt");
        let all: Vec<_> = Kubernetes::ALL.into_iter().flat_map(catalogue).collect();
        let is_measured = |component: &&&Component| component.build_seconds().is_some();
        let measured: BTreeSet<_> =
            all.iter().filter(is_measured).map(|component| (component.module.name, component.name)).collect();
        let lines = BUILD_SECONDS.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(measured.len(), lines, "a line names no program, or has no figure");
    }

    #[test]
    fn an_amended_module_is_replaced_by_the_folder_of_its_copy() {
        let all = Kubernetes::ALL.into_iter().flat_map(catalogue).map(|component| component.module);
        let amended: Vec<_> = all.filter_map(|module| Some((module, module.amendment?))).collect();
        assert!(!amended.is_empty());
        for (module, amendment) in amended {
            let line = format!("\t{} => ./{}\n", amendment.module, amendment.folder);
            assert!(module.go_mod.contains(&line), "{}: {line}", module.name);
        }
    }

    #[test]
    fn programs_that_are_built_together_are_named_after_their_packages() {
        let all: Vec<_> = Kubernetes::ALL.into_iter().flat_map(catalogue).collect();
        for one in &all {
            if all.iter().any(|other| other.name != one.name && other.is_built_with(one)) {
                assert_eq!(one.package.rsplit('/').next(), Some(one.name));
            }
        }
    }

    #[test]
    fn kubernetes_is_stamped_with_the_version_that_its_folder_is_named_after() {
        for kubernetes in Kubernetes::ALL {
            let found = catalogue(kubernetes).find(|component| component.name == "kube-apiserver");
            assert_eq!(found.unwrap().module.name, format!("kubernetes-{kubernetes}"));
        }
        // The stamp is part of the cache key: another spelling would rebuild everything.
        assert_eq!(
            stamp(Kubernetes::V1_36.version()),
            "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.5 -X k8s.io/component-base/version.gitMajor=1 \
             -X k8s.io/component-base/version.gitMinor=36 -X k8s.io/component-base/version.gitTreeState=clean"
        );
    }

    #[test]
    fn a_cluster_of_one_scheduler_has_no_programs_of_others() {
        let names: Vec<_> = components_for(Kubernetes::V1_36, &BTreeSet::from([Scheduler::KUBE]), false)
            .map(|component| component.name)
            .collect();
        assert_eq!(names, ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"]);
        let replaced: Vec<_> = control_plane(Kubernetes::V1_36).map(|component| component.name).collect();
        assert_eq!(replaced, &names[1..4]);
        let wanted = schedulers::all().collect();
        let all = components_for(Kubernetes::V1_37, &wanted, false).map(|component| component.name);
        let of_schedulers = schedulers::components().map(|component| component.name);
        assert_eq!(all.skip(names.len()).collect::<Vec<_>>(), of_schedulers.collect::<Vec<_>>());
        let kind: Vec<_> =
            components_for_kind(&BTreeSet::from([Scheduler::KUBE])).map(|component| component.name).collect();
        assert_eq!(kind, ["kind"]);
    }
}
