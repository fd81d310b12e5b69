//! `--component NAME=version:V`. Linker flags, CRDs and unknown flags come from recipe and module.

use std::collections::BTreeMap;

use conformance_programs::ProgramError;
use conformance_programs::components::{Component, OtherVersion, Program, source};
use conformance_programs::source::{SourceError, linker_flags};
use serde_json::Value;

use super::descriptions::of_program;
use super::given::{GivenScheduler, crds_in};

#[derive(Debug)]
pub(crate) struct SchedulerVersion {
    pub component: &'static Component,
    crds: Vec<Value>,
    unknown_flags: BTreeMap<String, Vec<String>>,
}

impl SchedulerVersion {
    /// A version that the suite pins for another version of Kubernetes.
    pub(crate) fn pinned(component: &'static Component) -> Self {
        Self { component, crds: Vec::new(), unknown_flags: BTreeMap::new() }
    }

    /// Fails if the suite does not support the release.
    pub(crate) async fn of(other: &OtherVersion) -> Result<Self, ProgramError> {
        let plain = other.component(other.stamped());
        let Some(install) = of_program(plain.name) else { return Ok(Self::pinned(plain)) };
        let (description, dir) = install.recipe.read(&source(plain).await?)?;
        let ldflags = linker_flags(&description.build.ldflags, other.own_go_mod(), other.version())
            .map_err(|source| SourceError::Flags { module: dir.clone(), source })?;
        let mut crds = Vec::new();
        for file in &description.crds {
            crds.extend(crds_in(&dir.join(file))?);
        }
        Ok(Self { component: other.component(ldflags), crds, unknown_flags: description.unknown_flags })
    }

    pub(crate) fn with(self, program: Program) -> GivenScheduler {
        GivenScheduler { programs: vec![program], crds: self.crds, unknown_flags: self.unknown_flags }
    }
}
