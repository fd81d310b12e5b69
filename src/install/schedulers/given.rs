//! Programs that replace those of the pinned module ([`super::folder`], [`super::source`]).

use std::collections::BTreeMap;
use std::path::Path;

use conformance_programs::ProgramError;
use conformance_programs::components::Program;
use serde_json::Value;

use crate::manifests;

#[derive(Debug, Clone, PartialEq)]
pub struct GivenScheduler {
    /// In start order. Each has the name of its process.
    pub programs: Vec<Program>,
    /// If empty, those of the scheduler's description are used.
    pub(super) crds: Vec<Value>,
    /// By program name. The programs of this release do not have these flags, and start without them.
    pub(super) unknown_flags: BTreeMap<String, Vec<String>>,
}

impl GivenScheduler {
    pub fn program(&self, process: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == process)
    }

    pub(crate) fn has_crds(&self) -> bool {
        !self.crds.is_empty()
    }

    pub(super) fn known(&self, process: &str, mut args: Vec<String>) -> Vec<String> {
        let unknown = self.unknown_flags.get(process).map_or(&[][..], Vec::as_slice);
        args.retain(|arg| !unknown.iter().any(|flag| arg.split('=').next() == Some(flag)));
        args
    }
}

pub(super) fn crds_in(path: &Path) -> Result<Vec<Value>, ProgramError> {
    let mut all = manifests::read(path)?;
    all.retain(|object| object["kind"] == "CustomResourceDefinition");
    Ok(all)
}
