/// The reason of a clause that is not run because it depends on the violated clause `violated`.
pub fn precondition_failed(violated: &str, message: &str) -> String {
    format!("precondition failed, {violated} is violated: {message}")
}

pub(super) fn names(reason: &str, violated: &str) -> bool {
    reason.starts_with(&precondition_failed(violated, ""))
}
