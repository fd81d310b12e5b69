//! A scheduler that the user provides: programs that replace those of the pinned module, and their CRDs. They
//! come from a folder ([`super::folder`]) or a working tree ([`super::source`]).

use std::collections::BTreeMap;
use std::path::Path;

use conformance_programs::ProgramError;
use conformance_programs::components::Program;
use serde_json::Value;

use super::install::manifests;

#[derive(Debug, Clone, PartialEq)]
pub struct GivenScheduler {
    /// The programs in start order. Each has the name of its process.
    pub programs: Vec<Program>,
    /// The CRDs. If empty, those of the scheduler's description are used.
    pub(super) crds: Vec<Value>,
    /// Flags that a program of this release lacks, by program name. The program is started without them.
    pub(super) unknown_flags: BTreeMap<String, Vec<String>>,
}

impl GivenScheduler {
    pub fn program(&self, process: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == process)
    }

    /// Removes the arguments that the program of a process does not know.
    pub(crate) fn known(&self, process: &str, mut args: Vec<String>) -> Vec<String> {
        let unknown = self.unknown_flags.get(process).map_or(&[][..], Vec::as_slice);
        args.retain(|arg| !unknown.iter().any(|flag| arg.split('=').next() == Some(flag)));
        args
    }
}

pub(super) fn crds_of(path: &Path) -> Result<Vec<Value>, ProgramError> {
    let mut all = manifests(path)?;
    all.retain(|object| object["kind"] == "CustomResourceDefinition");
    Ok(all)
}
