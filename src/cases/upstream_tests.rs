//! Tests of the map from upstream's e2e tests to clauses and cases. `UPDATE_DOCS=1` writes its page.

use std::fmt::Write as _;
use std::path::Path;

use conformance_contract::clauses::CLAUSES;
use serde_json::Value;

const MAP: &str = include_str!("../../contract/upstream-tests.yaml");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contract/upstream-tests.md");

fn map() -> Value {
    grove_yaml::documents(MAP).unwrap().remove(0)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn words(test: &Value, key: &str) -> Vec<String> {
    list(test, key).iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

fn tests(map: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    list(map, "files").iter().flat_map(|file| list(file, "tests").iter().map(move |test| (file, test)))
}

#[test]
fn every_clause_of_the_map_has_one_of_its_cases() {
    let map = map();
    for (_, test) in tests(&map) {
        let name = test["name"].as_str().unwrap();
        let cases: Vec<_> = words(test, "cases")
            .iter()
            .map(|id| crate::SUITE.case(id).unwrap_or_else(|| panic!("{name}: no case {id}")))
            .collect();
        let clauses = words(test, "clauses");
        for clause in &clauses {
            assert!(CLAUSES.iter().any(|known| known.id == clause), "{name}: no clause {clause}");
            assert!(
                cases.iter().any(|case| case.clauses.contains(&clause.as_str())),
                "{name}: no case for {clause}"
            );
        }
        for case in cases {
            let is_named = |clause: &&str| clauses.iter().any(|named| named == clause);
            assert!(case.clauses.iter().any(is_named), "{name}: {} checks none of {clauses:?}", case.id);
        }
    }
}

#[test]
fn every_test_that_is_not_covered_has_a_decision() {
    let map = map();
    for (_, test) in tests(&map) {
        let covered = test["covered"].as_str().unwrap();
        let is_decided = ["later", "out of scope"].contains(&test["decision"].as_str().unwrap_or_default());
        assert!(["yes", "part", "no"].contains(&covered), "{test}");
        assert_eq!(covered != "yes", is_decided && test["reason"].is_string(), "{test}");
        assert_eq!(covered == "no", list(test, "clauses").is_empty(), "{test}");
    }
}

#[test]
fn the_page_matches_the_map() {
    let page = page(&map());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(Path::new(PAGE).parent().unwrap()).unwrap();
        std::fs::write(PAGE, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(PAGE).unwrap_or_default(), page, "UPDATE_DOCS=1 writes it");
}

fn page(map: &Value) -> String {
    let (repository, commit) = (map["repository"].as_str().unwrap(), map["commit"].as_str().unwrap());
    let count = |covered: &str| tests(map).filter(|(_, test)| test["covered"] == covered).count();
    let decided = |decision: &str| tests(map).filter(|(_, test)| test["decision"] == decision).count();
    let mut page = format!(
        "<!-- Generated from contract/upstream-tests.yaml by src/cases/upstream_tests.rs. -->\n\
         # Upstream's e2e tests\n\n\
         The end-to-end tests of [{repository}](https://github.com/{repository}) at `{}`, and the clauses and cases that cover \
         them.\nAll of them run on KAI only, except those of `scale/`, which run on kube-scheduler without gangs.\n\n\
         | covered | tests |\n|---|---|\n| yes | {} |\n| in part | {} |\n| no | {} |\n\n\
         Of those that are not covered, or only in part, {} are planned and {} are out of scope.\n",
        &commit[..8],
        count("yes"),
        count("part"),
        count("no"),
        decided("later"),
        decided("out of scope"),
    );
    for file in list(map, "files") {
        let path = file["path"].as_str().unwrap();
        let name = path.trim_start_matches("operator/e2e/tests/");
        write!(
            page,
            "\n## [{name}](https://github.com/{repository}/blob/{commit}/{path})\n\n\
             Class of GREP-592: {}. Runs: {}.\n\n\
             | test | checks | clauses | cases | covered |\n|---|---|---|---|---|\n",
            file["class"].as_str().unwrap(),
            file["runs"].as_str().unwrap(),
        )
        .unwrap();
        for test in list(file, "tests") {
            let covered = match (test["covered"].as_str().unwrap(), test["decision"].as_str()) {
                ("yes", _) => "yes".to_owned(),
                (covered, decision) => {
                    let covered = if covered == "part" { "in part" } else { covered };
                    format!("{covered}; {}: {}", decision.unwrap(), test["reason"].as_str().unwrap())
                }
            };
            let cases: Vec<_> = words(test, "cases").iter().map(|id| format!("`{id}`")).collect();
            writeln!(
                page,
                "| `{}` | {} | {} | {} | {covered} |",
                test["name"].as_str().unwrap(),
                test["checks"].as_str().unwrap(),
                words(test, "clauses").join(", "),
                cases.join(", "),
            )
            .unwrap();
        }
    }
    page
}
