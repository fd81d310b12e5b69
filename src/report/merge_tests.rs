use std::path::Path;
use std::time::Duration;

use conformance_contract::clauses::{Clause, Environment, Feature};

use super::*;
use crate::verify::verify;
use crate::{Exit, Judgement, PeakMemory, Shard, fixture, junit, markdown, terminal};

fn source(file: &str, report: Report) -> MergeInput {
    let folder = Path::new(file).parent().map(Path::to_owned).unwrap_or_default();
    MergeInput { file: file.into(), folder, report }
}

fn shard_report(report: &Report, shard: &str) -> MergeInput {
    let shard: Shard = shard.parse().unwrap();
    let whole = source("", report.clone());
    let mut report = report.clone();
    for target in &mut report.targets {
        let original = target.clone();
        let part = TargetPart { source: &whole, target: &original };
        let left_out = |case: &CaseResult| {
            let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
            CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &shard.elsewhere())
        };
        let cases = original.cases.iter().enumerate().map(|(index, case)| match shard.contains(index) {
            true => part.taken(case),
            false => left_out(case),
        });
        let cases = cases.collect();
        let without = |clause: &ClauseResult| ClauseResult { violations: Vec::new(), ..clause.clone() };
        let promised = original.clauses.iter().map(without).collect();
        *target = original.clone().conclude_clauses(promised, cases);
    }
    let file = format!("shard-{}/report.yaml", shard.to_string().replace('/', "-of-"));
    MergeInput { folder: PathBuf::new(), ..source(&file, report) }
}

fn halves(report: &Report) -> [MergeInput; 2] {
    ["1/2", "2/2"].map(|shard| shard_report(report, shard))
}

fn merged(sources: &[MergeInput]) -> Report {
    merge(sources, "grove-conformance report merge".to_owned()).unwrap()
}

fn refused(sources: &[MergeInput]) -> String {
    merge(sources, String::new()).unwrap_err().to_string()
}

#[rstest::rstest]
#[case::every_verdict(fixture::report())]
#[case::all_backends(fixture::all_backends())]
fn merged_shards_equal_the_whole_run(#[case] whole: Report) {
    for count in 1..=4 {
        let shards: Vec<_> =
            (1..=count).map(|number| shard_report(&whole, &format!("{number}/{count}"))).collect();
        let merged = merged(&shards);
        assert_eq!(merged.targets, whole.targets, "{count} shards");
        assert_eq!(verify(&merged), Ok(()));
        assert_eq!(merged.exit(), whole.exit());
        let timed = Report { timings: whole.timings.clone(), ..merged };
        assert_eq!(terminal(&timed), terminal(&whole), "{count} shards");
    }
}

#[test]
fn a_shard_announces_the_cases_of_other_shards() {
    let half = &halves(&fixture::report())[0].report;
    assert_eq!(verify(half), Ok(()));
    let short = half.targets[0].clauses.iter().find(|clause| clause.id == "AON-02").unwrap();
    assert_eq!(short.outcome, Outcome::not_run_announced("shard 1/2 does not hold it"));
    assert!(short.violations.is_empty());
}

#[test]
fn targets_of_different_backends_are_merged_side_by_side() {
    let whole = fixture::all_backends();
    let of = |targets: &[TargetReport]| Report { targets: targets.to_vec(), ..whole.clone() };
    let (one, other) = whole.targets.split_at(2);
    let merged = merged(&[source("kube/report.yaml", of(one)), source("rest/report.json", of(other))]);
    let titles = |report: &Report| report.targets.iter().map(TargetReport::title).collect::<Vec<_>>();
    assert_eq!(titles(&merged), titles(&whole));
    assert_eq!(merged.exit(), Exit::NotConformant, "kube-scheduler's targets fail");
}

#[test]
fn a_reason_takes_precedence_over_a_case_that_was_not_selected() {
    let mut halves = halves(&fixture::report());
    let announced = Outcome::not_run_announced("not selected by --group AON");
    halves.reverse();
    let merged = merged(&halves);
    let clause = merged.targets[0].clauses.iter().find(|clause| clause.id == "DEL-06").unwrap();
    assert_eq!(clause.outcome, announced);
}

#[test]
fn a_case_that_ran_twice_is_refused() {
    let whole = fixture::report();
    let twice = [source("a/report.yaml", whole.clone()), shard_report(&whole, "2/2")];
    let error = refused(&twice);
    assert!(error.starts_with("a/report.yaml and shard-2-of-2/report.yaml both ran "), "{error}");
    assert!(error.contains(" on default-scheduler (PodGroup scope) with the same provider"), "{error}");
}

#[rstest::rstest]
#[case::suite(|report: &mut Report| report.suite.version = "9.9.9".to_owned(), "version of the suite")]
#[case::operator(
    |report: &mut Report| report.operator.version = "0.2.0".to_owned(),
    r#"operator: "grove-backend-controller 0.1.0" and "grove-backend-controller 0.2.0""#
)]
#[case::kubernetes(
    |report: &mut Report| report.provider.kubernetes_version = "v1.37.0".to_owned(),
    r#"Kubernetes: "v1.36.4" and "v1.37.0""#
)]
#[case::gates(
    |report: &mut Report| _ = report.provider.feature_gates.insert("GangScheduling".to_owned(), false),
    "feature gates"
)]
#[case::program(
    |report: &mut Report| report.components[1].digest = format!("sha256:{}", "c3".repeat(32)),
    "program kube-scheduler"
)]
#[case::scheduler(
    |report: &mut Report| report.targets[0].version = "v1.36.5".to_owned(),
    r#"scheduler of default-scheduler (PodGroup scope): "v1.36.4" and "v1.36.5""#
)]
#[case::features(
    |report: &mut Report| {
        report.targets[1].features.supported.push(Feature::SelfHealing);
        report.targets[1].features.evidence = report.targets[1].evidence();
    },
    r#"features of default-scheduler (PodGang scope): "GangScheduling,AtomicPodGang" and "GangScheduling,AtomicPodGang,SelfHealing""#
)]
fn documents_that_differ_in_a_common_property_are_refused(
    #[case] edit: fn(&mut Report),
    #[case] message: &str,
) {
    let [one, mut other] = halves(&fixture::report());
    edit(&mut other.report);
    let error = refused(&[one, other]);
    let files = "shard-1-of-2/report.yaml and shard-2-of-2/report.yaml are not about the same ";
    assert!(error.starts_with(files) && error.contains(message), "{error}");
}

#[test]
fn a_merge_without_documents_is_refused() {
    assert_eq!(refused(&[]), "no report is given: pass at least one");
}

#[test]
fn a_gate_that_one_document_proves_is_not_listed_as_declared() {
    let [one, mut other] = halves(&fixture::report());
    assert_eq!(one.report.targets[0].features.declared, ["scheduler gate GangScheduling"]);
    other.report.targets[0].features.declared.clear();
    assert!(merged(&[one, other]).targets[0].features.declared.is_empty());
}

#[test]
fn times_are_summed_and_settings_take_the_maximum() {
    let [one, mut other] = halves(&fixture::report());
    let seconds = |millis| Seconds::from(Duration::from_millis(millis));
    let spent = |programs: &[(&'static str, u64)]| {
        programs.iter().map(|(program, millis)| (*program, Duration::from_millis(*millis))).collect()
    };
    other.report.timings = Timings {
        build_seconds: seconds(1),
        cluster_ready_seconds: seconds(5_000),
        total_seconds: seconds(1_000),
        processor_seconds: spent(&[("etcd", 800), ("kwok", 100)]),
        peak_memory: PeakMemory::default(),
        critical_path: CriticalPath::default(),
    };
    other.report.settings = Settings { timeout_scale: 1.0, concurrency: 10, strict: false, seed: Some(2) };
    other.report.date = "2026-12-02T00:00:00Z".parse().unwrap();
    other.report.components[1].name = "vc-scheduler".to_owned();
    let (latest, sources) = (other.report.date, [one, other]);
    let merged = merged(&sources);
    let timings = Timings {
        build_seconds: seconds(13),
        cluster_ready_seconds: seconds(5_000),
        total_seconds: seconds(42_250),
        processor_seconds: spent(&[("etcd", 4_000), ("kube-apiserver", 28_900), ("kwok", 100)]),
        peak_memory: fixture::report().timings.peak_memory,
        critical_path: CriticalPath::default(),
    };
    assert_eq!(merged.timings, timings);
    assert_eq!(merged.settings, Settings { timeout_scale: 1.5, concurrency: 10, strict: false, seed: None });
    assert_eq!(merged.date, latest);
    let programs: Vec<_> = merged.components.iter().map(|component| component.name.as_str()).collect();
    assert_eq!(programs, ["kube-apiserver", "kube-scheduler", "vc-scheduler"]);
    assert_eq!(merged.command, "grove-conformance report merge");
}

#[test]
fn artifact_paths_are_relative_to_the_merged_report() {
    let whole = fixture::report();
    let merged = merged(&[MergeInput { folder: "../shard-1".into(), ..source("report.yaml", whole) }]);
    let clause = merged.targets[0].clauses.iter().find(|clause| clause.id == "AON-02").unwrap();
    let folder = "../shard-1/cases/default-scheduler-podgroup-scope/aon/one-pod-short";
    assert_eq!(clause.artifacts.as_deref(), Some(folder));
    assert_eq!(verify(&merged), Ok(()));
}

fn run(provider: &str, ran: &[Environment]) -> MergeInput {
    let supported = vec![Feature::GangScheduling, Feature::Kubelet];
    let is_listed =
        |clause: &&Clause| ["AON-", "KLT-", "MIG-"].iter().any(|group| clause.id.starts_with(group));
    let listed: Vec<&Clause> = CLAUSES.iter().filter(is_listed).collect();
    let cases = [Environment::Any, Environment::ControlPlane, Environment::Kubelet, Environment::Upgrade];
    let cases = cases.map(|environment| {
        let is_owed = |clause: &&&Clause| clause.feature.is_none_or(|feature| supported.contains(&feature));
        let clauses = listed.iter().filter(is_owed).filter(|clause| clause.environment == environment);
        let id = format!("every/{environment:?}").to_lowercase();
        if !ran.contains(&environment) {
            let lacks = Outcome::not_run_announced("not with this provider");
            return CaseResult::without_running(id, "", clauses.map(|clause| clause.id), &lacks);
        }
        let judgement = |clause: &&Clause| Judgement {
            clause: clause.id.to_owned(),
            outcome: Outcome::pass(),
            violations: Vec::new(),
        };
        CaseResult::new(id, "", clauses.map(judgement).collect())
    });
    let features = Features { supported, ..Features::default() };
    let target = TargetReport::new("volcano", None, "v1.15.1", features).conclude(listed, cases.into());
    let mut report = crate::testing::report(vec![target]);
    provider.clone_into(&mut report.provider.name);
    source(&format!("{provider}/report.yaml"), report)
}

fn local() -> MergeInput {
    let mut local = run("local", &[Environment::Any, Environment::ControlPlane]);
    local.report.components = fixture::report().components;
    local
}

fn kind() -> MergeInput {
    let mut kind = run("kind", &[Environment::Any, Environment::Kubelet]);
    kind.report.components = fixture::report().components;
    kind.report.components[0].digest = format!("sha256:{}", "d4".repeat(32));
    kind.report.provider.kubernetes_version = "v1.36.1".to_owned();
    kind
}

/// A run with an upgrade, which has the older operator in addition to the newer one.
fn upgrade() -> MergeInput {
    let mut upgrade = run("local", &[Environment::Upgrade]);
    upgrade.file = "upgrade/report.yaml".into();
    upgrade.report.components = fixture::report().components;
    let older =
        Component { digest: format!("sha256:{}", "e5".repeat(32)), ..upgrade.report.components[0].clone() };
    upgrade.report.components.push(older);
    upgrade
}

fn headline(report: &Report) -> String {
    report.targets[0].headline(&report.providers()).to_string()
}

#[test]
fn runs_with_several_providers_are_conformant_together() {
    for (input, alone) in [
        (local(), "conformant on local (not judged here: kubelet, upgrade)"),
        (kind(), "conformant on kind (not judged here: control plane, upgrade)"),
    ] {
        assert_eq!(headline(&input.report), alone);
    }
    let both = merged(&[local(), kind()]);
    assert_eq!(headline(&both), "conformant on kind and local (not judged here: upgrade)");
    let all = merged(&[local(), kind(), upgrade()]);
    let in_two_steps = merged(&[source("both/report.yaml", both), upgrade()]);
    assert_eq!(all.targets, in_two_steps.targets);
    assert_eq!((verify(&all), headline(&all).as_str()), (Ok(()), "conformant"));
    let labels: Vec<_> = all.targets[0].cases.iter().map(CaseResult::label).collect();
    let wanted = [
        "every/any on local",
        "every/any on kind",
        "every/controlplane on local",
        "every/kubelet on kind",
        "every/upgrade on local",
    ];
    assert_eq!(labels, wanted, "a case that ran with one provider is listed once");
    assert_eq!(all.provider_names(), ["kind", "local"]);
    assert_eq!(all.components.len(), 4, "two builds of the API server, and the older release");
}

#[test]
fn a_failure_with_one_provider_fails_and_names_the_provider() {
    let mut kind = kind();
    let target = kind.report.targets.remove(0);
    let mut cases: Vec<CaseResult> = target.cases.iter().map(|case| target.with_violations(case)).collect();
    let message = "2 of 5 pods were bound";
    for judgement in cases[0].clauses.iter_mut().filter(|judgement| judgement.clause == "AON-02") {
        judgement.outcome = Outcome::fail(message);
        judgement.violations = vec![fixture::violation(message)];
    }
    cases[0].outcome = CaseResult::outcome_of(&cases[0].clauses);
    kind.report.targets.push(target.reconclude(cases));
    let merged = merged(&[local(), kind]);
    assert_eq!(verify(&merged), Ok(()));
    let clause = merged.targets[0].clauses.iter().find(|clause| clause.id == "AON-02").unwrap();
    assert_eq!(clause.outcome, Outcome::fail(message));
    assert_eq!(clause.cases, ["every/any on local", "every/any on kind"]);
    let [violation] = clause.violations.as_slice() else { panic!("{:?}", clause.violations) };
    let (case, code) = (violation.case.as_str(), violation.code.as_str());
    assert_eq!((case, code), ("every/any on kind", "AON-02/bound-in-part"));
    let found = format!("every/any on kind: {message}");
    assert!(terminal(&merged).contains(&found));
    assert!(markdown(&merged).contains(&found.replacen("every/any on kind", "`every/any on kind`", 1)));
    assert!(junit(&merged).unwrap().contains("name=\"every/any on kind\""));
}

#[test]
fn two_runs_of_a_case_with_one_provider_are_refused() {
    let error = refused(&[local(), kind(), local()]);
    let wanted = "local/report.yaml and local/report.yaml both ran every/any on volcano with the same provider, so \
                  their verdicts may differ: merge only one of them";
    assert_eq!(error, wanted);
}

#[test]
fn another_run_completes_an_interrupted_one() {
    let (whole, interrupted) = (fixture::report(), fixture::interrupted());
    // The second run selects only the case that the first run did not finish.
    let mut rest = shard_report(&whole, "1/1");
    rest.file = "rest/report.yaml".into();
    let mut targets = Vec::new();
    for target in &rest.report.targets {
        let left_out = |case: &CaseResult| {
            let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
            CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &crate::not_selected())
        };
        let is_first = target.title() == whole.targets[0].title();
        let cases = target.cases.iter().map(|case| match is_first && case.id == "aon/fits" {
            true => target.with_violations(case),
            false => left_out(case),
        });
        targets.push(target.clone().reconclude(cases.collect()));
    }
    rest.report.targets = targets;
    let merged = merged(&[source("", interrupted.clone()), rest]);
    assert_eq!(merged.targets, whole.targets);
    assert_eq!((merged.incomplete, verify(&merged)), (false, Ok(())));
    let alone = self::merged(&[source("cut/report.yaml", interrupted)]);
    assert_eq!(alone.incomplete_reason.as_deref(), Some("cut/report.yaml: interrupted (SIGINT)"));
}
