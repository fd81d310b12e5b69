//! Generations of a gang: how often its pods have been terminated and created again.
//!
//! A scheduler that counts bound pods counts those of the former generation until they are deleted. A
//! scheduler that remembers that a gang was satisfied also remembers it for the former generation. So where
//! pods join a gang resource only by its name, each generation gets its own gang resources (TERM-07,
//! TERM-08).

use grove_api::PodGang;
use grove_api::names::{ANNOTATION_GENERATION, LABEL_GENERATION};
use kube::ResourceExt;

use crate::observed_pod::Pod;

pub(crate) fn of_gang(pod_gang: &PodGang) -> u64 {
    number(pod_gang.annotations().get(ANNOTATION_GENERATION))
}

pub(crate) fn of_pod(pod: &Pod) -> u64 {
    number(pod.labels().get(LABEL_GENERATION))
}

fn number(text: Option<&String>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The name of a gang resource in the PodGang's generation. It is unique, because user-chosen names contain
/// no dot.
pub(super) fn named(pod_gang: &PodGang, name: String) -> String {
    match of_gang(pod_gang) {
        0 => name,
        generation => format!("{name}.{generation}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_generation_is_not_named() {
        let mut pod_gang = PodGang::default();
        assert_eq!(named(&pod_gang, "wl-0-a".into()), "wl-0-a");
        pod_gang.annotations_mut().insert(ANNOTATION_GENERATION.into(), "2".into());
        assert_eq!(named(&pod_gang, "wl-0-a".into()), "wl-0-a.2");
    }
}
