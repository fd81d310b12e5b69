//! Affinity and anti-affinity between the pods of one gang.

use conformance_history::{History, Live};
use serde_json::{Value, json};

use crate::answer::{Answer, Answered};
use crate::plain_gang::PlainGang;
use crate::{reports, seen, steps};

pub(crate) mod anti_affinity;
pub(crate) mod to_earlier_pod;
pub(crate) mod to_later_pod;

const ANSWERS: &[&str] = &["bound-together", "bound-apart", "waits"];

/// The required (anti-)affinity of a pod to the pod of its gang at an index. `field` is its name in the pod.
fn require(pod: &mut Value, field: &str, index: usize) {
    let term = json!({
        "labelSelector": {"matchLabels": {steps::MEMBER: index.to_string()}},
        "topologyKey": "kubernetes.io/hostname",
    });
    pod["spec"]["affinity"] = json!({field: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
}

fn answer_for(history: &History, gang: &PlainGang) -> Answered {
    let live = seen::observed(history)?;
    let are_bound = |live: &Live| seen::bound(live, gang) == 2;
    let nodes: Vec<_> = seen::pods(&live, gang).into_iter().filter_map(|pod| pod.node()).collect();
    let word = match nodes.as_slice() {
        [first, second] if first == second => "bound-together",
        [_, _] => "bound-apart",
        _ => "waits",
    };
    let after = seen::seconds_after_change(history, are_bound);
    Ok(Answer::new(word).seconds("creation to binding", after).notes(reports::pod_messages(&live, gang)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Observation;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case::to_later(to_later_pod::OBSERVATION, to_later_pod::GANG)]
    #[case::to_earlier(to_earlier_pod::OBSERVATION, to_earlier_pod::GANG)]
    #[case::anti(anti_affinity::OBSERVATION, anti_affinity::GANG)]
    fn the_nodes_of_the_pods_are_the_answer(#[case] observation: Observation, #[case] gang: PlainGang) {
        let observed = |first: Option<&str>, second: Option<&str>| {
            let created = story().mark(CHANGED, Value::Null).added(pod(&gang, 0, first));
            word(&observation, created.added(pod(&gang, 1, second)).mark(OBSERVED, Value::Null))
        };
        assert_eq!(observed(Some("n"), Some("n")), Ok("bound-together"));
        assert_eq!(observed(Some("n"), Some("m")), Ok("bound-apart"));
        assert_eq!(observed(Some("n"), None), Ok("waits"));
        assert_eq!(observed(None, None), Ok("waits"));
    }

    #[test]
    fn an_affinity_is_required_on_one_node() {
        let mut pod = json!({});
        require(&mut pod, "podAffinity", 1);
        let term =
            &pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(term["labelSelector"]["matchLabels"][steps::MEMBER], "1");
    }
}
