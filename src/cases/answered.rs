//! Test helper: answers each admission attempt as expected, except for the attempts in `overrides`.

use conformance_facts::attempts::{Attempt, Wanted};
use conformance_history::SharedMark;
use conformance_history::testing::Story;
use serde_json::json;

pub(crate) type Override<'a> = (&'a str, u16, &'a str);

pub(crate) fn answered(story: Story, attempts: &[Attempt], overrides: &[Override<'_>]) -> Story {
    attempts.iter().fold(story, |story, attempt| {
        let words: Vec<_> = attempt.words.iter().filter_map(|word| word.split('|').next()).collect();
        let (code, said) = match attempt.wanted {
            Wanted::Admitted => (201, words.join(" ")),
            Wanted::Refused | Wanted::RefusedOrWarned | Wanted::Either => (422, words.join(" ")),
            Wanted::Unanswered => (500, words.join(" ")),
        };
        let other = overrides.iter().find(|(title, ..)| *title == attempt.title);
        let (code, said) = other.map_or((code, said), |(_, code, said)| (*code, (*said).to_owned()));
        let warnings = if code == 201 { vec![said.clone()] } else { Vec::new() };
        let reply =
            json!({"name": "x", "verb": "create", "code": code, "message": said, "warnings": warnings});
        story.mark(SharedMark::Attempt, json!({"title": attempt.title, "reply": reply}))
    })
}
