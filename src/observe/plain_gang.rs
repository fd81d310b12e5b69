//! A gang of plain pods, which the harness creates with the scheduler's own gang resource.

use conformance_contract::names;
use conformance_history::{Pod, name, text};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainGang {
    /// The value of the label [`names::GANG`]. The names of the objects start with it.
    pub name: &'static str,
    pub minimum: usize,
    /// GPUs per pod.
    pub gpus: u32,
    /// The number of this gang, if there are several with one name.
    pub copy: Option<usize>,
}

impl PlainGang {
    /// A gang whose pods request 8 GPUs, a whole node.
    pub(crate) const fn new(name: &'static str, minimum: usize) -> Self {
        Self { name, minimum, gpus: 8, copy: None }
    }

    pub(crate) const fn gpus(self, gpus: u32) -> Self {
        Self { gpus, ..self }
    }

    pub(crate) const fn minimum(self, minimum: usize) -> Self {
        Self { minimum, ..self }
    }

    pub(crate) const fn copy(self, number: usize) -> Self {
        Self { copy: Some(number), ..self }
    }

    pub(crate) fn owns(&self, object: &Value) -> bool {
        text(&object["metadata"]["labels"][names::GANG]) == self.name
    }

    pub(crate) fn has(&self, pod: Pod<'_>, index: usize) -> bool {
        let found: Option<usize> = name(pod.0).rsplit_once('-').and_then(|(_, index)| index.parse().ok());
        self.owns(pod.0) && found == Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pod;

    #[test]
    fn a_pod_is_found_by_its_gang_and_index() {
        let (gang, other) = (PlainGang::new("whole", 2), PlainGang::new("other", 2));
        let eleventh = pod(&gang, 11, None);
        assert!(gang.has(Pod(&eleventh), 11) && gang.owns(&eleventh));
        assert!(!gang.has(Pod(&eleventh), 1) && !other.has(Pod(&eleventh), 11));
    }
}
