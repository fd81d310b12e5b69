use std::collections::HashSet;

use parking_lot::Mutex;

#[derive(Default)]
pub(crate) struct InitAccess(Mutex<HashSet<String>>);

impl InitAccess {
    pub(crate) fn forget(&self, pcs: &str) {
        self.with(|known| known.remove(pcs));
    }

    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut HashSet<String>) -> T) -> T {
        change(&mut self.0.lock())
    }
}
