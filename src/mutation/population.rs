use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::find::{self, Declarations};
use crate::mutation::{Found, Mutation, numbered};
use crate::rewrite::{Rewritten, rewrite};
use crate::{MutationError, sources};

#[derive(Debug)]
pub struct Population {
    pub mutations: Vec<Mutation>,
    files: Vec<MutatedFile>,
}

#[derive(Debug)]
struct MutatedFile {
    path: String,
    text: String,
    found: Vec<Found>,
    first: u32,
}

impl Population {
    pub fn read(root: &Path) -> Result<Self, MutationError> {
        let read = sources::read(root)?;
        let declarations = Declarations::of(read.iter().map(|file| &file.syntax));
        let mut files = Vec::new();
        let mut first = 1;
        for file in read {
            let found = find::mutations(&file.text, &file.syntax, &declarations);
            let count = found.len() as u32;
            files.push(MutatedFile { path: file.path, text: file.text, found, first });
            first += count;
        }
        let mutations = numbered(files.iter().map(|file| (file.path.as_str(), file.found.as_slice())));
        Ok(Self { mutations, files })
    }

    /// Identifies the sources from which the mutations have their numbers.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for file in &self.files {
            digest.update(format!("{}\0{}\0", file.path, file.text));
        }
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn rewritten(&self, dropped: &BTreeSet<u32>) -> BTreeMap<String, Rewritten> {
        let mut all = BTreeMap::new();
        for file in &self.files {
            let numbers = file.first..;
            let mutations: Vec<_> =
                numbers.zip(&file.found).filter(|(number, _)| !dropped.contains(number)).collect();
            all.insert(file.path.clone(), rewrite(&file.text, &mutations));
        }
        all
    }

    pub fn without(&self, dropped: &BTreeSet<u32>) -> Vec<Mutation> {
        self.mutations.iter().filter(|one| !dropped.contains(&one.number)).cloned().collect()
    }
}
