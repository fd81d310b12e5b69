//! Selects cases for test programs that run all of them.

use conformance_contract::target::Target;
use conformance_driver::case::{Case, Need};
use conformance_run::verdict::checked_clauses;

/// Whether local processes can show a clause of the case that applies to the target. Other tests cover
/// kubelets, and upgrades, which need an old operator.
pub(crate) fn runs_locally(case: &Case, target: Target) -> bool {
    !checked_clauses(case, target).is_empty()
        && !case.needs.contains(&Need::Kubelets)
        && case.group() != "mig"
}
