//! Programs in versions that the user selects with `--component NAME=version:V`.

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_programs::ProgramError;
use conformance_programs::components::{
    Component, ModuleVersion, NoVersion, OtherVersion, Overrides, Program, Progress, Purpose, Replacement,
    Toolbox,
};

use crate::catalogue::{self, catalogue};
use crate::schedulers::{GivenScheduler, SchedulerVersion};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    #[error(transparent)]
    NoVersion(#[from] NoVersion),
    #[error(
        "version:V works only for {}; for other programs pass a path, src:DIR or chart:REF",
        known.join(", ")
    )]
    Program { known: Vec<&'static str> },
    #[error("the suite has no target for Kubernetes {minor}; known: {}", known.join(", "))]
    Minor { minor: String, known: Vec<&'static str> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedVersion {
    /// The pinned program. For a program of Kubernetes, it is the one for the selected minor version.
    pinned: &'static Component,
    version: ModuleVersion,
}

impl SelectedVersion {
    pub fn of(name: &str, version: &str) -> Result<Self, VersionError> {
        let newest = catalogue::component(name).filter(|component| is_selectable(component));
        let newest = newest.ok_or_else(|| VersionError::Program { known: names() })?;
        let version: ModuleVersion = version.parse()?;
        if !newest.is_of_kubernetes() {
            return Ok(Self { pinned: newest, version });
        }
        let minor = version.minor();
        let Some(kubernetes) = Kubernetes::named(&minor) else {
            return Err(VersionError::Minor {
                minor,
                known: Kubernetes::WITH_PREVIEWS.map(Kubernetes::minor).into(),
            });
        };
        let pinned = catalogue(kubernetes).find(|component| component.name == name).unwrap_or(newest);
        Ok(Self { pinned, version })
    }

    pub fn name(&self) -> &'static str {
        self.pinned.name
    }

    pub fn version(&self) -> &ModuleVersion {
        &self.version
    }

    pub fn scheduler(&self) -> Option<Scheduler> {
        match self.pinned.purpose {
            Purpose::Scheduler(scheduler) => Some(scheduler),
            _ => None,
        }
    }

    pub fn kubernetes(&self) -> Option<Kubernetes> {
        Kubernetes::named(&self.version.minor()).filter(|_| self.pinned.is_of_kubernetes())
    }

    /// Whether the suite pins this version, for any version of Kubernetes.
    pub fn is_pinned(&self) -> bool {
        self.version.to_string() == self.pinned.version
    }

    /// Whether clusters of this version of Kubernetes have the same program without the selection.
    pub fn is_default(&self, kubernetes: Kubernetes) -> bool {
        self.is_pinned() && self.kubernetes().is_none_or(|minor| minor == kubernetes)
    }

    /// The program to build. Go resolves the modules of a version that is not pinned, once.
    pub async fn component(&self) -> Result<&'static Component, ProgramError> {
        Ok(self.resolved().await?.component)
    }

    pub async fn program(&self, progress: &dyn Progress) -> Result<Program, ProgramError> {
        built(self.component().await?, progress).await
    }

    pub async fn build_scheduler(&self, progress: &dyn Progress) -> Result<GivenScheduler, ProgramError> {
        let resolved = self.resolved().await?;
        let program = built(resolved.component, progress).await?;
        Ok(resolved.with(program))
    }

    async fn resolved(&self) -> Result<SchedulerVersion, ProgramError> {
        if self.is_pinned() {
            return Ok(SchedulerVersion::pinned(self.pinned));
        }
        let other = OtherVersion::find(self.pinned, &self.version).await?;
        if self.scheduler().is_some() {
            return SchedulerVersion::of(&other).await;
        }
        let ldflags =
            if self.pinned.is_of_kubernetes() { catalogue::stamp(other.version()) } else { other.stamped() };
        Ok(SchedulerVersion::pinned(other.component(ldflags)))
    }
}

/// The programs of Kubernetes in a cluster of a preview. Empty for a released version.
pub fn of_preview(kubernetes: Kubernetes) -> Vec<SelectedVersion> {
    if !kubernetes.is_preview() {
        return Vec::new();
    }
    let replaced =
        catalogue(kubernetes).filter(|component| component.is_of_kubernetes() && is_selectable(component));
    replaced.filter_map(|component| SelectedVersion::of(component.name, kubernetes.version()).ok()).collect()
}

async fn built(component: &'static Component, progress: &dyn Progress) -> Result<Program, ProgramError> {
    let overrides = Overrides::from([(component.name.to_owned(), Replacement::Version(component))]);
    let toolbox = Toolbox::prepare_only(std::iter::once(component), &overrides, progress).await?;
    toolbox.get(component.name).cloned()
}

/// Whether a local control plane runs the program without other files of its version.
fn is_selectable(component: &Component) -> bool {
    match component.purpose {
        Purpose::ControlPlane | Purpose::Simulation | Purpose::Scheduler(_) => true,
        Purpose::Trainer | Purpose::Kind | Purpose::Node => false,
    }
}

fn names() -> Vec<&'static str> {
    let all = catalogue(Kubernetes::default()).filter(|component| is_selectable(component));
    all.map(|component| component.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(name: &str, version: &str) -> SelectedVersion {
        SelectedVersion::of(name, version).unwrap()
    }

    #[rstest::rstest]
    #[case("kube-scheduler", "1.36.1", "kubernetes-1.36")]
    #[case("kube-scheduler", "v1.37.0", "kubernetes-1.37")]
    #[case("kube-apiserver", "1.37.0-rc.1", "kubernetes-1.37")]
    #[case("etcd", "3.6.9", "etcd")]
    #[case("kwok", "0.7.0", "kwok")]
    #[case("vc-scheduler", "1.14.1", "volcano")]
    #[case("koord-scheduler", "1.7.0", "koordinator")]
    #[case("scheduler-plugins-scheduler", "0.34.7", "scheduler-plugins")]
    #[case("kueue", "0.16.1", "kueue")]
    fn a_version_is_built_like_the_pin_of_its_minor(
        #[case] name: &str,
        #[case] version: &str,
        #[case] module: &str,
    ) {
        let found = selected(name, version);
        assert_eq!((found.name(), found.pinned.module.name), (name, module));
        assert!(!found.is_pinned());
    }

    #[rstest::rstest]
    #[case("kube-scheduler", "1.35.2", "no target for Kubernetes 1.35; known: 1.36, 1.37")]
    #[case("etcd", "latest", "expected a version such as 1.37.2")]
    #[case("kai-scheduler", "0.17.0", "version:V works only for etcd, kube-apiserver, ")]
    #[case("jobset", "0.11.0", "version:V works only for")]
    #[case("kubelet", "1.37.1", "version:V works only for")]
    fn what_cannot_be_built_is_rejected(#[case] name: &str, #[case] version: &str, #[case] expected: &str) {
        let error = SelectedVersion::of(name, version).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn the_pinned_version_is_no_other_version() {
        let pinned = |kubernetes: Kubernetes| kubernetes.version();
        let scheduler = selected("kube-scheduler", pinned(Kubernetes::V1_37));
        assert!(scheduler.is_pinned() && scheduler.is_default(Kubernetes::V1_37));
        // kube-scheduler may be newer or older than the API server.
        assert!(!scheduler.is_default(Kubernetes::V1_36));
        let etcd = catalogue::component("etcd").unwrap();
        assert!(selected("etcd", etcd.version).is_default(Kubernetes::V1_36));
        assert!(!selected("etcd", "3.6.9").is_default(Kubernetes::V1_36));
    }

    #[test]
    fn only_programs_of_kubernetes_have_its_minor() {
        assert_eq!(selected("kube-apiserver", "1.37.0").kubernetes(), Some(Kubernetes::V1_37));
        assert_eq!(selected("etcd", "1.37.0").kubernetes(), None);
        assert_eq!(selected("kube-scheduler", "1.37.0").scheduler(), Some(Scheduler::KUBE));
        assert_eq!(selected("kube-apiserver", "1.37.0").scheduler(), None);
    }

    #[test]
    fn a_preview_replaces_the_programs_of_kubernetes() {
        assert!(of_preview(Kubernetes::V1_37).is_empty());
        for preview in Kubernetes::WITH_PREVIEWS.into_iter().filter(|version| version.is_preview()) {
            let found = of_preview(preview);
            let names: Vec<_> = found.iter().map(SelectedVersion::name).collect();
            assert_eq!(names, ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]);
            for selected in found {
                assert_eq!(selected.version().to_string(), preview.version());
                assert_eq!(selected.kubernetes(), Some(preview));
                assert!(!selected.is_pinned() && !selected.is_default(preview));
            }
        }
    }

    #[test]
    fn every_stamped_version_is_that_of_the_pin() {
        for component in Kubernetes::ALL.into_iter().flat_map(catalogue).filter(|one| is_selectable(one)) {
            let flags = &component.module.ldflags;
            let is_stamped = flags.contains("-X ");
            assert!(!is_stamped || flags.contains(component.version), "{}: {flags}", component.name);
        }
    }
}
