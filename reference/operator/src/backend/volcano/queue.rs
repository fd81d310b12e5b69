//! A clique without the annotation uses the queue of the PodCliqueSet, or else the default queue (VOL-03). A
//! gang has one queue, so all cliques must resolve to the same queue. This queue must exist, because Volcano
//! does not report a missing queue (observation `waits/missing-queue-on-resource`).

use std::collections::BTreeMap;

use grove_api::{PodCliqueSet, PodGang};
use kube::api::{Api, DynamicObject};
use kube::{Client, ResourceExt};

use super::api::{ANNOTATION_PINNED_QUEUE, ANNOTATION_QUEUE, DEFAULT_QUEUE, queues};
use crate::backend::queue::Queue;
use crate::backend::template::TEMPLATE;
use crate::backend::{FieldError, names};

const STATE_OPEN: &str = "Open";

pub(super) fn of_pcs(pcs: &PodCliqueSet) -> Result<Queue<'_>, FieldError> {
    let default = named(pcs.annotations());
    let own = default.map(|name| Queue { name, path: path("metadata") });
    let cliques = pcs.spec.template.cliques.iter().enumerate().map(|(i, clique)| Queue {
        name: named(&clique.annotations).or(default).unwrap_or(DEFAULT_QUEUE),
        path: path(&format!("{TEMPLATE}.cliques[{i}]")),
    });
    let mut queues = own.into_iter().chain(cliques);
    let first = queues.next().unwrap_or_else(|| Queue { name: DEFAULT_QUEUE, path: path("metadata") });
    check_name(&first)?;
    for queue in queues {
        check_name(&queue)?;
        if queue.name != first.name {
            let message = format!(
                "queue {:?} differs from {:?} in {}: all cliques need the same queue",
                queue.name, first.name, first.path
            );
            return Err(FieldError::invalid(queue.path, message));
        }
    }
    Ok(first)
}

pub(super) fn of_gang(pod_gang: &PodGang) -> &str {
    let annotation = |key: &str| pod_gang.annotations().get(key).map(|name| name.trim());
    let pinned = annotation(ANNOTATION_PINNED_QUEUE).or_else(|| annotation(ANNOTATION_QUEUE));
    pinned.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_QUEUE)
}

/// Returns an error if the queue is not open: a gang in it would stay pending indefinitely.
pub(super) async fn closed(client: &Client, queue: &Queue<'_>) -> Option<FieldError> {
    let Queue { name, path } = queue;
    match Api::<DynamicObject>::all_with(client.clone(), &queues()).get_opt(name).await {
        Ok(Some(found)) => {
            let state = found.data["status"]["state"].as_str().unwrap_or("not known");
            let message = format!(
                "Volcano queue {name:?} is not {STATE_OPEN} (its state is {state}): open it, or name \
                 another queue"
            );
            (state != STATE_OPEN).then(|| FieldError::invalid(path, message))
        }
        Ok(None) => Some(FieldError::not_found(path, format!("Volcano queue {name:?} does not exist"))),
        Err(error) => {
            Some(FieldError::invalid(path, format!("Volcano queue {name:?} cannot be looked up: {error}")))
        }
    }
}

fn named(annotations: &BTreeMap<String, String>) -> Option<&str> {
    annotations.get(ANNOTATION_QUEUE).map(|name| name.trim()).filter(|name| !name.is_empty())
}

fn check_name(queue: &Queue<'_>) -> Result<(), FieldError> {
    let Queue { name, path } = queue;
    let invalid =
        || FieldError::invalid(path, format!("{name:?}: a Queue's name is a DNS subdomain (RFC 1123)"));
    if names::is_dns_subdomain(name) { Ok(()) } else { Err(invalid()) }
}

fn path(parent: &str) -> String {
    format!("{parent}.annotations[{ANNOTATION_QUEUE}]")
}

#[cfg(test)]
mod tests {
    use grove_api::PodGangSpec;
    use serde_json::json;

    use super::*;
    use crate::backend::fake_api::FakeApi;

    fn pcs(queues: [&str; 3]) -> PodCliqueSet {
        let annotations = |queue: &str| match queue {
            "" => json!({}),
            queue => json!({ANNOTATION_QUEUE: queue}),
        };
        let spec = json!({"replicas": 1, "podSpec": {}});
        let clique =
            |name: &str, queue: &str| json!({"name": name, "annotations": annotations(queue), "spec": spec});
        let template = json!({"cliques": [clique("a", queues[1]), clique("b", queues[2])]});
        serde_json::from_value(json!({
            "metadata": {"name": "wl", "annotations": annotations(queues[0])},
            "spec": {"replicas": 1, "template": template},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::none(["", "", ""], "default")]
    #[case::pod_clique_set(["q", "", ""], "q")]
    #[case::pod_clique_set_and_one_clique(["q", "", "q"], "q")]
    #[case::cliques(["", "q", "q"], "q")]
    #[case::blanks_do_not_count([" ", " q ", "q"], "q")]
    #[case::default_by_name(["", "default", ""], "default")]
    fn all_cliques_must_resolve_to_one_queue(#[case] queues: [&str; 3], #[case] name: &str) {
        assert_eq!(of_pcs(&pcs(queues)).map(|queue| queue.name), Ok(name));
    }

    #[test]
    fn several_queues_or_an_invalid_name_are_refused() {
        let errors = [
            ["q", "", "r"],
            ["q", "r", "r"],
            ["", "q", "r"],
            ["", "q", ""],
            ["No Queue", "", ""],
            ["", "", "Q"],
        ];
        let errors = errors.map(|queues| of_pcs(&pcs(queues)).unwrap_err().to_string()).join("\n");
        insta::assert_snapshot!(errors, @r#"
        spec.template.cliques[1].annotations[scheduling.grove.io/volcano-queue]: Invalid value: queue "r" differs from "q" in metadata.annotations[scheduling.grove.io/volcano-queue]: all cliques need the same queue
        spec.template.cliques[0].annotations[scheduling.grove.io/volcano-queue]: Invalid value: queue "r" differs from "q" in metadata.annotations[scheduling.grove.io/volcano-queue]: all cliques need the same queue
        spec.template.cliques[1].annotations[scheduling.grove.io/volcano-queue]: Invalid value: queue "r" differs from "q" in spec.template.cliques[0].annotations[scheduling.grove.io/volcano-queue]: all cliques need the same queue
        spec.template.cliques[1].annotations[scheduling.grove.io/volcano-queue]: Invalid value: queue "default" differs from "q" in spec.template.cliques[0].annotations[scheduling.grove.io/volcano-queue]: all cliques need the same queue
        metadata.annotations[scheduling.grove.io/volcano-queue]: Invalid value: "No Queue": a Queue's name is a DNS subdomain (RFC 1123)
        spec.template.cliques[1].annotations[scheduling.grove.io/volcano-queue]: Invalid value: "Q": a Queue's name is a DNS subdomain (RFC 1123)
        "#);
    }

    #[rstest::rstest]
    #[case::open(Some(json!({"status": {"state": "Open"}})), None)]
    #[case::closing(
        Some(json!({"status": {"state": "Closing"}})),
        Some(r#"Volcano queue "q" is not Open (its state is Closing): open it, or name another queue"#)
    )]
    #[case::no_status(
        Some(json!({})),
        Some(r#"Volcano queue "q" is not Open (its state is not known): open it, or name another queue"#)
    )]
    #[case::missing(None, Some(r#"Volcano queue "q" does not exist"#))]
    #[tokio::test]
    async fn only_an_open_queue_accepts_gangs(
        #[case] found: Option<serde_json::Value>,
        #[case] message: Option<&str>,
    ) {
        let path = "/apis/scheduling.volcano.sh/v1beta1/queues/q";
        let found = found.map(|mut queue| {
            queue["metadata"] = json!({"name": "q"});
            (path, queue)
        });
        let api = FakeApi::with_objects(found);
        let queue = Queue { name: "q", path: "p".to_owned() };
        let error = closed(&api.client, &queue).await;
        assert_eq!(error.map(|error| error.message).as_deref(), message);
    }

    #[rstest::rstest]
    #[case::neither(&[], "default")]
    #[case::mirrored(&[(ANNOTATION_QUEUE, "q")], "q")]
    #[case::pinned(&[(ANNOTATION_QUEUE, "later"), (ANNOTATION_PINNED_QUEUE, "q")], "q")]
    fn the_pinned_queue_of_a_pod_gang_takes_precedence(
        #[case] annotations: &[(&str, &str)],
        #[case] name: &str,
    ) {
        let mut pod_gang = PodGang::new("wl-0", PodGangSpec::default());
        for (key, value) in annotations {
            pod_gang.annotations_mut().insert((*key).to_owned(), (*value).to_owned());
        }
        assert_eq!(of_gang(&pod_gang), name);
    }
}
