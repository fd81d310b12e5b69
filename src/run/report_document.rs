use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use conformance_contract::clauses::{CLAUSES, Clause, Feature, VERSION};
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::Case;
use conformance_programs::{memory_in_use, processor_time};
use conformance_report::{
    API_VERSION, CaseResult, CriticalPath, CriticalStep, Features, Implementation, KIND, PeakMemory, Report,
    Seconds, Settings, Suite, TargetReport, Timings, UnsupportedFeature,
};
use jiff::Timestamp;

use crate::environment::Environment;
use crate::provenance::{components, own_digest, provider, scheduler_version};
use crate::run_plan::RunPlan;
use crate::verdict::{checked_clauses, is_expected};

pub(crate) const OWN_NAME: &str = "grove-conformance";

pub fn title(target: Target) -> String {
    empty(target).title()
}

fn empty(target: Target) -> TargetReport {
    let variant = target.scope().map(|scope| format!("{scope} scope"));
    TargetReport::new(target.name(), variant, "", Features::default())
}

/// Whether the case has passed in an earlier run, which judged every clause that the case checks on the target.
pub fn has_passed(run: &Report, case: &Case, target: Target) -> bool {
    let of_target = run.targets.iter().find(|found| found.title() == title(target));
    let result = of_target.and_then(|found| found.cases.iter().find(|result| result.id == case.id));
    let is_passed = |result: &CaseResult, clause: &str| {
        let mut of_clause = result.clauses.iter().filter(|judgement| judgement.clause == clause);
        of_clause.any(|judgement| is_expected(judgement.outcome.verdict))
    };
    result.is_some_and(|result| {
        let checked = checked_clauses(case, target);
        is_expected(result.outcome.verdict) && checked.iter().all(|clause| is_passed(result, clause))
    })
}

#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    pub begin: Instant,
    pub building: Duration,
}

pub async fn report(
    environment: &Environment,
    plan: &RunPlan,
    results: BTreeMap<Target, Vec<CaseResult>>,
    clock: RunClock,
    command: String,
) -> Report {
    let settings = &environment.settings;
    let provider = provider(environment).await;
    let shared = environment.shared();
    let kind = shared.as_ref().and_then(|test_cluster| test_cluster.kind().ok());
    let installed = kind.map_or(&[][..], |kind| kind.installed());
    let concluded = |(target, cases): (Target, Vec<CaseResult>)| {
        let version = scheduler_version(settings, target, &provider, installed);
        // A violated invariant is reported as a clause of its own, even if no case covers it.
        let is_checked =
            |id: &str| cases.iter().flat_map(|case| &case.clauses).any(|found| found.clause == id);
        let is_listed = |clause: &&Clause| {
            plan.clauses.iter().any(|listed| listed.id == clause.id) || is_checked(clause.id)
        };
        let clauses: Vec<_> =
            CLAUSES.iter().filter(is_listed).filter(|clause| target.is_subject_to(clause)).collect();
        let features = features(target, &cases);
        let scheduler_configuration =
            settings.spec.configurations.get(&target.scheduler()).map(ToString::to_string);
        TargetReport { version, scheduler_configuration, features, ..empty(target) }.conclude(clauses, cases)
    };
    let targets = results.into_iter().map(concluded).collect();
    let components = components(settings, installed);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let report = Report {
        api_version: API_VERSION.into(),
        kind: KIND.into(),
        date: Timestamp::now(),
        suite: Suite { version: version.clone(), contract: Some(VERSION.to_owned()), digest: own_digest() },
        command,
        incomplete: false,
        incomplete_reason: None,
        operator: settings.implementation.clone().unwrap_or_else(|| Implementation {
            name: "grove-backend-controller".into(),
            version,
            organization: Some("grove-conformance".into()),
            reference: true,
            ..Implementation::default()
        }),
        provider,
        other_providers: Vec::new(),
        components,
        settings: Settings {
            timeout_scale: settings.scale,
            concurrency: environment.at_once() as usize,
            strict: settings.strict,
            seed: Some(settings.thorough.seed),
        },
        targets,
        timings: Timings {
            build_seconds: Seconds::from(clock.building),
            cluster_ready_seconds: Seconds::from(environment.cluster_ready().unwrap_or_default()),
            total_seconds: Seconds::from(clock.begin.elapsed()),
            processor_seconds: processor_time::spent(OWN_NAME).into_iter().collect(),
            peak_memory: peak_memory(),
            critical_path: critical_path(environment, clock.begin),
        },
    };
    match environment.interruption().cause() {
        // A run that was interrupted after its last case is complete.
        Some(cause) if !report.interrupted().is_empty() => {
            report.incomplete(format!("interrupted ({cause})"))
        }
        _ => report,
    }
}

fn critical_path(environment: &Environment, begin: Instant) -> CriticalPath {
    let steps = environment.critical_path().into_iter().map(|stay| CriticalStep {
        case: stay.case.to_owned(),
        target: title(stay.target),
        start_seconds: stay.begin.saturating_duration_since(begin).into(),
        duration_seconds: stay.end.saturating_duration_since(stay.begin).into(),
    });
    CriticalPath(steps.collect())
}

fn peak_memory() -> PeakMemory {
    let peak = memory_in_use::peak();
    let mib = |bytes: u64| bytes >> 20;
    let programs = peak.programs.into_iter().map(|(program, bytes)| (program, mib(bytes)));
    PeakMemory { all: mib(peak.all), programs: programs.collect() }
}

fn features(target: Target, cases: &[CaseResult]) -> Features {
    let passed = |clause: &str| {
        let judgements = cases.iter().flat_map(|case| &case.clauses);
        judgements
            .filter(|judgement| judgement.clause == clause)
            .any(|judgement| judgement.outcome.verdict == Verdict::Pass)
    };
    let is_undeclared =
        |feature: &Feature| feature.applies_to(target.workload()) && !target.declares(*feature);
    let unsupported = Feature::ALL.into_iter().filter(is_undeclared);
    Features {
        supported: target.features().to_vec(),
        unsupported: unsupported
            .map(|name| UnsupportedFeature { name, reason: target.why_not(name).into() })
            .collect(),
        // Feature gates are not in the API (KUBE-17): list those whose clause has not passed.
        declared: target
            .gates()
            .iter()
            .filter(|(_, clause)| !passed(clause))
            .map(|(gate, _)| (*gate).into())
            .collect(),
        configuration: target
            .declaration()
            .map(|declared| declared.configuration.clone())
            .unwrap_or_default(),
        evidence: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::verdict::Outcome;
    use conformance_report::Judgement;
    use conformance_report::testing::report;

    use super::*;
    use crate::suites;

    const TARGET: Target = Target::KUBE_POD_GANG;

    fn case() -> &'static Case {
        suites::case("adm/enabled-backends").unwrap()
    }

    /// A run in which the case passed, except for this outcome of its last clause.
    fn run(last: Outcome, further: Option<Judgement>) -> Report {
        let judgement = |clause: &str| Judgement {
            clause: clause.into(),
            outcome: Outcome::pass(),
            violations: Vec::new(),
        };
        let mut judgements: Vec<_> = checked_clauses(case(), TARGET).into_iter().map(judgement).collect();
        assert!(judgements.len() > 1);
        judgements.last_mut().unwrap().outcome = last;
        judgements.extend(further);
        let cases = vec![CaseResult::new(case().id, case().title, judgements)];
        report(vec![TargetReport { cases, ..empty(TARGET) }])
    }

    #[rstest::rstest]
    #[case::passed(Outcome::pass(), true)]
    #[case::known_deviation(Outcome::of(Verdict::KnownDeviation, vec!["known".into()]), true)]
    #[case::failed(Outcome::fail("violated"), false)]
    #[case::not_asked(Outcome::not_run_announced("there is no second backend"), false)]
    fn a_case_has_passed_if_each_of_its_clauses_has(#[case] last: Outcome, #[case] passed: bool) {
        assert_eq!(has_passed(&run(last, None), case(), TARGET), passed);
    }

    #[test]
    fn a_case_that_the_run_lacks_or_that_violates_an_invariant_has_not_passed() {
        let passed = run(Outcome::pass(), None);
        assert!(!has_passed(&passed, case(), Target::KUBE_POD_GROUP));
        assert!(!has_passed(&passed, suites::case("adm/one-backend").unwrap(), TARGET));
        let outcome = Outcome::fail("the pod has another template");
        let invariant = Judgement { clause: "GANG-16".into(), outcome, violations: Vec::new() };
        assert!(!has_passed(&run(Outcome::pass(), Some(invariant)), case(), TARGET));
    }
}
