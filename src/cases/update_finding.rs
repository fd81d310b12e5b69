use conformance_check::finding;
use conformance_check::lifecycle::updates;
use conformance_contract::ruling::{Finding, Ruling};
use conformance_history::History;

/// Like `finding`, but the clause is not asked if the operator refused the update.
pub(crate) fn update_finding(
    history: &History,
    clause: &'static str,
    ruling: impl FnOnce() -> Ruling,
) -> Finding {
    finding(clause, || {
        updates::are_admitted(history)?;
        ruling()
    })
}
