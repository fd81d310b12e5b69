use conformance_history::testing::Story;
use serde_json::json;

use super::super::fixture::{ATTEMPTS, replied, reply, required_replies};
use super::*;
use crate::messages;

#[test]
fn the_required_answers_pass() {
    assert_eq!(answers(&replied(&required_replies()).end(), ATTEMPTS), Ok(()));
}

#[test]
fn a_wrong_answer_counts_when_other_attempts_were_not_sent() {
    let history = replied(&[reply(422, "no", &[])]).end();
    assert!(matches!(answers(&history, ATTEMPTS), Err(Broken::Violated(_))));
    assert!(matches!(
        answers(&replied(&required_replies()[..1]).end(), ATTEMPTS),
        Err(Broken::NotReached(_))
    ));
}

#[rstest::rstest]
#[case::refused(0, reply(422, "no", &[]))]
#[case::refused_by_a_failing_webhook(0, reply(500, "failed calling webhook", &[]))]
#[case::admitted(1, reply(201, "", &[]))]
#[case::by_a_failing_webhook(1, reply(500, "failed calling webhook: minAvailable", &[]))]
#[case::for_another_reason(1, reply(422, "replicas", &[]))]
#[case::for_an_additional_reason(1, reply(422, "minAvailable; Topology", &[]))]
#[case::without_a_warning(2, reply(201, "no effect", &[]))]
#[case::for_a_forbidden_reason(3, reply(403, "not supported; circular", &[]))]
#[case::with_a_failing_webhook(3, reply(500, "", &[]))]
fn a_wrong_answer_is_a_violation(#[case] index: usize, #[case] wrong: Reply) {
    let mut replies = required_replies();
    replies[index] = wrong;
    let violations = messages(answers(&replied(&replies).end(), ATTEMPTS));
    assert!(violations.len() == 1 && violations[0].starts_with(ATTEMPTS[index].title), "{violations:?}");
}

#[test]
fn an_attempt_that_was_not_sent_is_not_checked() {
    let history = replied(&required_replies()[..3]).end();
    assert!(matches!(answers(&history, ATTEMPTS), Err(Broken::NotReached(_))));
}

fn with_reply(index: usize, reply: Reply) -> History {
    let mut replies = required_replies();
    replies[index] = reply;
    replied(&replies).end()
}

#[test]
fn a_refusal_without_the_required_words_is_a_violation() {
    assert_eq!(refusals_contain_words(&replied(&required_replies()).end(), ATTEMPTS), Ok(()));
    let admitted = with_reply(1, reply(201, "", &[]));
    assert_eq!(refusals_contain_words(&admitted, ATTEMPTS), Ok(()), "another clause requires the refusal");
    let wrong = messages(refusals_contain_words(&with_reply(1, reply(422, "replicas", &[])), ATTEMPTS));
    assert!(wrong.len() == 1 && wrong[0].starts_with("invalid"), "{wrong:?}");
    let not_sent = refusals_contain_words(&replied(&required_replies()[..3]).end(), ATTEMPTS);
    assert!(matches!(not_sent, Err(Broken::NotReached(_))), "{not_sent:?}");
}

#[test]
fn only_an_attempt_that_was_sent_can_be_refused() {
    let history = replied(&required_replies()[..2]).end();
    let refused: Vec<_> = ATTEMPTS.iter().map(|attempt| was_refused(&history, attempt)).collect();
    assert_eq!(refused, [false, true, false, false]);
    assert!(!was_refused(&with_reply(1, reply(500, "failed calling webhook", &[])), &ATTEMPTS[1]));
}

#[test]
fn the_last_answer_counts() {
    let [first, ..] = required_replies();
    let mark = |reply: &Reply| json!({"title": "valid", "reply": reply});
    let story = Story::flat()
        .mark(SharedMark::Attempt, mark(&reply(422, "not yet", &[])))
        .mark(SharedMark::Attempt, mark(&first));
    assert_eq!(answers(&story.end(), &ATTEMPTS[..1]), Ok(()));
}
