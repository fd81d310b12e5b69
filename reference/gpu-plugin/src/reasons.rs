use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct Reasons {
    logged: BTreeSet<String>,
}

impl Reasons {
    pub(crate) fn is_new(&mut self, reason: &str) -> bool {
        self.logged.insert(reason.to_owned())
    }

    pub(crate) fn forget(&mut self) {
        self.logged.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_new_again_only_after_a_success() {
        let mut reasons = Reasons::default();
        assert!(reasons.is_new("no kubelet"));
        assert!(reasons.is_new("refused"));
        assert!(!reasons.is_new("no kubelet"), "even if two reasons alternate");
        reasons.forget();
        assert!(reasons.is_new("no kubelet"));
    }
}
