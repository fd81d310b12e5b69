//! Hand-written histories of plain gangs.

use std::ops::Range;

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::testing::Story;
use conformance_history::{History, list};
use serde_json::{Value, json};

use crate::observation::Observation;
use crate::plain_gang::PlainGang;
use crate::seen::{CHANGED, OBSERVED, REPLIED};

pub(crate) const TARGET: Target = Target::AI_CONFORMANCE_VOLCANO;

pub(crate) fn story() -> Story {
    Story::on(TARGET)
}

pub(crate) fn pod(gang: &PlainGang, index: usize, node: Option<&str>) -> Value {
    member(&format!("{}-{index}", gang.name), node)
}

fn member(name: &str, node: Option<&str>) -> Value {
    let (gang, _) = name.rsplit_once('-').unwrap();
    json!({
        "kind": "Pod",
        "metadata": {"name": name, "labels": {names::GANG: gang}},
        "spec": {"nodeName": node},
    })
}

pub(crate) fn refused(gang: &PlainGang, index: usize, reason: &str, message: &str) -> Value {
    let mut pod = pod(gang, index, None);
    pod["status"]["conditions"] =
        json!([{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}]);
    pod
}

pub(crate) fn waiting(gang: &PlainGang, count: usize) -> Vec<Value> {
    (0..count).map(|index| pod(gang, index, None)).collect()
}

pub(crate) fn bind(story: Story, gang: &PlainGang, indices: Range<usize>) -> Story {
    indices.fold(story, |story, index| story.modified(pod(gang, index, Some("n"))))
}

pub(crate) fn resource(gang: &PlainGang, status: Value) -> Value {
    gang_resource(gang.name, status)
}

fn gang_resource(gang: &str, status: Value) -> Value {
    json!({
        "kind": "PodGroup.scheduling.volcano.sh",
        "metadata": {"name": gang, "labels": {names::GANG: gang}},
        "status": status,
    })
}

pub(crate) fn changed(story: Story) -> Story {
    story.mark(CHANGED, Value::Null)
}

fn replied(story: Story, refusal: Option<&str>) -> Story {
    changed(story).mark(REPLIED, json!({"refusal": refusal}))
}

pub(crate) fn observed(story: Story) -> Story {
    story.mark(OBSERVED, Value::Null)
}

/// The answer to a question in a story, or the reason why there is none.
pub(crate) fn word(observation: &Observation, story: Story) -> Result<&'static str, String> {
    observation.answer(&story.end()).map(|answer| answer.word).map_err(|reason| reason.to_string())
}

/// The history of a story in `stories.yaml`: a list of objects that are written, and of these steps.
///
/// - `changed`, `observed`: the marks; `accepted`, `refused`: the change with the response of the API server
/// - `later S`: seconds; `slow machine`: limits were doubled
/// - `add POD [NODE]`, `bind POD`, `lose POD`; the name of a pod is that of its gang, and its index
/// - `condition POD TYPE STATUS REASON MESSAGE`
/// - `resource GANG STATUS`, with the status as JSON; `lose-resource GANG`
/// - `node NAME [RACK]`
pub(crate) fn history_of(steps: &Value) -> History {
    let mut history = list(steps).iter().fold(story(), happened).end();
    history.header.slowness = list(steps).contains(&json!("slow machine")).then_some(2.0);
    history
}

fn happened(story: Story, step: &Value) -> Story {
    let Value::String(words) = step else { return story.modified(step.clone()) };
    match words.splitn(6, ' ').collect::<Vec<_>>().as_slice() {
        ["changed"] => changed(story),
        ["observed"] => observed(story),
        ["accepted"] => replied(story, None),
        ["refused"] => replied(story, Some("it is immutable")),
        ["later", seconds] => story.later(seconds.parse().unwrap()),
        ["slow", "machine"] => story,
        ["add", pod] => story.added(member(pod, None)),
        ["add", pod, node] => story.added(member(pod, Some(node))),
        ["bind", pod] => story.modified(member(pod, Some("n"))),
        ["lose", pod] => story.deleted(member(pod, Some("n"))),
        ["condition", pod, of_type, status, reason, message] => {
            let mut pod = member(pod, None);
            pod["status"]["conditions"] =
                json!([{"type": of_type, "status": status, "reason": reason, "message": message}]);
            story.modified(pod)
        }
        ["lose-resource", gang] => story.deleted(gang_resource(gang, Value::Null)),
        ["resource", gang, ..] => {
            let (_, status) = words.split_once(&format!("{gang} ")).unwrap();
            story.modified(gang_resource(gang, serde_json::from_str(status).unwrap()))
        }
        ["node", name] => story.added(json!({"kind": "Node", "metadata": {"name": name}})),
        ["node", name, rack] => {
            let labels = json!({names::RACK: rack});
            story.added(json!({"kind": "Node", "metadata": {"name": name, "labels": labels}}))
        }
        _ => panic!("unknown step {words:?}"),
    }
}
