use std::path::PathBuf;
use std::sync::Arc;

use conformance_programs::components::{Program, Toolbox};
use conformance_programs::source::UNKNOWN;

use super::given::GivenScheduler;
use super::install::{Install, ProgramSource, SchedulerProcess};
use crate::cluster_spec::ClusterSpec;

impl Install {
    pub fn given_scheduler<'a>(&self, spec: &'a ClusterSpec) -> Option<&'a GivenScheduler> {
        spec.given.get(&self.scheduler).map(Arc::as_ref)
    }

    /// Each has the name of its process.
    pub fn given<'a>(&self, spec: &'a ClusterSpec) -> impl Iterator<Item = &'a Program> {
        self.given_scheduler(spec).into_iter().flat_map(|given| &given.programs)
    }

    /// The given program of a process, and the arguments that the program knows.
    pub fn given_process(
        &self,
        process: &SchedulerProcess,
        args: &[String],
        spec: &ClusterSpec,
    ) -> Option<(PathBuf, Vec<String>)> {
        let given = self.given_scheduler(spec)?;
        let program = given.program(process.name)?;
        Some((program.path.clone(), given.known(process.name, args.to_vec())))
    }

    /// Why only kube-scheduler can bind the scheduler's pods in local clusters of this spec.
    pub fn missing(&self, spec: &ClusterSpec) -> Option<&'static str> {
        match &self.programs {
            ProgramSource::Given(given) if self.given(spec).next().is_none() => Some(given.missing),
            _ => None,
        }
    }

    /// Why the scheduler does not run in a kind cluster of this spec, unless a chart installs it.
    pub fn missing_in_kind(&self, spec: &ClusterSpec) -> Option<&'static str> {
        match &self.programs {
            ProgramSource::Given(given) if self.given(spec).next().is_none() => Some(given.missing_in_kind),
            ProgramSource::Built(_) if !self.is_deployable() => {
                Some("the suite cannot deploy this program in a cluster: pass --provider local")
            }
            ProgramSource::Kubernetes | ProgramSource::Built(_) | ProgramSource::Given(_) => None,
        }
    }

    /// `None` if the whole scheduler is missing, which has its own reason.
    pub fn lacks_process(&self, name: &str, spec: &ClusterSpec) -> Option<&'static str> {
        let process = self.processes.iter().find(|process| process.name == name)?;
        let has_process = self.has(process, self.given_scheduler(spec));
        process.optional.filter(|_| self.missing(spec).is_none() && !has_process)
    }

    /// The version, or the digest if it is unknown. `None` if the toolbox lacks the program.
    pub fn version(&self, spec: &ClusterSpec, toolbox: &Toolbox) -> Option<String> {
        let given = self.given(spec).next();
        if given.is_none() && matches!(self.programs, ProgramSource::Given(_)) {
            return Some("none".into());
        }
        let program = given.or_else(|| toolbox.get(self.processes.first()?.name).ok())?;
        Some(match program.version.as_str() {
            UNKNOWN => format!("sha256:{}", &program.sha256[..12]),
            version => version.to_owned(),
        })
    }
}
