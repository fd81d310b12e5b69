//! Combines the answers of several rounds into one cell. If a scheduler decides a race differently each time,
//! the cell varies and has the distribution. If too many rounds have no answer, the cell has none.

use crate::answer::{Answered, NoAnswer};
use crate::behaviour::{Cell, Evidence, Outcome};

pub fn cell(backend: &str, version: &str, rounds: Vec<(Answered, Option<Evidence>)>) -> Cell {
    let mut cell = Cell { backend: backend.into(), version: version.into(), ..Cell::default() };
    let count = rounds.len();
    let (mut answers, mut histories) = (Vec::new(), Vec::new());
    let mut applies = true;
    for (answered, history) in rounds {
        let of = answered.as_ref().map_or("", |answer| answer.word);
        histories.extend(history.map(|history| (of, history)));
        match answered {
            Ok(answer) => {
                *cell.distribution.entry(answer.word.to_owned()).or_default() += 1;
                answers.push(answer);
            }
            Err(reason) => {
                applies &= !matches!(reason, NoAnswer::DoesNotApply(_));
                cell.reason.get_or_insert(reason.to_string());
            }
        }
    }
    let lost = count - answers.len();
    if lost < count {
        let of_rounds = |reason: String| format!("{lost} of {count} rounds have no answer: {reason}");
        cell.reason = cell.reason.map(of_rounds);
    }
    let most = cell.distribution.iter().max_by_key(|(_, times)| **times);
    let most = most.map(|(word, times)| (word.clone(), *times as usize));
    // Four of five, rounded up.
    let needed = (count * 4).div_ceil(5);
    cell.outcome = match &most {
        None if !applies => Outcome::DoesNotApply,
        Some((_, times)) if *times >= needed => Outcome::Answered,
        Some(_) if cell.distribution.len() > 1 => Outcome::Varies,
        Some(_) | None => Outcome::NoAnswer,
    };
    let most = most.filter(|_| cell.outcome != Outcome::NoAnswer);
    let shown = most.map(|(word, _)| word).unwrap_or_default();
    if cell.outcome != Outcome::DoesNotApply {
        // The history of the shown answer comes first.
        histories.sort_by_key(|(of, _)| *of != shown);
        cell.histories = histories.into_iter().map(|(_, history)| history).collect();
    }
    if let Some(first) = answers.into_iter().find(|answer| answer.word == shown) {
        cell.figures = first.figures;
        cell.notes = first.notes;
    }
    cell.answer = (cell.outcome == Outcome::Answered).then_some(shown);
    cell
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;

    fn rounds(words: &[&'static str]) -> Cell {
        let answered = words.iter().map(|word| match *word {
            "" => Err(NoAnswer::Because("the driver stopped".into())),
            "-" => Err(NoAnswer::DoesNotApply("it has no such field".into())),
            word => Ok(Answer::new(word).notes([format!("it is {word}")])),
        });
        cell("volcano", "v1.15.1", answered.map(|answered| (answered, None)).collect())
    }

    #[rstest::rstest]
    #[case::once(&["bound"], Outcome::Answered, Some("bound"))]
    #[case::four_of_five(&["waits", "bound", "bound", "bound", "bound"], Outcome::Answered, Some("bound"))]
    #[case::three_of_five(&["waits", "bound", "bound", "bound", "waits"], Outcome::Varies, None)]
    #[case::one_of_two(&["waits", "bound"], Outcome::Varies, None)]
    #[case::one_round_lost(&["bound", "bound", "", "bound", "bound"], Outcome::Answered, Some("bound"))]
    #[case::two_rounds_lost(&["bound", "", "", "bound", "bound"], Outcome::NoAnswer, None)]
    #[case::lost_and_different(&["bound", "", "waits", "bound", "bound"], Outcome::Varies, None)]
    #[case::none(&["", ""], Outcome::NoAnswer, None)]
    #[case::does_not_apply(&["-", "-"], Outcome::DoesNotApply, None)]
    fn an_answer_needs_four_of_five_rounds(
        #[case] words: &[&'static str],
        #[case] outcome: Outcome,
        #[case] answer: Option<&str>,
    ) {
        let cell = rounds(words);
        assert_eq!((cell.outcome, cell.answer.as_deref()), (outcome, answer));
        assert_eq!(cell.reason.is_some(), words.iter().any(|word| ["", "-"].contains(word)));
    }

    #[test]
    fn the_reason_counts_lost_rounds_if_others_have_answers() {
        let reason = |words: &[&'static str]| rounds(words).reason;
        let wanted = "2 of 3 rounds have no answer: the driver stopped";
        assert_eq!(reason(&["", "bound", ""]).as_deref(), Some(wanted));
        assert_eq!(reason(&["", ""]).as_deref(), Some("the driver stopped"));
        assert_eq!(reason(&["bound"]), None);
    }

    #[test]
    fn the_first_history_has_the_answer() {
        let evidence = |file: &str| Evidence { file: file.into(), sha256: String::new(), excerpt_of: None };
        let words = ["waits", "bound", "bound", "bound", "bound"];
        let rounds = words
            .iter()
            .enumerate()
            .map(|(index, word)| (Ok(Answer::new(word)), Some(evidence(&index.to_string()))));
        let cell = cell("volcano", "v1.15.1", rounds.collect());
        let files: Vec<_> = cell.histories.iter().map(|history| history.file.as_str()).collect();
        assert_eq!(files, ["1", "2", "3", "4", "0"]);
    }

    #[test]
    fn notes_are_those_of_a_round_with_the_answer() {
        let cell = rounds(&["waits", "bound", "bound", "bound", "bound"]);
        assert_eq!(cell.notes, ["it is bound"]);
        assert_eq!(cell.distribution, [("bound".to_owned(), 4), ("waits".to_owned(), 1)].into());
    }
}
