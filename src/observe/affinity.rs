//! Affinity and anti-affinity between the pods of one gang.
//!
//! 2 nodes x 8 GPUs; a gang of 2 pods x 4 GPUs: it fits on one node and on two.

use conformance_driver::case::{Drive, Nodes};
use serde_json::{Value, json};

use crate::prelude::*;

const NODES: &[Nodes] = &[nodes(2).gpus(8)];
const GANG: PlainGang = PlainGang::new("related", 2).gpus(4);

/// The field of a pod's affinity, and the index of the pod to which it refers.
type Term = Option<(&'static str, usize)>;

pub(crate) static OBSERVATIONS: [Observation; 3] = [
    observation(
        "affinity/anti-affinity",
        "Two pods of a gang exclude each other from their nodes. Is the gang bound?",
        |test| Box::pin(drive(test, [Some(("podAntiAffinity", 1)), Some(("podAntiAffinity", 0))])),
    ),
    observation(
        "affinity/to-earlier-pod",
        "A pod of a gang requires the node of a pod that was created before it. Is the gang bound?",
        |test| Box::pin(drive(test, [None, Some(("podAffinity", 0))])),
    ),
    observation(
        "affinity/to-later-pod",
        "A pod of a gang requires the node of a pod that is created after it. Is the gang bound?",
        |test| Box::pin(drive(test, [Some(("podAffinity", 1)), None])),
    ),
];

const fn observation(id: &'static str, question: &'static str, drive: Drive) -> Observation {
    let observation = Observation::new(question, drive, answer).registered(id, "");
    observation.answers(&["bound-together", "bound-apart", "waits"]).nodes(NODES)
}

async fn drive(test: &mut TestContext, [earlier, later]: [Term; 2]) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::create_pod(test, &GANG, 0, |pod| require(pod, earlier)).await?;
    steps::next_second(test).await?;
    steps::changed(test);
    steps::create_pod(test, &GANG, 1, |pod| require(pod, later)).await?;
    steps::observe_bound(test, &GANG, 0..2).await
}

fn require(pod: &mut Value, term: Term) {
    let Some((field, index)) = term else { return };
    let term = json!({
        "labelSelector": {"matchLabels": {steps::MEMBER: index.to_string()}},
        "topologyKey": "kubernetes.io/hostname",
    });
    pod["spec"]["affinity"] = json!({field: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let nodes: Vec<_> = seen::pods(&live, &GANG).into_iter().filter_map(|pod| pod.node()).collect();
    let word = match nodes.as_slice() {
        [first, second] if first == second => "bound-together",
        [_, _] => "bound-apart",
        _ => "waits",
    };
    reports::by_binding(history, &GANG, 0..2, [word; 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_affinity_is_required_on_one_node() {
        let mut pod = json!({});
        require(&mut pod, Some(("podAffinity", 1)));
        let required = "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0";
        let term = pod.pointer(required).unwrap();
        assert_eq!(term["labelSelector"]["matchLabels"][steps::MEMBER], "1");
    }
}
