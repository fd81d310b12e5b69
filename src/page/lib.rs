//! The page: renders a report and its histories as `report.html`, one file that a browser opens from disk.
//!
//! The templates ([`view`]) render everything that is readable without scripts. Each case has a compressed
//! ([`pack`]) [`sheet`] with its history as a [`timeline`], which `assets/page.js` draws when the case is
//! opened. The page loads nothing: its policy allows only its own style and script, by their digests. The
//! page decides no verdict. [`answered()`] renders the answers of `observe` with the same sheets.

mod answered;
mod chart;
mod compared;
mod pack;
mod policy;
mod sheet;
mod tabled;
mod timeline;
mod view;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use conformance_history::History;
use conformance_report::{CaseResult, Report, TargetReport};

pub use answered::{AnsweredQuestion, Answers, ShownAnswer, answered};
pub use compared::compared;
pub use tabled::tabled;

use sheet::Sheet;
use timeline::{Readable, Timeline};

pub const PAGE: &str = "report.html";

/// Longest history that gets a timeline, in bytes. Rendering a longer one takes gigabytes of memory.
const LONGEST: u64 = 64 << 20;
/// Maximum length of a page, in bytes: just below 5 MB.
const LONGEST_PAGE: usize = 4_990_000;

#[derive(Debug)]
pub struct Unrendered(askama::Error);

impl std::fmt::Display for Unrendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot render the page: {}", self.0)
    }
}

impl std::error::Error for Unrendered {}

pub fn page(report: &Report, folder: &Path) -> Result<String, Unrendered> {
    let cases: Vec<(usize, &TargetReport, &CaseResult)> = report
        .targets
        .iter()
        .enumerate()
        .flat_map(|(number, target)| target.cases.iter().map(move |case| (number, target, case)))
        .collect();
    let packed = in_parallel(&cases, |(_, target, case)| packed(target, case, folder));
    let whole = view::render(report, &cases, packed.clone()).map_err(Unrendered)?;
    if whole.len() <= LONGEST_PAGE {
        return Ok(whole);
    }
    let limit = LONGEST_PAGE.saturating_sub(whole.len() - pack::length(&packed));
    let without = |index: usize| sheet::without_timeline(cases[index].1, cases[index].2);
    view::render(report, &cases, pack::limited(packed, limit, without)).map_err(Unrendered)
}

fn packed(target: &TargetReport, case: &CaseResult, folder: &Path) -> pack::Packed {
    let violations = sheet::violations(target, case);
    let (history, missing) = match read(case, folder) {
        Ok(history) => (Some(Readable::from(history)), None),
        Err(missing) => (None, Some(missing)),
    };
    let timeline = history.as_ref().map(|history| Timeline::of(history, &violations));
    let begin =
        timeline.as_ref().filter(|timeline| !timeline.events.is_empty()).map(|timeline| timeline.begin);
    let is_failure = conformance_report::matrix::affects_exit_code(&case.outcome);
    pack::Packed::of(&Sheet::of(target, case, &violations, timeline, missing), begin, is_failure)
}

fn read(case: &CaseResult, folder: &Path) -> Result<History, String> {
    let Some(artifacts) = &case.artifacts else {
        return Err(match case.attempts {
            0 => "the case was not run".to_owned(),
            _ => "the report names no artifacts of this case".to_owned(),
        });
    };
    open(folder, &format!("{artifacts}/history.jsonl"), &case.id)
}

fn open(folder: &Path, name: &str, case: &str) -> Result<History, String> {
    let file = File::open(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
    let length = file.metadata().map_err(|error| format!("{name}: {error}"))?.len();
    if length > LONGEST {
        return Err(format!("{name} is too long for a timeline: {} MB", length / 1_000_000));
    }
    let history = History::read(BufReader::new(file), None).map_err(|error| format!("{name}: {error}"))?;
    match history.header.case == case {
        true => Ok(history),
        false => Err(format!("{name} is the history of another case, {}", history.header.case)),
    }
}

/// Applies `act` to each item on all processors and keeps the order.
fn in_parallel<T: Sync, R: Send>(list: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            match list.get(index) {
                Some(one) => done.push((index, act(one))),
                None => return done,
            }
        }
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn parallel_results_are_in_the_order_of_the_items() {
        let list: Vec<usize> = (0..100).collect();
        assert_eq!(
            in_parallel(&list, |number| number * 2),
            list.iter().map(|number| number * 2).collect::<Vec<_>>()
        );
    }
}
