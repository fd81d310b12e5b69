//! Which cases test programs run that run all of them.

use conformance_contract::target::Target;
use conformance_driver::case::{Case, Need};
use conformance_run::verdict::judged_clauses;

/// Whether a target owes any clause of a case, which local processes can show. Kubelets are another test's matter, and so are
/// upgrades, which need an operator to upgrade from.
pub(crate) fn is_judged_locally(case: &Case, target: Target) -> bool {
    !judged_clauses(case, target).is_empty() && !case.needs.contains(&Need::Kubelets) && case.group() != "mig"
}
