//! Programs of other published versions than the pinned ones: `--component NAME=version:V`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_install::schedulers::GivenScheduler;
use conformance_install::versions::SelectedVersion;
use conformance_programs::components::{Overrides, Replacement};

use super::output::Console;
use super::request::ProgramRequest;
use super::{Failure, offline};

/// The wanted schedulers of other versions, with their programs.
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
        console.now(&resolving(selected));
        if programs.offline {
            offline::require_built(selected.component().await?).await?;
        }
        built.insert(scheduler, Arc::new(selected.build_scheduler(console).await?));
    }
    Ok(built)
}

/// The other programs of other versions, which are not built yet.
pub(crate) async fn overrides(
    programs: &ProgramRequest,
    kubernetes: Kubernetes,
    console: &Console,
) -> Result<Overrides, Failure> {
    let mut overrides = Overrides::new();
    for selected in not_default(programs, kubernetes).filter(|selected| selected.scheduler().is_none()) {
        console.now(&resolving(selected));
        let component = selected.component().await?;
        overrides.insert(selected.name().to_owned(), Replacement::Version(component));
    }
    Ok(overrides)
}

/// The selected versions that clusters of this version of Kubernetes would not have otherwise.
fn not_default(programs: &ProgramRequest, kubernetes: Kubernetes) -> impl Iterator<Item = &SelectedVersion> {
    programs.versions.iter().filter(move |selected| !selected.is_default(kubernetes))
}

fn resolving(selected: &SelectedVersion) -> String {
    format!("resolving {} {}", selected.name(), selected.version())
}
