//! `controls`: runs the suite on broken clusters and controllers, and reports whether it detected the defect. The
//! controls of kubelets run with `--provider kind`, each in its own cluster, the others on local processes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_cases as cases;
use conformance_contract::clauses::CLAUSES;
use conformance_contract::verdict::Verdict;
use conformance_controls::{Control, ControlCluster};
use conformance_report as report;
use conformance_report::Exit;
use conformance_run::environment::{Environment, Origin, Settings};
use conformance_run::runner::{Clock, Plan};

use super::args::{ControlsArgs, ProviderName};
use super::output::{self, Console};
use super::provider::{self, KindWords};
use super::{Failure, given, programs, run, run_id, select};

/// Runs the named controls, or all of the provider's.
///
/// # Errors
/// [`Failure::Usage`] for an unknown name, and for one that is run elsewhere; [`Failure::Infrastructure`] if a cluster
/// does not come up.
pub(crate) async fn controls(args: &ControlsArgs) -> Result<Exit, Failure> {
    let place = place(args.provider)?;
    for name in &args.names {
        is_run_at(place, name)?;
    }
    let chosen = place
        .controls()
        .iter()
        .filter(|control| args.names.is_empty() || args.names.iter().any(|n| n == control.name));
    let mut exit = Exit::Conformant;
    for control in chosen {
        if !run_one(control, place, args).await? {
            exit = Exit::NotConformant;
        }
    }
    Ok(exit)
}

fn place(provider: ProviderName) -> Result<ControlCluster, Failure> {
    match provider {
        ProviderName::Local => Ok(ControlCluster::Local),
        ProviderName::Kind => Ok(ControlCluster::Kind),
        ProviderName::Existing => Err(Failure::Usage(
            "controls break clusters that they create themselves: pass --provider local or --provider kind"
                .into(),
        )),
    }
}

fn is_run_at(place: ControlCluster, name: &str) -> Result<(), Failure> {
    let found = ControlCluster::ALL.into_iter().find(|place| place.control(name).is_some());
    match found {
        Some(found) if found == place => Ok(()),
        Some(found) => Err(Failure::Usage(format!(
            "control {name} does not run with --provider {}: pass --provider {}",
            place.name(),
            found.name()
        ))),
        None => {
            let all = ControlCluster::ALL.into_iter().flat_map(ControlCluster::controls);
            let all: Vec<_> = all.map(|control| control.name).collect();
            Err(select::unknown("control", name, &all, ""))
        }
    }
}

async fn run_one(
    control: &'static Control,
    place: ControlCluster,
    args: &ControlsArgs,
) -> Result<bool, Failure> {
    let begin = Instant::now();
    let talk = Arc::new(Console::brief());
    given::no_sources(&args.cluster_args, "controls break the schedulers that are pinned")?;
    let spec = (control.spec)();
    // On kind containers really start, on two cores.
    let ((origin, programs), usual_scale, concurrency) = match place {
        ControlCluster::Local => {
            ((Origin::Local, programs(&args.cluster_args, &spec, &talk).await?), 1.0, 16)
        }
        ControlCluster::Kind => {
            (provider::kind(&args.cluster_args, KindWords::default(), &spec, &talk).await?, 2.0, 4)
        }
    };
    let settings = Settings {
        run: run_id(),
        programs,
        spec,
        origin,
        implementation: None,
        scale: args.timeout_scale.unwrap_or(usual_scale),
        concurrency,
        retries: 0,
        probe_undeclared: false,
        every_crash_point: false,
        out: args.report_dir.join(control.name),
        keep: false,
        reproduce: format!("grove-conformance controls --provider {} {}", place.name(), control.name),
    };
    let (chosen, left_out) = cases::all().partition(|case| control.runs(case));
    let clauses = CLAUSES.to_vec();
    let plan = Plan { targets: vec![control.target], chosen, left_out, share: None, clauses };
    let clock = Clock { begin, building: Duration::ZERO };
    let environment = Arc::new(Environment::new(settings));
    let report = run::execute(&environment, &plan, &talk, clock).await?;
    run::close(environment).await;
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
        .map(|clause| (clause.id.clone(), clause.outcome.reason().unwrap_or_default()))
        .collect();
    let outcome = control.judge(red, &kept, &errors);
    let mark = if outcome.is_sound() { "seen" } else { "WRONG" };
    output::data(&format!(
        "{mark:<6}{:<36}{} ({:.0} s)",
        control.name,
        control.title,
        begin.elapsed().as_secs_f64()
    ));
    output::data(&format!("      failed: {}", outcome.red.join(" ")));
    for set in &outcome.missing {
        output::data(&format!("      should have failed and did not: {}", set.join(" or ")));
    }
    if !outcome.proven.is_empty() {
        output::data(&format!("      reported as kept, which it cannot be: {}", outcome.proven.join(" ")));
    }
    if outcome.unexplained {
        output::data("      the defect should have crashed the scheduler, but did not");
    }
    if !outcome.unexpected.is_empty() {
        output::data(&format!("      failed unexpectedly: {}", outcome.unexpected.join(" ")));
    }
    Ok(outcome.is_sound())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fake_gpu_plugin as device_plugin;
    use grove_backend_controller::controller;

    #[test]
    fn every_fault_is_known_to_its_program() {
        for control in ControlCluster::ALL.into_iter().flat_map(ControlCluster::controls) {
            let spec = (control.spec)();
            for fault in &spec.controller.faults {
                assert!(fault.parse::<controller::Fault>().is_ok(), "{}: {fault}", control.name);
            }
            for fault in &spec.gpu_plugin_faults {
                assert!(fault.parse::<device_plugin::Fault>().is_ok(), "{}: {fault}", control.name);
            }
        }
    }

    #[test]
    fn a_control_is_run_at_its_own_place() {
        let said = |place, name| is_run_at(place, name).map_err(|failure| failure.to_string());
        assert_eq!(said(ControlCluster::Local, "restless"), Ok(()));
        assert_eq!(said(ControlCluster::Kind, "every-replica-leads"), Ok(()));
        let elsewhere =
            "control every-replica-leads does not run with --provider local: pass --provider kind";
        assert_eq!(said(ControlCluster::Local, "every-replica-leads"), Err(elsewhere.to_owned()));
        let unknown = said(ControlCluster::Local, "every-replica-lead").unwrap_err();
        assert!(unknown.contains("did you mean \"every-replica-leads\"?"), "{unknown}");
    }
}
