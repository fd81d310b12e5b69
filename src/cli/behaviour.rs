//! `dev behaviour`: publishes the answers of `observe`: a folder per scheduler and version, and one page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use conformance_history::History;
use conformance_observe::{
    Answered, Behaviour, Cell, Evidence, LIMIT, NoAnswer, Observation, Outcome, Question, by_scheduler,
    excerpt, folder_name, page, sort, version_changes,
};
use conformance_programs::components::digest;
use conformance_programs::home;
use conformance_report::Exit;

use crate::args::BehaviourArgs;
use crate::observe::write_history;
use crate::{Failure, output};

const DOCUMENT: &str = "behaviour.json";
const PAGE: &str = "behaviour.md";
const COLUMNS: &str = "behaviour";
/// Bytes of the files of all columns.
const MOST: u64 = 3_000_000;

pub(crate) fn publish(args: &BehaviourArgs) -> Result<Exit, Failure> {
    let columns = args.results.join(COLUMNS);
    let mut published = BTreeSet::new();
    for folder in &args.folders {
        for column in by_scheduler(&document(&folder.join(DOCUMENT))?) {
            let to = columns.join(folder_name(&column));
            if !column.cells().any(|(_, cell)| has_answer(cell)) {
                output::say(&format!("not published, because there is no answer: {}", to.display()));
                continue;
            }
            let is_first = published.insert(to.clone());
            publish_column(folder, column, &to, is_first)?;
        }
    }
    let all = read_columns(&args.results)?;
    if all.is_empty() {
        let place = columns.display();
        return Err(Failure::Usage(format!("{place} has no answers: pass the folder of a run of `observe`")));
    }
    home::write(&args.results.join(PAGE), page(&all))?;
    for change in version_changes(&all) {
        output::data(&change.to_string());
    }
    let problems = problems(&args.results)?;
    for problem in &problems {
        output::say(problem);
    }
    output::say(&format!("wrote {}", args.results.join(PAGE).display()));
    Ok(if problems.is_empty() { Exit::Conformant } else { Exit::NotConformant })
}

fn failed(path: &Path, reason: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {reason}", path.display()))
}

fn document(path: &Path) -> Result<Behaviour, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| failed(path, &error))?;
    Behaviour::read(&text).map_err(|error| failed(path, &error))
}

fn history(path: &Path) -> Result<History, Failure> {
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    History::read(BufReader::new(file), None).map_err(|error| failed(path, &error))
}

/// The histories are relative to `from`. The first folder replaces the answers, the others add to them.
fn publish_column(from: &Path, mut column: Behaviour, to: &Path, is_first: bool) -> Result<(), Failure> {
    let earlier = if is_first { Behaviour::default() } else { document(&to.join(DOCUMENT))? };
    if is_first && to.exists() {
        std::fs::remove_dir_all(to).map_err(|error| failed(to, &error))?;
    }
    let is_new = |question: &Question| earlier.questions.iter().all(|found| found.id != question.id);
    if !column.questions.iter().all(is_new) {
        let place = to.display();
        return Err(Failure::Usage(format!(
            "several folders have answers for the same question of {place}: pass only one"
        )));
    }
    for question in &mut column.questions {
        let observation = conformance_observe::observation(&question.id).ok_or_else(|| {
            failed(from, &format!("{} is not a question of this version of the suite", question.id))
        })?;
        for cell in &mut question.cells {
            cell.histories = publish_cell(from, observation, cell, to)?;
            if cell.outcome == Outcome::Varies {
                // The reason is about a lost round, not about the variation.
                cell.reason = None;
            }
        }
    }
    if !is_first {
        column.command = format!("{}`, `{}", earlier.command, column.command);
        column.rounds = column.rounds.min(earlier.rounds);
        column.questions.extend(earlier.questions);
        column.questions.sort_by(|a, b| a.id.cmp(&b.id));
    }
    let text = column.write().map_err(|error| Failure::Infrastructure(error.to_string()))?;
    Ok(home::write(&to.join(DOCUMENT), text)?)
}

fn publish_cell(
    from: &Path,
    observation: &Observation,
    cell: &Cell,
    to: &Path,
) -> Result<Vec<Evidence>, Failure> {
    let mut rounds: BTreeMap<String, u32> = BTreeMap::new();
    let mut excerpts: BTreeMap<String, Evidence> = BTreeMap::new();
    for evidence in &cell.histories {
        let path = from.join(&evidence.file);
        let whole = history(&path)?;
        if digest(&path)? != evidence.sha256 {
            return Err(failed(
                &path,
                &"the digest of the file differs from that in behaviour.json: observe again",
            ));
        }
        let word = word(&observation.answer(&whole));
        if !word.is_empty() {
            *rounds.entry(word.clone()).or_default() += 1;
        }
        if is_shown(cell, &word) && !excerpts.contains_key(&word) {
            let short = excerpt(observation, &whole).map_err(|reason| failed(&path, &reason))?;
            let file = file_name(observation.id(), cell.outcome, &word);
            let sha256 = write_history(&to.join(&file), &short)?;
            excerpts.insert(word, Evidence { file, sha256, excerpt_of: Some(evidence.sha256.clone()) });
        }
    }
    if rounds != cell.distribution {
        let id = observation.id();
        let reason = format!("the histories of {id} on {} give other answers: observe again", cell.backend);
        return Err(failed(from, &reason));
    }
    Ok(excerpts.into_values().collect())
}

fn has_answer(cell: &Cell) -> bool {
    matches!(cell.outcome, Outcome::Answered | Outcome::Varies)
}

fn word(answered: &Answered) -> String {
    answered.as_ref().map_or_else(|_| String::new(), |answer| answer.word.to_owned())
}

fn is_shown(cell: &Cell, word: &str) -> bool {
    match cell.outcome {
        Outcome::Answered => cell.answer.as_deref() == Some(word),
        Outcome::Varies => cell.distribution.contains_key(word),
        Outcome::NoAnswer => word.is_empty(),
        Outcome::DoesNotApply => false,
    }
}

/// Such as `bound-lost-pod-replaced.jsonl`. In a cell that varies, the answer follows the id.
fn file_name(id: &str, outcome: Outcome, word: &str) -> String {
    let id = id.replace('/', "-");
    match outcome {
        Outcome::Varies => format!("{id}-{word}.jsonl"),
        Outcome::Answered | Outcome::NoAnswer | Outcome::DoesNotApply => format!("{id}.jsonl"),
    }
}

/// Sorted; none if the folder does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        found.push(entry.map_err(|error| failed(folder, &error))?.path());
    }
    found.sort();
    Ok(found)
}

fn read_columns(results: &Path) -> Result<Vec<Behaviour>, Failure> {
    let mut columns = Vec::new();
    for folder in entries(&results.join(COLUMNS))? {
        columns.push(document(&folder.join(DOCUMENT))?);
    }
    sort(&mut columns);
    Ok(columns)
}

/// Lists the problems of a folder of results:
///
/// - a page that differs from the page generated from its documents
/// - an excerpt that is too large, or that leads to another answer
/// - a file that no document names
/// - more than 5 % of cells that vary, or such a cell without a cause
fn problems(results: &Path) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let columns = read_columns(results)?;
    let file = results.join(PAGE);
    let committed = std::fs::read_to_string(&file).ok();
    let generated = (!columns.is_empty()).then(|| page(&columns));
    if committed != generated {
        found.push(format!("{} differs from its documents: run `dev behaviour`", file.display()));
    }
    let (mut varying, mut answered) = (0, 0);
    let mut expected = BTreeSet::new();
    for column in &columns {
        let folder = results.join(COLUMNS).join(folder_name(column));
        expected.insert(folder.join(DOCUMENT));
        for (question, cell) in column.cells() {
            for evidence in &cell.histories {
                let path = folder.join(&evidence.file);
                if let Err(reason) = replay(&question.id, cell, evidence, &path) {
                    found.push(format!("{}: {reason}", path.display()));
                }
                expected.insert(path);
            }
            let excerpts = match cell.outcome {
                Outcome::Answered | Outcome::NoAnswer => 1,
                Outcome::Varies => cell.distribution.len(),
                Outcome::DoesNotApply => 0,
            };
            varying += usize::from(cell.outcome == Outcome::Varies);
            answered += usize::from(has_answer(cell));
            if cell.outcome == Outcome::Varies && cell.reason.is_none() {
                let place = folder.join(DOCUMENT);
                found.push(format!(
                    "{} varies: write the cause as `reason` of its cell in {}, and run `dev behaviour`",
                    question.id,
                    place.display()
                ));
            }
            // Without a history there is only a reason.
            let has_none = cell.outcome == Outcome::NoAnswer && cell.histories.is_empty();
            if cell.histories.len() != excerpts && !has_none {
                found.push(format!("{} on {}: an excerpt is missing", question.id, cell.backend));
            }
        }
    }
    if varying * 20 > answered {
        found.push(format!("{varying} of {answered} cells vary, want at most 5 %"));
    }
    let mut bytes = 0;
    for folder in entries(&results.join(COLUMNS))? {
        for path in entries(&folder)? {
            bytes += std::fs::metadata(&path).map_err(|error| failed(&path, &error))?.len();
            if !expected.contains(&path) {
                found.push(format!("{}: no document names this file", path.display()));
            }
        }
    }
    if bytes > MOST {
        found.push(format!("the published columns have {bytes} bytes, want at most {MOST}"));
    }
    Ok(found)
}

fn replay(id: &str, cell: &Cell, evidence: &Evidence, path: &Path) -> Result<(), NoAnswer> {
    let wrong = |reason: String| Err(NoAnswer::Because(reason));
    let observation = conformance_observe::observation(id);
    let observation = observation
        .ok_or_else(|| NoAnswer::Because(format!("{id} is not a question of this version of the suite")))?;
    let short = history(path).map_err(|failure| NoAnswer::Because(failure.to_string()))?;
    let bytes = std::fs::metadata(path).map_err(|error| NoAnswer::Because(error.to_string()))?.len();
    if bytes > LIMIT as u64 {
        return wrong(format!("the excerpt has {bytes} bytes, want at most {LIMIT}"));
    }
    let found = digest(path).map_err(|error| NoAnswer::Because(error.to_string()))?;
    if found != evidence.sha256 {
        return wrong(format!("the SHA-256 of the excerpt is {found}, want {}", evidence.sha256));
    }
    let word = word(&observation.answer(&short));
    if !is_shown(cell, &word) || evidence.file != file_name(id, cell.outcome, &word) {
        return wrong(format!("the excerpt gives the answer {word:?}, which the table does not show there"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "behaviour_tests.rs"]
mod tests;
