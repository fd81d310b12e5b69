//! Which reasons have been logged already, so that what is tried every second does not fill the log.

use std::collections::BTreeSet;

/// The reasons logged since everything was last in order.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    told: BTreeSet<String>,
}

impl Reasons {
    /// Whether `reason` has not been logged yet. From now on it counts as logged.
    pub(crate) fn is_new(&mut self, reason: &str) -> bool {
        self.told.insert(reason.to_owned())
    }

    /// Things are in order: should a reason come back, it is news.
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
