use grove_api::PodCliqueSet;

use super::FieldError;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Queue<'a> {
    pub name: &'a str,
    /// Path of the field that names the queue, or of the field in which the user can name one.
    pub path: String,
}

impl Queue<'_> {
    pub(super) fn refuse_move(self, before: &str, old: &PodCliqueSet, why: &str) -> Option<FieldError> {
        let Self { name, path } = self;
        (before != name && old.spec.replicas > 0).then(|| {
            let message =
                format!("the queue cannot change from {before:?} to {name:?} while PodGangs exist{why}");
            FieldError::forbidden(path, message)
        })
    }
}
