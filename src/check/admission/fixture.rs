use conformance_facts::attempts::{Attempt, Reply, admitted, refused};
use conformance_history::SharedMark;
use conformance_history::testing::Story;
use serde_json::json;

pub(super) const ATTEMPTS: &[Attempt] = &[
    admitted("valid", |_| {}),
    refused("invalid", &["minAvailable"], |_| {}).silent_about(&["topology"]),
    admitted("without effect", |_| {}).with_warning(&["no effect"]),
    admitted("not supported yet", |_| {}).words_only().silent_about(&["circular"]),
];

pub(super) fn reply(code: u16, message: &str, warnings: &[&str]) -> Reply {
    Reply {
        name: "pcs-x".into(),
        verb: "create".into(),
        code,
        message: message.into(),
        warnings: warnings.iter().map(|warning| (*warning).to_owned()).collect(),
    }
}

pub(super) fn required_replies() -> [Reply; 4] {
    [
        reply(201, "", &["299 - \"of no interest\""]),
        reply(422, "cliques[0].spec.MinAvailable: too high", &[]),
        reply(201, "", &["299 - \"pack.preferred has no effect\""]),
        reply(403, "not supported yet", &[]),
    ]
}

pub(super) fn replied(replies: &[Reply]) -> Story {
    ATTEMPTS.iter().zip(replies).fold(Story::flat(), |story, (attempt, reply)| {
        story.mark(SharedMark::Attempt, json!({"title": attempt.title, "reply": reply}))
    })
}
