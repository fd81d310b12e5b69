//! Remembers for which PodCliqueSets the access of init containers exists.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Uids of the PodCliqueSets for which everything exists.
#[derive(Default)]
pub(crate) struct InitAccess(Mutex<HashSet<String>>);

impl InitAccess {
    pub(crate) fn forget(&self, pcs: &str) {
        self.with(|known| known.remove(pcs));
    }

    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut HashSet<String>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
