//! The only place that prints: data to standard output, talk to standard error. On a terminal the talk is one line that
//! moves; elsewhere (CI) it is plain lines. A reader that has gone (`| head`, a terminal that was closed) wants no more:
//! that is no reason to end.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use conformance_cluster::components::Progress;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_report::{CaseResult, StoreError};
use conformance_run::runner::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Prints data.
pub(crate) fn data(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}

/// Prints talk.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Builds and cases as they go.
pub(crate) struct Console {
    /// How many lines of a failure's reason are shown.
    reason_lines: usize,
    bar: ProgressBar,
    terminal: bool,
    total: AtomicUsize,
    done: AtomicUsize,
    building: Mutex<Building>,
}

/// How far the builds are.
#[derive(Default)]
struct Building {
    /// The names of all programs that are to be built, in order.
    planned: Vec<&'static str>,
    /// Since when the one that is being built is, and how many of its packages were told of.
    now: Option<(Instant, usize)>,
}

impl Building {
    /// Which of them one is, and what comes after it, such as `2 of 4, then kube-scheduler, kwok`.
    fn place(&self, name: &str) -> String {
        match self.planned.iter().position(|planned| *planned == name) {
            None => "once; cached afterwards".into(),
            Some(place) => {
                let (number, all, left) =
                    (place + 1, self.planned.len(), self.planned[place + 1..].join(", "));
                let then = if left.is_empty() { left } else { format!(", then {left}") };
                format!("{number} of {all}{then}")
            }
        }
    }
}

impl Default for Console {
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
            building: Mutex::default(),
        }
    }
}

impl Console {
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

impl Progress for Console {
    fn planned(&self, names: &[&'static str]) {
        if !names.is_empty() {
            self.line(&format!("to be built from source, once; cached afterwards: {}", names.join(", ")));
        }
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        *building = Building { planned: names.to_vec(), now: None };
    }

    fn building(&self, name: &str, version: &str) {
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        building.now = Some((Instant::now(), 0));
        self.now(&format!("building {name} {version} ({})", building.place(name)));
    }

    fn compiled(&self, name: &str, version: &str, packages: usize) {
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let place = building.place(name);
        let Some((begin, last)) = building.now.as_mut() else { return };
        // In a log every hundredth package is enough.
        if self.terminal || packages >= *last + 100 {
            *last = packages;
            let seconds = begin.elapsed().as_secs();
            self.now(&format!("building {name} {version}: {packages} packages, {seconds} s ({place})"));
        }
    }

    fn built(&self, name: &str, version: &str, seconds: f64) {
        self.line(&format!("built {name} {version} in {seconds:.0} s"));
    }

    fn waiting(&self, name: &str) {
        self.now(&format!("waiting for another process that builds {name}"));
    }
}

impl Observer for Console {
    fn unwritten(&self, error: &StoreError) {
        self.line(&format!("results cannot be kept for the case that this run is killed: {error}"));
    }

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
                let reason = result.outcome.reason().unwrap_or_default();
                // One broken cluster breaks many cases; the report has the whole reason of each.
                let shown = if result.outcome.verdict == Verdict::Error { 1 } else { self.reason_lines };
                self.line(&indented(&reason, shown));
            }
        }
    }
}

fn indented(text: &str, lines: usize) -> String {
    text.lines().take(lines).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_says_what_is_left() {
        let building = Building { planned: vec!["etcd", "kube-apiserver", "kwok"], now: None };
        let places = ["etcd", "kube-apiserver", "kwok", "helm"].map(|name| building.place(name));
        insta::assert_debug_snapshot!(places, @r#"
        [
            "1 of 3, then kube-apiserver, kwok",
            "2 of 3, then kwok",
            "3 of 3",
            "once; cached afterwards",
        ]
        "#);
    }
}
