//! Decisions of the reference operator that depend on unspecified behaviour of a scheduler. If an answer
//! changes, the decision must be made again.

use serde::Deserialize;

use crate::behaviour::{Behaviour, Cell, Outcome};

const DECISIONS: &str = include_str!("decisions.json");

/// A decision and the answer on which it depends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    name: String,
    /// The file that has the decision, from the root of the repository.
    place: String,
    backend: String,
    /// The minor version that the decision is about; absent for every version.
    kubernetes: Option<String>,
    observation: String,
    expected: String,
}

impl Decision {
    /// Whether the decision is about the answers of a control plane of this version, such as `v1.37.2`.
    fn is_about(&self, kubernetes: &str) -> bool {
        self.kubernetes.as_deref().is_none_or(|minor| is_of_minor(kubernetes, minor))
    }

    fn contradiction(&self, cell: &Cell) -> Option<String> {
        let found = match cell.outcome {
            Outcome::Answered => cell.answer.as_deref()?,
            Outcome::Varies => "varies",
            Outcome::NoAnswer | Outcome::DoesNotApply => return None,
        };
        let Self { name, place, observation, expected, .. } = self;
        let (backend, version) = (&cell.backend, &cell.version);
        (found != expected).then(|| {
            format!(
                "decision \"{name}\" ({place}) rests on {observation} on {backend}: {version} answers {found}, \
                 not {expected}"
            )
        })
    }
}

pub(crate) fn is_of_minor(version: &str, minor: &str) -> bool {
    let patch = version.trim_start_matches('v').strip_prefix(minor);
    patch.is_some_and(|patch| patch.is_empty() || patch.starts_with('.'))
}

fn decisions() -> Result<Vec<Decision>, serde_json::Error> {
    serde_json::from_str(DECISIONS)
}

/// Returns a line for each decision that an answer contradicts. A missing answer contradicts none.
pub fn contradicted_decisions(document: &Behaviour) -> Result<Vec<String>, serde_json::Error> {
    let mut lines = Vec::new();
    for decision in decisions()?.iter().filter(|decision| decision.is_about(&document.kubernetes)) {
        for (question, cell) in document.cells() {
            if question.id == decision.observation && cell.backend == decision.backend {
                lines.extend(decision.contradiction(cell));
            }
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use conformance_contract::target::AI_CONFORMANCE_TARGETS;

    use super::*;
    use crate::behaviour::tests::document;

    /// The answers to the question of the decision "admission requires one priority".
    fn answered(kubernetes: &str, outcome: Outcome, answer: Option<&str>) -> Vec<String> {
        let mut document = document(outcome, answer);
        document.kubernetes = kubernetes.into();
        document.questions[0].id = "priority/between-pods".into();
        document.questions[0].cells[0].backend = "default-scheduler".into();
        contradicted_decisions(&document).unwrap()
    }

    #[test]
    fn another_answer_names_the_decision() {
        let lines = answered("v1.37.2", Outcome::Answered, Some("bound"));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with("decision \"admission requires one priority\" (reference/"),
            "{lines:?}"
        );
        assert!(lines[0].ends_with("answers bound, not waits"), "{lines:?}");
        assert_eq!(answered("v1.37.2", Outcome::Varies, None).len(), 1);
    }

    #[rstest::rstest]
    #[case::expected("v1.37.2", Outcome::Answered, Some("waits"))]
    #[case::other_version("v1.36.5", Outcome::Answered, Some("bound"))]
    #[case::longer_version("v1.370.1", Outcome::Answered, Some("bound"))]
    #[case::missing("v1.37.2", Outcome::NoAnswer, None)]
    fn other_cells_contradict_nothing(
        #[case] kubernetes: &str,
        #[case] outcome: Outcome,
        #[case] answer: Option<&str>,
    ) {
        assert_eq!(answered(kubernetes, outcome, answer), Vec::<String>::new());
    }

    #[test]
    fn decisions_are_in_files_that_name_their_observations() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let decisions = decisions().unwrap();
        for decision in &decisions {
            let name = &decision.name;
            let text = std::fs::read_to_string(root.join(&decision.place)).unwrap_or_default();
            assert!(text.contains(&format!("`{}`", decision.observation)), "{name}: {}", decision.place);
            let observation = crate::observation(&decision.observation).unwrap();
            assert!(observation.answers.contains(&decision.expected.as_str()), "{name}");
            let mut targets = AI_CONFORMANCE_TARGETS.iter();
            let target = targets.find(|target| target.backend() == decision.backend).unwrap();
            assert_eq!(observation.why_not(*target), None, "{name}");
        }
        let names: BTreeSet<_> =
            decisions.iter().map(|decision| (&decision.name, &decision.backend)).collect();
        assert_eq!(names.len(), decisions.len());
    }
}
