//! The page: `report.html`, one file that a browser opens from disk, made of a report and the histories beside it.
//!
//! What there is to read without scripts is HTML, by templates ([`view`]): verdict, findings, matrix, clauses, cases, and
//! where the run's time went ([`chart`]). What opens on a click is data: a [`sheet`] per case, with its history as a
//! [`timeline`], compressed ([`pack`]) and drawn by `assets/page.js` when it is wanted. The page loads nothing: its policy
//! allows its own style and script by their digests, and nothing else.
//!
//! `compared` and `tabled` are the pages of a comparison and of a table of several reports.
//!
//! Nothing is judged here, and a history that is missing or broken costs its case the timeline, not the page.

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

pub use compared::compared;
pub use tabled::tabled;

use sheet::Sheet;
use timeline::{Readable, Timeline};

/// The page's file in a report's folder.
pub const PAGE: &str = "report.html";

/// Of a history that is longer, in bytes, there is no timeline: nobody could read it, and to make it takes gigabytes.
const LONGEST: u64 = 64 << 20;
/// A page stays below 5 MB.
const LONGEST_PAGE: usize = 4_990_000;

/// A page that could not be made of its template.
#[derive(Debug)]
pub struct Unrendered(askama::Error);

impl std::fmt::Display for Unrendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot render the page: {}", self.0)
    }
}

impl std::error::Error for Unrendered {}

/// The page of a report whose artifacts are in a folder.
///
/// # Errors
/// [`Unrendered`].
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
    let without = |place: usize| sheet::without_timeline(cases[place].1, cases[place].2);
    view::render(report, &cases, pack::limited(packed, limit, without)).map_err(Unrendered)
}

/// A case's sheet, with its timeline where there is a history.
fn packed(target: &TargetReport, case: &CaseResult, folder: &Path) -> pack::Packed {
    let broken = sheet::broken(target, case);
    let (history, missing) = match read(case, folder) {
        Ok(history) => (Some(Readable::from(history)), None),
        Err(missing) => (None, Some(missing)),
    };
    let timeline = history.as_ref().map(|history| Timeline::of(history, &broken));
    let begin =
        timeline.as_ref().filter(|timeline| !timeline.events.is_empty()).map(|timeline| timeline.begin);
    let is_red = conformance_report::matrix::is_red(&case.outcome);
    pack::Packed::of(&Sheet::of(target, case, &broken, timeline, missing), begin, is_red)
}

/// The case's history, or why there is none.
fn read(case: &CaseResult, folder: &Path) -> Result<History, String> {
    let Some(artifacts) = &case.artifacts else {
        return Err(match case.attempts {
            0 => "the case was not run".to_owned(),
            _ => "the report names no artifacts of this case".to_owned(),
        });
    };
    let name = format!("{artifacts}/history.jsonl");
    let file = File::open(folder.join(&name)).map_err(|error| format!("{name}: {error}"))?;
    let length = file.metadata().map_err(|error| format!("{name}: {error}"))?.len();
    if length > LONGEST {
        return Err(format!("{name} is too long for a timeline: {} MB", length / 1_000_000));
    }
    let history = History::read(BufReader::new(file), None).map_err(|error| format!("{name}: {error}"))?;
    match history.header.case == case.id {
        true => Ok(history),
        false => Err(format!("{name} is the history of another case, {}", history.header.case)),
    }
}

/// Does the same to each, on every processor.
fn in_parallel<T: Sync, R: Send>(list: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            match list.get(place) {
                Some(one) => done.push((place, act(one))),
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
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn what_is_done_in_parallel_comes_in_order() {
        let list: Vec<usize> = (0..100).collect();
        assert_eq!(
            in_parallel(&list, |number| number * 2),
            list.iter().map(|number| number * 2).collect::<Vec<_>>()
        );
    }
}
