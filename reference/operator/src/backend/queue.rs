use grove_api::PodCliqueSet;

use super::FieldError;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Queue<'a> {
    pub name: &'a str,
    /// Of the field that names the queue, or of the field in which the user can name it.
    pub path: String,
}

impl Queue<'_> {
    /// While the `old` PodCliqueSet has gangs, they cannot change their queue. `why` ends the message.
    pub(super) fn refuse_move(self, before: &str, old: &PodCliqueSet, why: &str) -> Option<FieldError> {
        let Self { name, path } = self;
        (before != name && old.spec.replicas > 0).then(|| {
            let message =
                format!("the queue is {before:?} and cannot become {name:?} while there are gangs{why}");
            FieldError::forbidden(path, message)
        })
    }
}
