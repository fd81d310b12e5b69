use conformance_driver::case::Case;
use conformance_run::suites;

use crate::{Cli, stdout};

#[test]
fn every_case_is_listed_with_its_clauses_and_title() {
    let output = Cli::new().run(&["list"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    let mut rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(rows.next().as_deref(), Some("CASE CLAUSES WHAT IT SHOWS"));
    let row = |case: &Case| format!("{} {} {}", case.id, case.clauses.join(" "), case.title);
    assert_eq!(rows.collect::<Vec<_>>(), suites::cases().map(row).collect::<Vec<_>>());
}

/// Programs parse the list. The snapshot has only the first case of some groups.
#[test]
fn the_list_of_cases_as_json() {
    let output = Cli::new().run(&["list", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let all: Vec<serde_json::Value> = serde_json::from_str(&stdout(&output)).expect("it is JSON");
    let shown: Vec<_> = ["adm/", "aon/", "klt/", "coex/"]
        .into_iter()
        .filter_map(|group| {
            all.iter().find(|case| case["id"].as_str().is_some_and(|id| id.starts_with(group)))
        })
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).expect("it is JSON"));
    let keys = |case: &serde_json::Value| {
        case.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    assert!(all.iter().all(|case| keys(case) == keys(&all[0])), "every case has every field");
}
