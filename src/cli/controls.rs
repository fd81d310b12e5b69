//! `controls`: runs the suite on broken clusters and controllers, and says whether it saw what is broken.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::args::ControlsArgs;
use super::output::{self, Talk};
use super::{Failure, programs, run, run_id, select};
use crate::report::{self, Exit, Verdict};
use crate::suite::arena::{Arena, Origin, Settings};
use crate::suite::cases;
use crate::suite::clauses::CLAUSES;
use crate::suite::controls::{CONTROLS, Control};
use crate::suite::runner::{Clock, Plan};

/// Runs the named controls, or all.
///
/// # Errors
/// [`Failure::Usage`] for an unknown name; [`Failure::Infrastructure`] if a cluster does not come up.
pub async fn controls(args: &ControlsArgs) -> Result<Exit, Failure> {
    for name in &args.names {
        if !CONTROLS.iter().any(|control| control.name == name) {
            let all: Vec<_> = CONTROLS.iter().map(|control| control.name).collect();
            return Err(select::unknown("control", name, &all, ""));
        }
    }
    let chosen = CONTROLS
        .iter()
        .filter(|control| args.names.is_empty() || args.names.iter().any(|n| n == control.name));
    let mut exit = Exit::Conformant;
    for control in chosen {
        if !run_one(control, args).await? {
            exit = Exit::NotConformant;
        }
    }
    Ok(exit)
}

async fn run_one(control: &'static Control, args: &ControlsArgs) -> Result<bool, Failure> {
    let begin = Instant::now();
    let talk = Arc::new(Talk::brief());
    let spec = (control.spec)();
    let settings = Settings {
        run: run_id(),
        programs: programs(&args.cluster_args, &spec, &talk).await?,
        spec,
        origin: Origin::Local,
        implementation: None,
        scale: args.timeout_scale,
        concurrency: 16,
        retries: 0,
        out: args.report_dir.join(control.name),
        keep: false,
        reproduce: format!("grove-conformance controls {}", control.name),
    };
    let (chosen, left_out) = cases::all().partition(|case| control.runs(case));
    let clauses = CLAUSES.to_vec();
    let plan = Plan { targets: vec![control.target], chosen, left_out, share: None, clauses };
    let clock = Clock { begin, building: Duration::ZERO };
    let arena = Arc::new(Arena::new(settings));
    let report = run::hold(&arena, &plan, &talk, clock).await?;
    run::close(arena).await;
    talk.end();
    report::write_all(&args.report_dir.join(control.name), &report)
        .map_err(|e| Failure::Infrastructure(e.to_string()))?;
    let judged = |verdict| {
        let clauses = report.profiles.iter().flat_map(|profile| &profile.clauses);
        clauses.filter(|clause| clause.outcome.verdict == verdict).map(|clause| clause.id.clone()).collect()
    };
    let (red, kept): (_, Vec<String>) = (judged(Verdict::Fail), judged(Verdict::Pass));
    let clauses = report.profiles.iter().flat_map(|profile| &profile.clauses);
    let errors: Vec<_> = clauses
        .filter(|clause| clause.outcome.verdict == Verdict::Error)
        .map(|clause| (clause.id.clone(), clause.outcome.reason.clone().unwrap_or_default()))
        .collect();
    let outcome = control.judge(red, &kept, &errors);
    let mark = if outcome.is_sound() { "seen" } else { "WRONG" };
    output::data(&format!(
        "{mark:<6}{:<36}{} ({:.0} s)",
        control.name,
        control.title,
        begin.elapsed().as_secs_f64()
    ));
    output::data(&format!("      red: {}", outcome.red.join(" ")));
    for set in &outcome.missing {
        output::data(&format!("      should be red and is not: {}", set.join(" or ")));
    }
    if !outcome.proven.is_empty() {
        output::data(&format!("      kept, and cannot be: {}", outcome.proven.join(" ")));
    }
    if outcome.unexplained {
        output::data("      what is broken should have ended the scheduler, and has not");
    }
    if !outcome.unexpected.is_empty() {
        output::data(&format!("      red, and should not be: {}", outcome.unexpected.join(" ")));
    }
    Ok(outcome.is_sound())
}
