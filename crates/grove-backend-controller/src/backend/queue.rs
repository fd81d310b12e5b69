//! The one queue of a PodCliqueSet, where its scheduler has queues. How it is named is the scheduler's own.

use grove_api::PodCliqueSet;

use super::FieldError;

/// A queue, and where it is named.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Queue<'a> {
    /// Its name.
    pub name: &'a str,
    /// JSON path of what names it, or could.
    pub path: String,
}

impl Queue<'_> {
    /// Refuses that a PodCliqueSet moves here from the queue `before` while there are gangs of the `old` one, which cannot
    /// follow. `why` ends the sentence, with its own punctuation.
    pub(super) fn moved_from(self, before: &str, old: &PodCliqueSet, why: &str) -> Option<FieldError> {
        let Self { name, path } = self;
        (before != name && old.spec.replicas > 0).then(|| {
            let message =
                format!("the queue is {before:?} and cannot become {name:?} while there are gangs{why}");
            FieldError::forbidden(path, message)
        })
    }
}
