//! Remembers which reasons have been logged, so that a retry every second does not fill the log.

use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct Reasons {
    told: BTreeSet<String>,
}

impl Reasons {
    /// Returns whether `reason` is new, and records it as logged.
    pub(crate) fn is_new(&mut self, reason: &str) -> bool {
        self.told.insert(reason.to_owned())
    }

    /// Call after a success: the next failure is logged again.
    pub(crate) fn forget(&mut self) {
        self.told.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_new_once_until_things_were_in_order() {
        let mut reasons = Reasons::default();
        assert!(reasons.is_new("no kubelet"));
        assert!(reasons.is_new("refused"));
        assert!(!reasons.is_new("no kubelet"), "also where two reasons take turns");
        reasons.forget();
        assert!(reasons.is_new("no kubelet"));
    }
}
