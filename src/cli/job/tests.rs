use conformance_cluster::suite::results::Head;
use conformance_report::{CaseResult, Features, Outcome, TargetReport, testing, verify};

use super::*;

fn stored(index: usize, shares: usize, left_out: Option<&str>) -> Stored {
    let shard = Shard::at(index, shares).unwrap();
    let cases = (0..4).map(|place| {
        let outcome = if shard.contains(place) { Outcome::pass() } else { shard.elsewhere() };
        let mut case = CaseResult::without_running(format!("aon/{place}"), "", ["AON-01"], &outcome);
        case.attempts = u32::from(shard.contains(place));
        case.artifacts = shard.contains(place).then(|| format!("artifacts/{place}"));
        case
    });
    let target = TargetReport::new(
        "volcano",
        None,
        "1.14.1",
        Features {
            supported: vec![conformance_contract::clauses::Feature::GangScheduling],
            ..Features::default()
        },
    );
    let report = testing::report(vec![
        target.conclude(conformance_contract::clauses::CLAUSES.iter(), cases.collect()),
    ]);
    let folder = tempfile::tempdir().unwrap();
    for place in (0..4).filter(|place| shard.contains(*place)) {
        let artifacts = folder.path().join(format!("artifacts/{place}"));
        std::fs::create_dir_all(&artifacts).unwrap();
        std::fs::write(artifacts.join("history.jsonl"), "{}\n").unwrap();
    }
    report::write_all(folder.path(), &report).unwrap();
    let archive = report::pack(folder.path(), &report, usize::MAX).unwrap().archive;
    let left_out = left_out.map(str::to_owned);
    Stored { head: Head { index, shares, chunks: 1, sha256: String::new(), left_out }, archive }
}

#[test]
fn the_reports_of_all_shares_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let both = BTreeMap::from([(0, Ok(stored(0, 2, None))), (1, Ok(stored(1, 2, None)))]);
    let report = merge(both, "ns", folder.path(), 2, &Ended::default()).unwrap();
    assert_eq!((verify(&report), report.incomplete), (Ok(()), false));
    let cases = &report.targets[0].cases;
    assert!(cases.iter().all(|case| case.attempts == 1), "each case was run once");
    for case in cases {
        let artifacts = folder.path().join(case.artifacts.as_ref().unwrap());
        assert!(artifacts.join("history.jsonl").is_file(), "{}", artifacts.display());
    }
}

#[rstest::rstest]
#[case::pod_failed(Ok(None), Ended { failed: [(1, "it was killed".into())].into(), job: None }, "it was killed")]
#[case::job_ended(
    Ok(None),
    Ended { failed: BTreeMap::new(), job: Some("interrupted (SIGINT)".into()) },
    "interrupted (SIGINT)"
)]
#[case::no_reason_known(Ok(None), Ended::default(), "no results are stored in namespace ns")]
#[case::incomplete(Err("results-2-1"), Ended::default(), "results-2-1 are missing")]
fn the_cases_of_a_share_without_a_report_are_not_run(
    #[case] found: Result<Option<()>, &str>,
    #[case] ended: Ended,
    #[case] expected: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let mut one = BTreeMap::from([(0, Ok(stored(0, 2, None)))]);
    if let Err(incomplete) = found {
        one.insert(1, Err(Incomplete::Missing(vec![incomplete.to_owned()])));
    }
    let report = merge(one, "ns", folder.path(), 2, &ended).unwrap();
    assert_eq!((verify(&report), report.exit()), (Ok(()), Exit::Inconclusive));
    let cases = &report.targets[0].cases;
    let lost =
        cases.iter().filter(|case| case.outcome.reason().is_some_and(|reason| reason.contains(expected)));
    assert_eq!(lost.map(|case| case.id.as_str()).collect::<Vec<_>>(), ["aon/1", "aon/3"]);
    assert!(report.incomplete_reason.unwrap().contains("shard 2/2 left no report"));
}

#[test]
fn a_merge_without_any_report_fails() {
    let folder = tempfile::tempdir().unwrap();
    let ended = Ended { failed: [(0, "no rights".into())].into(), job: None };
    let error = merge(BTreeMap::new(), "ns", folder.path(), 2, &ended).unwrap_err().to_string();
    assert_eq!(
        error,
        "no pod stored a report: shard 1/2: no rights; shard 2/2: no results are stored in namespace ns"
    );
}
