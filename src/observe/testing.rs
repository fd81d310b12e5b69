//! Hand-written histories of plain gangs.

use std::ops::Range;

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::testing::Story;
use serde_json::{Value, json};

use crate::observation::Observation;
use crate::plain_gang::PlainGang;

pub(crate) mod prelude {
    pub(crate) use conformance_history::testing::Story;
    pub(crate) use serde_json::{Value, json};

    pub(crate) use super::{bind, pod, refused, resource, story, waiting, word};
    pub(crate) use crate::seen::{CHANGED, OBSERVED, REPLIED};
}

pub(crate) const TARGET: Target = Target::AI_CONFORMANCE_VOLCANO;

pub(crate) fn story() -> Story {
    Story::on(TARGET)
}

pub(crate) fn pod(gang: &PlainGang, index: usize, node: Option<&str>) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {"name": format!("{}-{index}", gang.name), "labels": {names::GANG: gang.name}},
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

/// The gang resource of a gang on [`TARGET`].
pub(crate) fn resource(gang: &PlainGang, status: Value) -> Value {
    json!({
        "kind": "PodGroup.scheduling.volcano.sh",
        "metadata": {"name": gang.name, "labels": {names::GANG: gang.name}},
        "spec": {"minMember": gang.minimum},
        "status": status,
    })
}

/// The answer to a question in a story, or the reason why there is none.
pub(crate) fn word(observation: &Observation, story: Story) -> Result<&'static str, String> {
    observation.answer(&story.end()).map(|answer| answer.word).map_err(|reason| reason.0)
}
