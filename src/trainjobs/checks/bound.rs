use std::collections::BTreeSet;

use conformance_check::binding::{
    BOUND_IN_PART, NOT_BOUND_WHOLE, WRONG_NUMBER_OF_WHOLE_GANGS, bindings, in_part,
};
use conformance_check::{Shown, all, ensure, none, placement, violation};
use conformance_contract::clauses::Feature;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_history::{History, Live, Pod, SharedMark, Version, list, text};
use serde_json::Value;

use super::gangs::is_pod_group;
use super::jobs::{is_of, train_job, units};
use crate::train_job::{JOB_SET, TrainUnit};

const SILENT_ABOUT_PENDING: Code = Code::new("silent-about-pending");

fn bound<'a>(live: &'a Live, unit: &'a TrainUnit) -> impl Iterator<Item = Pod<'a>> {
    live.pods().filter(move |pod| is_of(*pod, unit) && pod.node().is_some() && !pod.is_terminating())
}

pub(crate) fn whole(live: &Live, units: &[TrainUnit]) -> Ruling {
    none(units.iter().filter_map(|unit| {
        let bound = bound(live, unit).count();
        (bound != unit.pods()).then(|| {
            violation(
                NOT_BOUND_WHOLE,
                format!("{unit} is not fully bound: {bound} of {} pods are bound", unit.pods()),
            )
        })
    }))
}

/// No pod of the units was bound before `until` (`None`: the end). Every unit must have had pods.
pub(crate) fn never(history: &History, units: &[TrainUnit], until: Option<usize>) -> Ruling {
    let until = until.unwrap_or(history.entries.len());
    let mut violations = Vec::new();
    for unit in units {
        let is_of_unit = |version: &Version<'_>| version.index < until && is_of(version.pod(), unit);
        if !history.pods().any(|version| is_of_unit(&version)) {
            return Err(Broken::NotReached(format!("no pod of {unit} ever existed")));
        }
        let bound: Vec<_> = bindings(history).filter(is_of_unit).collect();
        violations.extend(in_part(unit, &bound));
    }
    none(violations)
}

/// A pod or the gang resource of the TrainJob reports why it is not bound, with a message (TRN-19).
pub(crate) fn reports_why_pending(history: &History, name: &str) -> Ruling {
    let expectations = schedulers::of(history.header.target);
    let has_message = |condition: &Value| !text(&condition["message"]).is_empty();
    let mut pods = history.pods().filter(|version| version.pod().label(JOB_SET) == Some(name));
    let is_reported_by_pod = pods.any(|version| {
        let condition = version.pod().condition("PodScheduled");
        condition.is_some_and(|found| {
            found["status"] == "False" && found["reason"] != "SchedulingGated" && has_message(found)
        })
    });
    let mut gangs = history.versions().filter(|version| is_pod_group(history, version.kind()));
    let is_reported = is_reported_by_pod
        || gangs.any(|version| {
            let status = &version.object["status"];
            let mut all = list(&status["conditions"]).iter().chain(list(&status["schedulingConditions"]));
            all.any(|condition| expectations.is_refusal(condition) && has_message(condition))
        });
    ensure(is_reported, || {
        let message =
            format!("no condition of a pod or gang resource reported why TrainJob {name} is not bound");
        violation(SILENT_ABOUT_PENDING, message)
    })
}

/// Exactly one of these TrainJobs is bound whole at the end (TRN-18).
pub(crate) fn one_is_whole(history: &History, names: &[&str]) -> Ruling {
    let units = units_of_each(history, names)?;
    let end = history.end();
    let whole_jobs = units.iter().filter(|units| whole(&end, units).is_ok()).count();
    ensure(whole_jobs == 1, || {
        let message = format!("{whole_jobs} of {} TrainJobs are fully bound, want 1", names.len());
        violation(WRONG_NUMBER_OF_WHOLE_GANGS, message)
    })
}

/// A TrainJob that is not bound whole at the end never had a bound pod (TRN-03).
pub(crate) fn whole_or_never(history: &History, names: &[&str]) -> Ruling {
    let units = units_of_each(history, names)?;
    let end = history.end();
    let lost = units.iter().filter(|units| whole(&end, units).is_err());
    all(lost.map(|units| never(history, units, None)))
}

fn units_of_each(history: &History, names: &[&str]) -> Result<Vec<Vec<TrainUnit>>, Broken> {
    names.iter().map(|name| units(history, name)).collect()
}

/// The replicated Jobs of a TrainJob that do not wait for another Job are bound whole (TRN-13).
pub(crate) fn first_stage_is_whole(history: &History, live: &Live, name: &str) -> Ruling {
    let train_job = train_job(history, name)?;
    let waits = train_job.jobs.iter().map(|job| job.waits);
    let units = train_job.units(false).into_iter().zip(waits);
    let first: Vec<TrainUnit> = units.filter(|(_, waits)| !waits).map(|(unit, _)| unit).collect();
    whole(live, &first)
}

/// After a scheduler pass, a unit that was never whole has no bound pod.
pub(crate) fn whole_or_nothing(history: &History) -> Ruling {
    let names = history.header.submitted.keys().filter(|name| !name.starts_with("runtime "));
    let is_atomic = history.header.target.declares(Feature::AtomicTrainJob);
    // TRN-13 covers TrainJobs with stages, because later stages may not exist yet.
    let units = names
        .filter_map(|name| train_job(history, name).ok())
        .flat_map(|train_job| train_job.units(is_atomic && !train_job.has_stages()));
    let units: Vec<_> = units.collect();
    let mut violations = Vec::new();
    for (passed, _) in history.marks(SharedMark::SchedulerPassed) {
        let live = history.before(passed);
        for unit in &units {
            let bound_now = bound(&live, unit).count();
            let ever_bound: BTreeSet<_> = bindings(history)
                .filter(|version| version.index < passed && is_of(version.pod(), unit))
                .map(|version| version.uid().to_owned())
                .collect();
            if bound_now > 0 && bound_now < unit.pods() && ever_bound.len() < unit.pods() {
                let message = format!(
                    "{bound_now} of {} pods of {unit} are bound after a full pass of the scheduler, want all \
                     or none",
                    unit.pods()
                );
                let shown = violation(BOUND_IN_PART, message);
                violations.extend(bound(&live, unit).next().map(|pod| shown.shown_by_object("bound", pod.0)));
            }
        }
    }
    none(violations)
}

/// All pods that were ever bound were bound in one domain of a level (TRN-05).
pub(crate) fn in_one_domain(history: &History, name: &str, key: &str) -> Ruling {
    placement::in_one_domain(history, key, name, |pod| pod.label(JOB_SET) == Some(name))
}

/// Each replicated Job was bound in one domain of a level. The Jobs may be in different domains (TRN-20).
pub(crate) fn each_job_in_one_domain(history: &History, name: &str, key: &str) -> Ruling {
    all(train_job(history, name)?
        .units(false)
        .iter()
        .map(|unit| placement::in_one_domain(history, key, &unit.to_string(), |pod| is_of(pod, unit))))
}

#[cfg(test)]
#[path = "bound_tests.rs"]
mod tests;
