use std::path::Path;
use std::time::Duration;

use rstest::rstest;

use super::*;
use crate::{Exit, PeakMemory, Shard, fixture, terminal};

fn source(file: &str, report: Report) -> MergeInput {
    let folder = Path::new(file).parent().map(Path::to_owned).unwrap_or_default();
    MergeInput { file: file.into(), folder, report }
}

/// A report as this shard of the run would have written it.
fn share(report: &Report, shard: &str) -> MergeInput {
    let shard: Shard = shard.parse().unwrap();
    let whole = source("", report.clone());
    let mut report = report.clone();
    for profile in &mut report.profiles {
        let original = profile.clone();
        let part = ProfilePart { source: &whole, profile: &original };
        let left_out = |case: &CaseResult| {
            let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
            CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &shard.elsewhere())
        };
        let cases = original.cases.iter().enumerate().map(|(place, case)| match shard.holds(place) {
            true => part.taken(case),
            false => left_out(case),
        });
        let cases = cases.collect();
        let without = |clause: &ClauseResult| ClauseResult { violations: Vec::new(), ..clause.clone() };
        let promised = original.clauses.iter().map(without).collect();
        *profile = original.clone().concluded(promised, cases);
    }
    let file = format!("shard-{}/report.yaml", shard.to_string().replace('/', "-of-"));
    MergeInput { folder: PathBuf::new(), ..source(&file, report) }
}

/// The two halves of a run.
fn halves(report: &Report) -> [MergeInput; 2] {
    ["1/2", "2/2"].map(|shard| share(report, shard))
}

fn merged(sources: &[MergeInput]) -> Report {
    merge(sources, "grove-conformance report merge".to_owned()).unwrap()
}

fn refused(sources: &[MergeInput]) -> String {
    merge(sources, String::new()).unwrap_err().to_string()
}

#[rstest]
#[case::every_verdict(fixture::report())]
#[case::all_backends(fixture::all_backends())]
fn the_shards_of_a_run_are_the_run(#[case] whole: Report) {
    for count in 1..=4 {
        let shards: Vec<_> = (1..=count).map(|number| share(&whole, &format!("{number}/{count}"))).collect();
        let merged = merged(&shards);
        assert_eq!(merged.profiles, whole.profiles, "{count} shards");
        assert_eq!(verify(&merged), Ok(()));
        assert_eq!(merged.exit(), whole.exit());
        let timed = Report { timings: whole.timings.clone(), ..merged };
        assert_eq!(terminal(&timed), terminal(&whole), "{count} shards");
    }
}

#[test]
fn a_share_says_what_it_lacks_and_is_not_red_for_it() {
    let half = &halves(&fixture::report())[0].report;
    assert_eq!(verify(half), Ok(()));
    let short = half.profiles[0].clauses.iter().find(|clause| clause.id == "AON-02").unwrap();
    assert_eq!(short.outcome, Outcome::not_run_announced("shard 1/2 does not hold it"));
    assert!(short.violations.is_empty());
}

#[test]
fn reports_of_different_backends_stand_side_by_side() {
    let whole = fixture::all_backends();
    let of = |profiles: &[ProfileReport]| Report { profiles: profiles.to_vec(), ..whole.clone() };
    let (one, other) = whole.profiles.split_at(2);
    let merged = merged(&[source("kube/report.yaml", of(one)), source("rest/report.json", of(other))]);
    let titles = |report: &Report| report.profiles.iter().map(ProfileReport::title).collect::<Vec<_>>();
    assert_eq!(titles(&merged), titles(&whole));
    assert_eq!(merged.exit(), Exit::NotConformant, "kube-scheduler's are red");
}

#[test]
fn one_that_says_why_is_believed_before_one_that_was_not_asked() {
    let mut halves = halves(&fixture::report());
    let announced = Outcome::not_run_announced("not selected by --group AON");
    halves.reverse();
    let merged = merged(&halves);
    let clause = merged.profiles[0].clauses.iter().find(|clause| clause.id == "DEL-06").unwrap();
    assert_eq!(clause.outcome, announced);
}

#[test]
fn a_verdict_is_not_chosen() {
    let whole = fixture::report();
    let twice = [source("a/report.yaml", whole.clone()), share(&whole, "2/2")];
    let says = refused(&twice);
    assert!(says.starts_with("a/report.yaml and shard-2-of-2/report.yaml both hold "), "{says}");
    assert!(
        says.contains(" on default-scheduler (PodGroup scope), and a verdict is not to be chosen"),
        "{says}"
    );
}

#[rstest]
#[case::suite(|report: &mut Report| report.suite.version = "9.9.9".to_owned(), "version of the suite")]
#[case::implementation(
    |report: &mut Report| report.implementation.version = "0.2.0".to_owned(),
    r#"implementation: "grove-backend-controller 0.1.0" and "grove-backend-controller 0.2.0""#
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
    |report: &mut Report| report.profiles[0].version = "v1.36.5".to_owned(),
    r#"scheduler of default-scheduler (PodGroup scope): "v1.36.4" and "v1.36.5""#
)]
#[case::features(
    |report: &mut Report| {
        report.profiles[1].features.supported.push(conformance_contract::clauses::Feature::SelfHealing);
        report.profiles[1].features.evidence = report.profiles[1].evidence();
    },
    r#"features of default-scheduler (PodGang scope): "GangScheduling,AtomicPodGang" and "GangScheduling,AtomicPodGang,SelfHealing""#
)]
fn what_is_not_about_the_same_does_not_merge(#[case] edit: fn(&mut Report), #[case] message: &str) {
    let [one, mut other] = halves(&fixture::report());
    edit(&mut other.report);
    let says = refused(&[one, other]);
    let files = "shard-1-of-2/report.yaml and shard-2-of-2/report.yaml are not about the same ";
    assert!(says.starts_with(files) && says.contains(message), "{says}");
}

#[test]
fn a_document_that_was_edited_is_refused_by_name() {
    let [one, mut other] = halves(&fixture::report());
    other.report.profiles[0].summary.core.fail += 1;
    let says = refused(&[one, other]);
    assert!(says.starts_with("shard-2-of-2/report.yaml: the report does not agree with itself"), "{says}");
    assert_eq!(refused(&[]), "there is nothing to merge");
}

#[test]
fn what_one_document_has_shown_is_not_taken_from_the_profile_s_word() {
    let [one, mut other] = halves(&fixture::report());
    assert_eq!(one.report.profiles[0].features.declared, ["scheduler gate GangScheduling"]);
    other.report.profiles[0].features.declared.clear();
    assert!(merged(&[one, other]).profiles[0].features.declared.is_empty());
}

#[test]
fn what_is_said_of_the_whole_is_added_up() {
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
    };
    assert_eq!(merged.timings, timings);
    assert_eq!(merged.settings, Settings { timeout_scale: 1.5, concurrency: 10, strict: false, seed: None });
    assert_eq!(merged.date, latest);
    let programs: Vec<_> = merged.components.iter().map(|component| component.name.as_str()).collect();
    assert_eq!(programs, ["kube-apiserver", "kube-scheduler", "vc-scheduler"]);
    assert_eq!(merged.command, "grove-conformance report merge");
}

#[test]
fn folders_are_seen_from_the_merged_report() {
    let whole = fixture::report();
    let merged = merged(&[MergeInput { folder: "../shard-1".into(), ..source("report.yaml", whole) }]);
    let clause = merged.profiles[0].clauses.iter().find(|clause| clause.id == "AON-02").unwrap();
    let folder = "../shard-1/cases/default-scheduler-podgroup-scope/aon/one-pod-short";
    assert_eq!(clause.artifacts.as_deref(), Some(folder));
    assert_eq!(verify(&merged), Ok(()));
}

#[test]
fn what_one_run_was_interrupted_in_another_completes() {
    let (whole, cut) = (fixture::report(), fixture::interrupted());
    // Of the second run only what the first did not come to is wanted.
    let mut rest = share(&whole, "1/1");
    rest.file = "rest/report.yaml".into();
    let mut profiles = Vec::new();
    for profile in &rest.report.profiles {
        let left_out = |case: &CaseResult| {
            let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
            CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &crate::not_selected())
        };
        let is_first = profile.title() == whole.profiles[0].title();
        let cases = profile.cases.iter().map(|case| match is_first && case.id == "aon/fits" {
            true => profile.observed(case),
            false => left_out(case),
        });
        profiles.push(profile.clone().concluded_of(cases.collect()));
    }
    rest.report.profiles = profiles;
    let merged = merged(&[source("", cut.clone()), rest]);
    assert_eq!(merged.profiles, whole.profiles);
    assert_eq!((merged.incomplete, verify(&merged)), (false, Ok(())));
    let alone = self::merged(&[source("cut/report.yaml", cut)]);
    assert_eq!(alone.incomplete_reason.as_deref(), Some("cut/report.yaml: interrupted (SIGINT)"));
}
