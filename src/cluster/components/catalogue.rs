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
    /// The scheduler that it is needed for, if only for that.
    pub scheduler: Option<Scheduler>,
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
static VOLCANO: Module = module!("volcano", "-s -w -X volcano.sh/volcano/pkg/version.Version=v1.14.1");
static KOORDINATOR: Module = module!(
    "koordinator",
    // It has no version of its own; the gates follow the kube-scheduler inside, and build metadata does not touch them.
    "-s -w -X k8s.io/component-base/version.gitVersion=v1.35.2+koordinator.v1.8.0 \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=35"
);

/// Every program that can be built, in the order in which builds share the most work.
pub static CATALOGUE: [Component; 7] = [
    Component {
        name: "etcd",
        version: "v3.6.10",
        package: "go.etcd.io/etcd/server/v3",
        module: &ETCD,
        scheduler: None,
    },
    kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", None),
    kubernetes("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", None),
    kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", Some(Scheduler::Kube)),
    Component {
        name: "kwok",
        version: "v0.8.0",
        package: "sigs.k8s.io/kwok/cmd/kwok",
        module: &KWOK,
        scheduler: None,
    },
    Component {
        name: "vc-scheduler",
        version: "v1.14.1",
        package: "volcano.sh/volcano/cmd/scheduler",
        module: &VOLCANO,
        scheduler: Some(Scheduler::Volcano),
    },
    Component {
        name: "koord-scheduler",
        version: "v1.8.0",
        package: "github.com/koordinator-sh/koordinator/cmd/koord-scheduler",
        module: &KOORDINATOR,
        scheduler: Some(Scheduler::Koordinator),
    },
];

const fn kubernetes(name: &'static str, package: &'static str, scheduler: Option<Scheduler>) -> Component {
    Component { name, version: "v1.36.4", package, module: &KUBERNETES, scheduler }
}

/// The programs of a cluster with these schedulers.
pub fn components_for(schedulers: &BTreeSet<Scheduler>) -> impl Iterator<Item = &'static Component> {
    CATALOGUE
        .iter()
        .filter(|component| component.scheduler.is_none_or(|needed_for| schedulers.contains(&needed_for)))
}

/// The program of that name.
pub fn component(name: &str) -> Option<&'static Component> {
    CATALOGUE.iter().find(|component| component.name == name)
}

impl Component {
    /// Path of the Go module that the program comes from, by which its `go.mod` requires it.
    pub fn module_path(&self) -> &'static str {
        self.package.split("/cmd/").next().unwrap_or(self.package)
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
        assert_eq!(components_for(&Scheduler::ALL.into()).count(), CATALOGUE.len());
    }
}
