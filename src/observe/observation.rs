//! An observation: a question about a scheduler, a driver that creates the situation, and a pure function
//! from the history to the answer. It is a case without a verdict.

use conformance_contract::ruling::Finding;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Drive, Isolation, Nodes};
use conformance_driver::recorder::Keep;
use conformance_history::{History, SharedMark, text};

use crate::answer::{Answered, NoAnswer};
use crate::seen::UNSUPPORTED;

/// Creates an observation from `drive` and `answer` of its file. The second argument wraps `drive`: for
/// example, [`restored`](conformance_driver::control_plane::restored) repairs what `drive` broke.
macro_rules! question {
    ($question:literal) => {
        $crate::observation::Observation::new($question, |test| Box::pin(drive(test)), answer)
    };
    ($question:literal, $repaired:ident) => {
        $crate::observation::Observation::new(
            $question,
            |test| Box::pin($repaired(test, |test| Box::pin(drive(test)))),
            answer,
        )
    };
}
pub(crate) use question;

/// The runs that ask a question without being given its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Always,
    /// Those with `--slow`: the driver waits for longer than 30 s.
    Slow,
    /// Those with `--load`: the scheduler needs the machine to itself.
    Load,
}

#[derive(Debug, Clone, Copy)]
pub struct Observation {
    /// Produces the history, and has no checks.
    pub case: Case,
    pub answers: &'static [&'static str],
    pub asked: Asked,
    /// Schedulers to which the question does not apply, each with the reason.
    not_on: &'static [(Scheduler, &'static str)],
    answer: fn(&History) -> Answered,
}

impl Observation {
    pub(crate) const fn new(question: &'static str, drive: Drive, answer: fn(&History) -> Answered) -> Self {
        let case = Case::new(question, drive, no_findings);
        Self { case, answers: &[], asked: Asked::Always, not_on: &[], answer }
    }

    pub(crate) const fn registered(self, id: &'static str, manifest: &'static str) -> Self {
        Self { case: self.case.registered(id, manifest), ..self }
    }

    #[must_use]
    pub(crate) const fn answers(self, answers: &'static [&'static str]) -> Self {
        Self { answers, ..self }
    }

    #[must_use]
    pub(crate) const fn nodes(self, nodes: &'static [Nodes]) -> Self {
        Self { case: self.case.nodes(nodes), ..self }
    }

    #[must_use]
    pub(crate) const fn asked(self, asked: Asked) -> Self {
        Self { asked, ..self }
    }

    #[must_use]
    pub(crate) const fn isolation(self, isolation: Isolation) -> Self {
        Self { case: self.case.isolation(isolation), ..self }
    }

    #[must_use]
    pub(crate) const fn keeping(self, keep: Keep) -> Self {
        Self { case: self.case.keeping(keep), ..self }
    }

    #[must_use]
    pub(crate) const fn not_on(self, not_on: &'static [(Scheduler, &'static str)]) -> Self {
        Self { not_on, ..self }
    }

    pub const fn id(&self) -> &'static str {
        self.case.id
    }

    pub const fn question(&self) -> &'static str {
        self.case.title
    }

    /// Why the question does not apply to a target.
    pub fn why_not(&self, target: Target) -> Option<&'static str> {
        let of_scheduler = self.not_on.iter().find(|(scheduler, _)| *scheduler == target.scheduler());
        of_scheduler.map(|(_, reason)| *reason)
    }

    /// The answer in a history. There is none if the driver stopped early, or if versions may be missing.
    pub fn answer(&self, history: &History) -> Answered {
        if let Some((_, mark)) = history.marks(UNSUPPORTED).next() {
            return Err(NoAnswer::DoesNotApply(text(&mark.detail["reason"]).to_owned()));
        }
        if let Some((_, mark)) = history.marks(SharedMark::Stopped).next() {
            let reason = text(&mark.detail["reason"]).lines().next().unwrap_or_default();
            return Err(NoAnswer::Because(format!("the driver stopped: {reason}")));
        }
        if let Some(gap) = history.gaps().next() {
            return Err(NoAnswer::Because(format!(
                "the watch of {} was interrupted, so versions may be missing",
                gap.kind
            )));
        }
        let answer = (self.answer)(history)?;
        if !self.answers.contains(&answer.word) {
            return Err(NoAnswer::Because(format!(
                "a defect of the suite: {:?} is not a listed answer; open an issue with this message",
                answer.word
            )));
        }
        Ok(answer)
    }
}

fn no_findings(_: &History) -> Vec<Finding> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use conformance_driver::context::{Stop, TestContext};
    use serde_json::{Value, json};

    use super::*;
    use crate::answer::Answer;
    use crate::seen::OBSERVED;
    use crate::testing::{story, word};

    async fn drive(_: &mut TestContext) -> Result<(), Stop> {
        Ok(())
    }

    fn answer(history: &History) -> Answered {
        history.reached(OBSERVED)?;
        Ok(Answer::new(if history.entries.len() > 1 { "more" } else { "one" }))
    }

    const OBSERVATION: Observation = question!("How many entries are there?")
        .answers(&["one"])
        .not_on(&[(Scheduler::VOLCANO, "it has no entries")]);

    #[test]
    fn a_question_that_does_not_apply_has_a_reason() {
        assert_eq!(OBSERVATION.why_not(Target::AI_CONFORMANCE_VOLCANO), Some("it has no entries"));
        assert_eq!(OBSERVATION.why_not(Target::AI_CONFORMANCE_KUBE), None);
    }

    #[test]
    fn an_incomplete_history_has_no_answer() {
        let reached = || story().mark(OBSERVED, Value::Null);
        assert_eq!(word(&OBSERVATION, reached()), Ok("one"));
        let reason = |story| word(&OBSERVATION, story).unwrap_err();
        assert!(reason(story()).contains("did not reach \"observed\""));
        assert!(reason(reached().gap("Pod")).contains("the watch of Pod was interrupted"));
        let stopped = reached().mark(SharedMark::Stopped, json!({"reason": "no etcd\nits log"}));
        assert_eq!(reason(stopped), "the driver stopped: no etcd");
        let unsupported = story().mark(UNSUPPORTED, json!({"reason": "no field queue"}));
        let unsupported =
            unsupported.mark(SharedMark::Stopped, json!({"reason": "create it: no field queue"}));
        let found = OBSERVATION.answer(&unsupported.end());
        assert_eq!(found, Err(NoAnswer::DoesNotApply("no field queue".into())));
        assert!(reason(reached().mark(OBSERVED, Value::Null)).contains("\"more\" is not a listed answer"));
    }
}
