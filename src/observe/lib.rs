//! Observed behaviour: what each scheduler does where nothing is promised (`observe`).
//!
//! - `waits`, `conditions`, `surplus`, `bound`, `members`, `preemption`, `topology`, `load`: observations, one
//!   `.rs` file each. The build script registers them as it registers cases.
//! - `priority`, `affinity`, `causes`, `ends`: tables of similar observations
//! - `observation`, `answer`: a question, and its answer from a history. `plain_gang` is the gang that most
//!   questions are about, and `steps` what drivers do with it.
//! - `seen`, `reports`: what a history shows of a gang, and what the gang reports
//! - `rounds` combines the answers of several rounds, `behaviour` is the document of all answers, and
//!   `comparison` compares two documents.
//! - `published`: the page of committed answers, and the excerpts of histories that prove them
//! - `decisions`: decisions of the reference operator that rest on an answer

mod affinity;
mod answer;
mod behaviour;
mod bound;
mod causes;
mod comparison;
mod conditions;
mod decisions;
mod ends;
mod load;
mod members;
mod observation;
mod plain_gang;
mod preemption;
mod prelude;
mod priority;
mod published;
mod reports;
mod rounds;
mod seen;
mod steps;
mod surplus;
#[cfg(test)]
mod testing;
mod topology;
mod waits;

pub use answer::{Answer, Answered, Figure, NoAnswer};
pub use behaviour::{Behaviour, Cell, Evidence, Outcome, Question};
pub use comparison::{Difference, Loss, differences};
pub use decisions::contradicted_decisions;
pub use observation::{Asked, Observation};
pub use published::{LIMIT, VersionChange, by_scheduler, excerpt, folder_name, page, sort, version_changes};
pub use rounds::cell;

include!(concat!(env!("OUT_DIR"), "/cases.rs"));

pub fn all() -> impl Iterator<Item = &'static Observation> {
    let tables: [&'static [Observation]; 4] = [
        &affinity::OBSERVATIONS,
        &ends::OBSERVATIONS,
        &priority::OBSERVATIONS,
        causes::REPORTS.as_flattened(),
    ];
    OBSERVATIONS.iter().chain(tables.into_iter().flatten())
}

pub fn observation(id: &str) -> Option<&'static Observation> {
    all().find(|observation| observation.id() == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conformance_contract::target::AI_CONFORMANCE_TARGETS;

    use super::*;
    use crate::testing::history_of;

    #[test]
    fn observations_are_questions_with_several_answers() {
        assert!(all().count() >= 50, "{}", all().count());
        let ids: BTreeSet<_> = all().map(Observation::id).collect();
        assert_eq!(ids.len(), all().count());
        for observation in all() {
            let id = observation.id();
            assert!(observation.question().ends_with('?'), "{id}: {}", observation.question());
            let answers: BTreeSet<_> = observation.answers.iter().collect();
            assert!(answers.len() >= 2 && answers.len() == observation.answers.len(), "{id}: {answers:?}");
            let vague = ["other", "partly", "varies"].iter().find(|word| answers.contains(word));
            assert_eq!(vague, None, "{id}");
            let is_for_some =
                AI_CONFORMANCE_TARGETS.iter().any(|target| observation.why_not(*target).is_none());
            assert!(is_for_some, "{id} applies to no scheduler");
            // A namespace has at most 63 characters and ends with the run's id and a number.
            assert!(id.len() <= 45, "{id}");
        }
    }

    #[test]
    fn hand_written_histories_lead_to_several_answers() {
        let stories = grove_yaml::documents(include_str!("stories.yaml")).unwrap().remove(0);
        let ids = stories.as_object().unwrap().keys();
        assert_eq!(
            ids.filter(|id| observation(id).is_none()).count(),
            0,
            "a story of an unknown observation"
        );
        // Questions about load read figures from marks, which their own tests set.
        for observation in all().filter(|observation| observation.asked != Asked::Load) {
            let id = observation.id();
            let mut answers = BTreeSet::new();
            for (wanted, steps) in stories[id].as_object().into_iter().flatten() {
                match observation.answer(&history_of(steps)) {
                    Ok(answer) => {
                        assert_eq!(answer.word, wanted, "{id}");
                        answers.insert(answer.word);
                    }
                    Err(reason) => assert_eq!(wanted, "no answer", "{id}: {reason}"),
                }
            }
            assert!(answers.len() >= 2, "{id}: stories.yaml has only the answers {answers:?}");
        }
    }

    #[test]
    fn an_observation_is_found_by_its_id() {
        let found = observation("waits/too-few-pods-on-pods").map(|found| found.case.nodes[0].count);
        assert_eq!(found, Some(3));
        assert!(observation("waits/nothing").is_none());
    }

    /// The documentation is the only list of questions.
    #[test]
    fn the_documentation_lists_every_question() {
        let page = include_str!("../../docs/observe.md");
        let missing: Vec<_> = all()
            .map(|observation| format!("\n| `{}` | {} |", observation.id(), observation.question()))
            .filter(|row| !page.contains(row))
            .collect();
        assert!(missing.is_empty(), "docs/observe.md lacks these rows:\n{}", missing.join("\n"));
    }
}
