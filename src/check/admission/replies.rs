use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_facts::attempts::{Attempt, Reply};
use conformance_history::{History, SharedMark};

use crate::{none, violation};

const WRONG_ANSWER: Code = Code::new("unexpected-answer");

/// Checks the reply to each attempt. Violations are reported before attempts that were not sent.
pub fn answers(history: &History, attempts: &[Attempt]) -> Ruling {
    let mut violations = Vec::new();
    let mut not_sent = None;
    for attempt in attempts {
        match reply_to(history, attempt) {
            Ok(reply) => violations.extend(
                attempt
                    .wrong(&reply)
                    .map(|wrong| violation(WRONG_ANSWER, format!("{}: {wrong}", attempt.title))),
            ),
            Err(why) => not_sent = not_sent.or(Some(why)),
        }
    }
    none(violations)?;
    not_sent.map_or(Ok(()), Err)
}

/// Checks the words of the refusals. Another clause covers whether an attempt is refused.
pub fn refusals_contain_words(history: &History, attempts: &[Attempt]) -> Ruling {
    let is_refused = |attempt: &&Attempt| reply_to(history, attempt).map_or(true, |reply| reply.is_refused());
    let refused: Vec<_> = attempts.iter().filter(is_refused).copied().collect();
    answers(history, &refused.iter().map(|attempt| attempt.words_only()).collect::<Vec<_>>())
}

pub fn was_refused(history: &History, attempt: &Attempt) -> bool {
    reply_to(history, attempt).is_ok_and(|reply| reply.is_refused())
}

pub(super) fn reply_to(history: &History, attempt: &Attempt) -> Result<Reply, Broken> {
    let sent =
        history.marks(SharedMark::Attempt).filter(|(_, mark)| mark.detail["title"] == attempt.title).last();
    let (_, mark) = sent.ok_or_else(|| {
        Broken::NotReached(format!("the case did not send the request {:?}", attempt.title))
    })?;
    serde_json::from_value(mark.detail["reply"].clone()).map_err(|error| {
        Broken::NotReached(format!(
            "the recorded response to {} cannot be read: {error}",
            mark.detail["title"]
        ))
    })
}

#[cfg(test)]
#[path = "replies_tests.rs"]
mod tests;
