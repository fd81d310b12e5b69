//! The page of observed behaviour: a table of answers, and the timeline behind each of them.

use std::path::Path;

use askama::Template;
use conformance_history::History;

use super::pack::{self, Packed};
use super::policy::{SCRIPT, STYLE, policy};
use super::sheet::Sheet;
use super::timeline::{Readable, Timeline};
use super::{LONGEST_PAGE, Unrendered, in_parallel, open};

#[derive(Debug)]
pub struct Answers {
    pub lead: String,
    /// Shown above the answers.
    pub notes: Vec<String>,
    pub schedulers: Vec<String>,
    pub questions: Vec<AnsweredQuestion>,
}

#[derive(Debug)]
pub struct AnsweredQuestion {
    pub id: String,
    pub question: String,
    /// One per scheduler, in the same order.
    pub answers: Vec<ShownAnswer>,
}

#[derive(Debug)]
pub struct ShownAnswer {
    pub word: String,
    /// The verdict whose colour the word gets. An answer has no verdict itself.
    pub class: &'static str,
    /// Figures, reasons, and texts of the scheduler.
    pub details: Vec<String>,
    /// The file with the history, relative to the folder of the page.
    pub history: Option<String>,
}

#[derive(Template)]
#[template(path = "answered.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    answers: &'a Answers,
    groups: Vec<Group<'a>>,
}

struct Group<'a> {
    question: &'a AnsweredQuestion,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    number: usize,
    address: String,
    scheduler: &'a str,
    answer: &'a ShownAnswer,
    sheet: String,
}

#[derive(Clone, Copy)]
struct Cell<'a> {
    question: &'a AnsweredQuestion,
    answer: &'a ShownAnswer,
    scheduler: &'a str,
}

impl<'a> Cell<'a> {
    fn history(self, folder: &Path) -> Result<History, String> {
        match &self.answer.history {
            Some(name) => open(folder, name, &self.question.id),
            None => Err("there is no history".to_owned()),
        }
    }

    fn sheet(self, timeline: Result<Timeline<'a>, String>) -> Sheet<'a> {
        let Self { question, answer, scheduler } = self;
        let (id, text) = (question.id.as_str(), question.question.as_str());
        Sheet::of_answer(id, text, scheduler, &answer.word, &answer.details, timeline)
    }

    fn packed(self, folder: &Path) -> Packed {
        match self.history(folder).map(Readable::from) {
            Ok(history) => Packed::of(&self.sheet(Ok(Timeline::of(&history, &[]))), None, false),
            Err(missing) => Packed::of(&self.sheet(Err(missing)), None, false),
        }
    }
}

/// Renders the page. The paths of histories are relative to `folder`.
pub fn answered(answers: &Answers, folder: &Path) -> Result<String, Unrendered> {
    let schedulers = &answers.schedulers;
    let mut cells = Vec::new();
    for question in &answers.questions {
        let with_schedulers = question.answers.iter().zip(schedulers);
        cells.extend(with_schedulers.map(|(answer, scheduler)| Cell { question, answer, scheduler }));
    }
    let packed = in_parallel(&cells, |cell| cell.packed(folder));
    let whole = render(answers, &cells, packed.clone())?;
    if whole.len() <= LONGEST_PAGE {
        return Ok(whole);
    }
    let limit = LONGEST_PAGE.saturating_sub(whole.len() - pack::length(&packed));
    let without = |index: usize| cells[index].sheet(Err("left out to keep the page small".to_owned()));
    render(answers, &cells, pack::limited(packed, limit, without))
}

fn render(answers: &Answers, cells: &[Cell<'_>], packed: Vec<Packed>) -> Result<String, Unrendered> {
    let mut rows = cells.iter().zip(packed).enumerate().map(|(number, (cell, packed))| Row {
        number,
        address: format!("case:{}/{}", cell.scheduler.replace(' ', "-"), cell.question.id),
        scheduler: cell.scheduler,
        answer: cell.answer,
        sheet: packed.text,
    });
    let mut groups = Vec::new();
    for question in &answers.questions {
        let rows = rows.by_ref().take(question.answers.len()).collect();
        groups.push(Group { question, rows });
    }
    let page = Page { policy: policy(SCRIPT), style: STYLE, script: SCRIPT, answers, groups };
    page.render().map_err(Unrendered)
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::Target;
    use conformance_history::testing::{Story, worker};

    use super::*;

    const ID: &str = "bound/lost-pod-replaced";

    fn answer(word: &str, history: &str) -> ShownAnswer {
        let details = vec!["creation to binding: 0.4 s".to_owned()];
        ShownAnswer { word: word.into(), class: "answered", details, history: Some(history.into()) }
    }

    fn answers() -> Answers {
        let question = AnsweredQuestion {
            id: ID.into(),
            question: "Is it <b>bound</b>?".into(),
            answers: vec![answer("bound", "a.jsonl"), answer("waits", "nowhere.jsonl")],
        };
        Answers {
            lead: "asked once".into(),
            notes: vec!["decision \"x\" rests on it".into()],
            schedulers: vec!["volcano v1.15.1".into(), "koord-scheduler v1.8.0".into()],
            questions: vec![question],
        }
    }

    #[test]
    fn every_answer_has_a_row_and_a_sheet() {
        let page = answered(&answers(), Path::new("nowhere")).unwrap();
        assert!(page.contains("id=\"case:volcano-v1.15.1/bound/lost-pod-replaced\""), "the first row");
        assert!(page.contains("href=\"#case:koord-scheduler-v1.8.0/bound/lost-pod-replaced\""));
        assert!(page.contains("id=\"sheet-1\"") && !page.contains("id=\"sheet-2\""));
        assert!(page.contains("creation to binding: 0.4 s"));
        assert!(!page.contains("<b>bound"), "texts are escaped");
    }

    #[test]
    fn a_sheet_has_the_timeline_of_its_history() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = Story::on(Target::VOLCANO).added(worker("short", 0, Some("n"))).later(3).end();
        history.header.case = ID.into();
        history.write(std::fs::File::create(folder.path().join("a.jsonl")).unwrap()).unwrap();
        let answers = answers();
        let question = &answers.questions[0];
        let cell = |index: usize| Cell { question, answer: &question.answers[index], scheduler: "volcano" };
        let readable = Readable::from(cell(0).history(folder.path()).unwrap());
        let sheet = cell(0).sheet(Ok(Timeline::of(&readable, &[])));
        let sheet = serde_json::to_value(&sheet).unwrap();
        assert_eq!(sheet["timeline"]["events"].as_array().map(Vec::len), Some(1));
        assert_eq!((&sheet["case"], &sheet["word"]), (&ID.into(), &"bound".into()));
        assert!(cell(1).history(folder.path()).unwrap_err().starts_with("nowhere.jsonl: "));
    }
}
