//! Programs in other versions than the pinned ones: `--component NAME=version:V` and Kubernetes previews.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_install::schedulers::GivenScheduler;
use conformance_install::versions::{SelectedVersion, of_preview};
use conformance_programs::components::{Overrides, Replacement};

use super::output::Console;
use super::request::ProgramRequest;
use super::{Failure, offline};

pub(crate) async fn schedulers(
    programs: &ProgramRequest,
    kubernetes: Kubernetes,
    wanted: &BTreeSet<Scheduler>,
    console: &Console,
) -> Result<BTreeMap<Scheduler, Arc<GivenScheduler>>, Failure> {
    let mut built = BTreeMap::new();
    for selected in not_default(programs, kubernetes) {
        let Some(scheduler) = selected.scheduler().filter(|scheduler| wanted.contains(scheduler)) else {
            continue;
        };
        console.now(&resolving(&selected));
        if programs.offline {
            offline::require_built(selected.component().await?).await?;
        }
        built.insert(scheduler, Arc::new(selected.build_scheduler(console).await?));
    }
    Ok(built)
}

/// Returns the programs other than schedulers, without building them.
pub(crate) async fn overrides(
    programs: &ProgramRequest,
    kubernetes: Kubernetes,
    console: &Console,
) -> Result<Overrides, Failure> {
    let mut overrides = Overrides::new();
    for selected in not_default(programs, kubernetes) {
        if selected.scheduler().is_some() {
            continue;
        }
        console.now(&resolving(&selected));
        let component = selected.component().await?;
        overrides.insert(selected.name().to_owned(), Replacement::Version(component));
    }
    Ok(overrides)
}

fn not_default(programs: &ProgramRequest, kubernetes: Kubernetes) -> Vec<SelectedVersion> {
    let mut versions = programs.versions.clone();
    versions.extend(of_preview(kubernetes).into_iter().filter(|one| !programs.replaces(one.name())));
    versions.retain(|selected| !selected.is_default(kubernetes));
    versions
}

fn resolving(selected: &SelectedVersion) -> String {
    format!("resolving {} {}", selected.name(), selected.version())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ProgramOptions;

    fn names(kubernetes: &str, given: &[(&str, &str)]) -> Vec<String> {
        let given = given.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned()));
        let options = ProgramOptions { given: given.collect(), ..ProgramOptions::default() };
        let programs = ProgramRequest::of(&options).unwrap();
        let found = not_default(&programs, Kubernetes::named(kubernetes).unwrap());
        found.iter().map(|selected| format!("{} {}", selected.name(), selected.version())).collect()
    }

    #[test]
    fn the_pinned_version_replaces_nothing() {
        let pinned = Kubernetes::V1_37.version();
        let word = format!("version:{pinned}");
        assert!(names("1.37", &[("kube-scheduler", word.as_str())]).is_empty());
        assert_eq!(names("1.36", &[("kube-scheduler", word.as_str())]), [format!("kube-scheduler {pinned}")]);
    }

    #[test]
    fn a_preview_has_its_programs_unless_the_user_gives_others() {
        assert!(names("1.37", &[]).is_empty());
        let preview = Kubernetes::named("1.38").unwrap().version();
        let all = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
        assert_eq!(names("1.38", &[]), all.map(|name| format!("{name} {preview}")));
        let found = names("1.38", &[("kube-scheduler", "version:1.37.0"), ("kube-apiserver", "/bin/true")]);
        assert_eq!(
            found,
            ["kube-scheduler v1.37.0".to_owned(), format!("kube-controller-manager {preview}")]
        );
    }
}
