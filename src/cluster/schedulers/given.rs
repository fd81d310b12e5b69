//! A scheduler that the user brings: its programs, in place of those that would be built of a pinned module, and the CRDs
//! that come with them. They are in a folder ([`super::folder`]) or come from a working tree ([`super::source`]).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::install::manifests;
use crate::ClusterError;
use crate::components::Program;

/// Programs of a scheduler, and its CRDs.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenScheduler {
    /// Its programs, in the order in which their processes are started; each has the name of its process.
    pub programs: Vec<Program>,
    /// Its CRDs; if there are none, those that its description names.
    pub(super) crds: Vec<Value>,
    /// Flags that a program of this release does not have, by its name: it is started without them.
    pub(super) unknown_flags: BTreeMap<String, Vec<String>>,
}

impl GivenScheduler {
    /// The program of a process, if it was given.
    pub fn program(&self, process: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == process)
    }

    /// Arguments without those that the program of a process does not know.
    pub(crate) fn known(&self, process: &str, mut args: Vec<String>) -> Vec<String> {
        let unknown = self.unknown_flags.get(process).map_or(&[][..], Vec::as_slice);
        args.retain(|arg| !unknown.iter().any(|flag| arg.split('=').next() == Some(flag)));
        args
    }
}

/// The CRDs in a YAML file.
///
/// # Errors
/// [`ClusterError::File`], [`ClusterError::Manifest`].
pub(super) fn crds_of(path: &Path) -> Result<Vec<Value>, ClusterError> {
    let mut all = manifests(path)?;
    all.retain(|object| object["kind"] == "CustomResourceDefinition");
    Ok(all)
}
