//! Does all printing: data to standard output, progress to standard error. On a terminal, progress is one
//! line that is updated; elsewhere it is plain lines. A closed output (`| head`) is not an error.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_programs::components::{PlannedBuild, Progress};
use conformance_report::{CaseResult, StoreError};
use conformance_run::runner::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;

use super::remaining;

pub(crate) fn data(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}

pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

pub(crate) struct Console {
    quiet: bool,
    /// Maximum number of lines of a failure's reason.
    reason_lines: usize,
    bar: ProgressBar,
    terminal: bool,
    cases: Mutex<Cases>,
    building: Mutex<Building>,
}

struct Cases {
    total: usize,
    done: usize,
    begin: Instant,
    left: remaining::Cases,
}

#[derive(Default)]
struct Building {
    left: remaining::Builds,
    /// The start of the build, and its number of packages when a line was last printed.
    now: Option<(Instant, usize)>,
}

impl Building {
    fn line(&self, name: &str, version: &str, packages: Option<usize>) -> String {
        let elapsed = self.now.map_or(Duration::ZERO, |(begin, _)| begin.elapsed());
        let progress = packages.map(|packages| format!(": {packages} packages, {} s", elapsed.as_secs()));
        let left = match self.left.left(name, elapsed) {
            Some(left) => remaining::describe(left),
            None => "once; cached afterwards".into(),
        };
        format!("building {}{}, {left}", self.left.title(name, version), progress.unwrap_or_default())
    }
}

impl Default for Console {
    fn default() -> Self {
        Self::on(std::io::stderr().is_terminal())
    }
}

impl Console {
    fn on(terminal: bool) -> Self {
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self {
            quiet: false,
            reason_lines: usize::MAX,
            bar,
            terminal,
            cases: Mutex::new(Cases {
                total: 0,
                done: 0,
                begin: Instant::now(),
                left: remaining::Cases::default(),
            }),
            building: Mutex::default(),
        }
    }

    pub(crate) fn quiet_if(quiet: bool) -> Self {
        if quiet { Self { quiet, ..Self::on(false) } } else { Self::default() }
    }

    /// For runs in which failures are expected.
    pub(crate) fn brief() -> Self {
        Self { reason_lines: 1, ..Self::default() }
    }

    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    pub(crate) fn line(&self, text: &str) {
        if self.terminal { self.bar.println(text) } else { say(text) }
    }

    /// Prints the current activity; on a terminal, the next message overwrites it.
    pub(crate) fn now(&self, text: &str) {
        match (self.quiet, self.terminal) {
            (true, _) => {}
            (false, true) => self.bar.set_message(text.to_owned()),
            (false, false) => say(text),
        }
    }

    /// `ids` contains a case once per target.
    pub(crate) fn expect<'a>(&self, ids: impl Iterator<Item = &'a str> + Clone) {
        let (total, left) = (ids.clone().count(), remaining::Cases::of(ids));
        *self.cases.lock() = Cases { total, done: 0, begin: Instant::now(), left };
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Console {
    fn planned(&self, builds: &[PlannedBuild]) {
        let names: Vec<_> = builds.iter().map(|build| &*build.names).collect();
        if !names.is_empty() {
            self.note(&format!("to be built from source, once; cached afterwards: {}", names.join(", ")));
        }
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let left = remaining::Builds::of(builds, processors);
        *self.building.lock() = Building { left, now: None };
    }

    fn building(&self, name: &str, version: &str) {
        let mut building = self.building.lock();
        building.now = Some((Instant::now(), 0));
        self.now(&building.line(name, version, None));
    }

    fn compiled(&self, name: &str, version: &str, packages: usize) {
        let mut building = self.building.lock();
        let Some((_, last)) = building.now.as_mut() else { return };
        // In a log, every hundredth package is enough.
        if self.terminal || packages >= *last + 100 {
            *last = packages;
            self.now(&building.line(name, version, Some(packages)));
        }
    }

    fn built(&self, name: &str, version: &str, seconds: f64) {
        self.building.lock().left.built(name, seconds);
        self.note(&format!("built {name} {version} in {seconds:.0} s"));
    }

    fn waiting(&self, name: &str) {
        self.now(&format!("waiting for another process that builds {name}"));
    }
}

impl Observer for Console {
    fn unwritten(&self, error: &StoreError) {
        self.line(&format!(
            "cannot write results.jsonl, so the results are lost if this run is killed: {error}"
        ));
    }

    fn ended(&self, target: Target, result: &CaseResult) {
        let mut cases = self.cases.lock();
        cases.done += 1;
        match result.outcome.verdict {
            Verdict::NotRun | Verdict::Unsupported => cases.left.left_out(&result.id),
            _ => cases.left.ended(&result.id),
        }
        let (done, total) = (cases.done, cases.total);
        let left = cases.left.left(cases.begin.elapsed());
        let left = left.map(|left| format!(", {}", remaining::describe(left))).unwrap_or_default();
        let seconds = Duration::from(result.duration_seconds).as_secs_f64();
        let line = format!(
            "[{done}/{total}] {:<15} {:<40} {target} {seconds:.1} s{left}",
            result.outcome.verdict, result.id
        );
        match result.outcome.verdict {
            Verdict::Pass | Verdict::Unsupported | Verdict::KnownDeviation => self.now(&line),
            Verdict::NotRun if self.quiet => {}
            Verdict::Fail | Verdict::Flaky | Verdict::Error | Verdict::NotRun => {
                self.line(&line);
                let reason = result.outcome.reason().unwrap_or_default();
                // A broken cluster fails many cases for one reason: print one line, the report has the rest.
                let shown = if result.outcome.verdict == Verdict::Error { 1 } else { self.reason_lines };
                self.line(&indented(&reason, shown));
            }
        }
    }
}

fn indented(text: &str, lines: usize) -> String {
    text.lines().take(lines).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
