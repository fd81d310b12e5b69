//! The queue of a PodCliqueSet (KAI-04). The webhook does not check that it exists: KAI reports a gang whose
//! queue is missing (observation `waits/missing-queue-on-resource`), and schedules it once the queue exists.

use std::collections::BTreeMap;

use grove_api::{PodCliqueSet, PodGang};
use kube::ResourceExt;

use super::api::KEY_QUEUE;
use crate::backend::FieldError;
use crate::backend::queue::Queue;

pub(super) fn of_pcs(pcs: &PodCliqueSet) -> Result<Queue<'_>, FieldError> {
    let own = named("metadata", pcs.labels(), pcs.annotations());
    let cliques = pcs.spec.template.cliques.iter().enumerate().filter_map(|(i, clique)| {
        named(&format!("spec.template.cliques[{i}]"), &clique.labels, &clique.annotations)
    });
    let mut all = own.into_iter().chain(cliques);
    let Some(queue) = all.next() else {
        let message = "name a KAI queue in a label or annotation of the PodCliqueSet or of its cliques";
        return Err(FieldError::required(path("metadata", "labels"), message));
    };
    match all.find(|other| other.name != queue.name) {
        Some(other) => {
            let message = format!(
                "{:?} differs from {:?} in {}: all cliques need the same queue",
                other.name, queue.name, queue.path
            );
            Err(FieldError::invalid(other.path, message))
        }
        None => Ok(queue),
    }
}

pub(super) fn of_gang(pod_gang: &PodGang) -> Option<&str> {
    named("metadata", pod_gang.labels(), pod_gang.annotations()).map(|queue| queue.name)
}

fn named<'a>(
    metadata: &str,
    labels: &'a BTreeMap<String, String>,
    annotations: &'a BTreeMap<String, String>,
) -> Option<Queue<'a>> {
    [("labels", labels), ("annotations", annotations)].into_iter().find_map(|(place, pairs)| {
        let name = pairs.get(KEY_QUEUE).filter(|name| !name.is_empty())?;
        Some(Queue { name, path: path(metadata, place) })
    })
}

fn path(metadata: &str, place: &str) -> String {
    format!("{metadata}.{place}[{KEY_QUEUE}]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A PodCliqueSet and two cliques with these queues as label and annotation; an empty text means none.
    fn pcs(queues: [(&str, &str); 3]) -> PodCliqueSet {
        let pairs = |queue: &str| if queue.is_empty() { json!({}) } else { json!({KEY_QUEUE: queue}) };
        let [own, a, b] = queues.map(|(label, annotation)| (pairs(label), pairs(annotation)));
        let clique = |name: &str, (labels, annotations)| {
            let spec = json!({"replicas": 1, "podSpec": {}});
            json!({"name": name, "labels": labels, "annotations": annotations, "spec": spec})
        };
        let template = json!({"cliques": [clique("a", a), clique("b", b)]});
        serde_json::from_value(json!({
            "metadata": {"name": "wl", "labels": own.0, "annotations": own.1},
            "spec": {"replicas": 1, "template": template},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::label([("q", ""), ("", ""), ("", "")])]
    #[case::annotation([("", "q"), ("", ""), ("", "")])]
    #[case::label_before_annotation([("q", "other"), ("", ""), ("", "")])]
    #[case::one_clique([("", ""), ("", ""), ("", "q")])]
    #[case::all_alike([("q", ""), ("", "q"), ("q", "q")])]
    fn all_labels_and_annotations_must_name_one_queue(#[case] queues: [(&str, &str); 3]) {
        assert_eq!(of_pcs(&pcs(queues)).map(|queue| queue.name), Ok("q"));
    }

    #[test]
    fn no_queue_or_several_are_refused() {
        let errors = [
            [("", ""), ("", ""), ("", "")],
            [("q", ""), ("", ""), ("r", "")],
            [("", ""), ("", "q"), ("", "r")],
        ];
        let errors = errors.map(|queues| of_pcs(&pcs(queues)).unwrap_err().to_string()).join("\n");
        insta::assert_snapshot!(errors, @r#"
        metadata.labels[kai.scheduler/queue]: Required value: name a KAI queue in a label or annotation of the PodCliqueSet or of its cliques
        spec.template.cliques[1].labels[kai.scheduler/queue]: Invalid value: "r" differs from "q" in metadata.labels[kai.scheduler/queue]: all cliques need the same queue
        spec.template.cliques[1].annotations[kai.scheduler/queue]: Invalid value: "r" differs from "q" in spec.template.cliques[0].annotations[kai.scheduler/queue]: all cliques need the same queue
        "#);
    }
}
