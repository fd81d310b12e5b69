//! The only place that prints: data to standard output, talk to standard error. On a terminal the talk is one line that
//! moves; elsewhere (CI) it is plain lines.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use conformance_cluster::components::Progress;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_report::CaseResult;
use conformance_run::runner::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Prints data.
pub(crate) fn data(text: &str) {
    println!("{}", text.trim_end());
}

/// Prints talk.
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// Builds and cases as they go.
pub(crate) struct Talk {
    /// How many lines of a failure's reason are shown.
    reason_lines: usize,
    bar: ProgressBar,
    terminal: bool,
    total: AtomicUsize,
    done: AtomicUsize,
    building: Mutex<Option<(Instant, usize)>>,
}

impl Default for Talk {
    fn default() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self {
            reason_lines: usize::MAX,
            bar,
            terminal,
            total: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            building: Mutex::new(None),
        }
    }
}

impl Talk {
    /// For runs in which failures are what is expected: a line each.
    pub(crate) fn brief() -> Self {
        Self { reason_lines: 1, ..Self::default() }
    }

    /// Says a line that stays.
    pub(crate) fn line(&self, text: &str) {
        if self.terminal { self.bar.println(text) } else { say(text) }
    }

    /// Says what goes on; on a terminal it is overwritten by what comes next.
    pub(crate) fn now(&self, text: &str) {
        if self.terminal { self.bar.set_message(text.to_owned()) } else { say(text) }
    }

    /// How many cases there will be.
    pub(crate) fn expect(&self, cases: usize) {
        self.total.store(cases, Ordering::Relaxed);
    }

    /// Ends the moving line.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Talk {
    fn building(&self, name: &str, version: &str) {
        *self.building.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), 0));
        self.now(&format!("building {name} {version} (once; cached afterwards)"));
    }

    fn compiled(&self, name: &str, version: &str, packages: usize) {
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((begin, last)) = building.as_mut() else { return };
        // In a log every hundredth package is enough.
        if self.terminal || packages >= *last + 100 {
            *last = packages;
            let seconds = begin.elapsed().as_secs();
            self.now(&format!("building {name} {version}: {packages} packages, {seconds} s"));
        }
    }

    fn built(&self, name: &str, version: &str, seconds: f64) {
        self.line(&format!("built {name} {version} in {seconds:.0} s"));
    }

    fn waiting(&self, name: &str) {
        self.now(&format!("waiting for another process that builds {name}"));
    }
}

impl Observer for Talk {
    fn ended(&self, target: Target, result: &CaseResult) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let total = self.total.load(Ordering::Relaxed);
        let seconds = Duration::from(result.duration_seconds).as_secs_f64();
        let line = format!(
            "[{done}/{total}] {:<15} {:<40} {target} {seconds:.1} s",
            result.outcome.verdict, result.id
        );
        match result.outcome.verdict {
            Verdict::Pass | Verdict::Unsupported | Verdict::KnownDeviation => self.now(&line),
            Verdict::Fail | Verdict::Flaky | Verdict::Error | Verdict::NotRun => {
                self.line(&line);
                let reason = result.outcome.reason.as_deref().unwrap_or_default();
                // One broken cluster breaks many cases; the report has the whole reason of each.
                let shown = if result.outcome.verdict == Verdict::Error { 1 } else { self.reason_lines };
                self.line(&indented(reason, shown));
            }
        }
    }
}

fn indented(text: &str, lines: usize) -> String {
    text.lines().take(lines).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
