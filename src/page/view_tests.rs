use conformance_report::{Component, ComponentSource, Features, Judgement, Outcome, Violation, testing};

use super::cases::slug;
use super::clauses::{is_relative, prose};
use super::*;

fn hostile() -> Report {
    let evil = "<script>alert(1)</script>\"'";
    let proof = serde_json::json!({"what": evil, "kind": "Pod", "name": evil, "resourceVersion": "7"});
    let violation = serde_json::json!({"case": "aon/x", "code": "x", "message": evil, "proof": [proof]});
    let violation: Violation = serde_json::from_value(violation).unwrap();
    let judgement =
        Judgement { clause: "AON-02".into(), outcome: Outcome::fail(evil), violations: vec![violation] };
    let case = CaseResult {
        artifacts: Some("javascript:alert(1)//".into()),
        reproduce: Some(evil.into()),
        ..CaseResult::new("aon/x", evil, vec![judgement])
    };
    let target = TargetReport::new("volcano", Some(evil.into()), evil, Features::default())
        .conclude(conformance_contract::clauses::CLAUSES.iter(), vec![case]);
    let mut report = testing::report(vec![target]);
    let Report { suite, command, operator, provider, components, .. } = &mut report;
    let names = [&mut operator.name, &mut provider.name];
    let versions = [&mut operator.version, &mut provider.kubernetes_version, &mut suite.version];
    for text in names.into_iter().chain(versions).chain([command]) {
        evil.clone_into(text);
    }
    components.push(Component {
        name: evil.into(),
        version: evil.into(),
        source: ComponentSource::Built,
        chart: None,
        digest: evil.into(),
    });
    report
}

fn rendered(report: &Report) -> String {
    crate::page(report, std::path::Path::new("nowhere")).unwrap()
}

#[test]
fn texts_of_a_report_are_escaped() {
    let page = rendered(&hostile());
    assert!(!page.contains("<script>alert"), "a text became a program");
    assert!(page.contains("&#60;script&#62;alert(1)"), "the text is shown");
    assert!(!page.contains("href=\"javascript:"), "a path became an address");
    assert_eq!(page.matches("<script>").count(), 1, "the page's own");
}

#[test]
fn the_page_loads_nothing() {
    let page = rendered(&hostile());
    let head = &page[..page.find("<style>").unwrap()];
    assert!(head.contains("default-src &#39;none&#39;") || head.contains("default-src 'none'"), "{head}");
    for loading in ["src=", "url(", "@import", "<link", "<img", "<iframe", "fetch("] {
        assert!(!page.contains(loading), "{loading} loads something");
    }
}

#[test]
fn a_case_without_a_history_is_shown_without_a_timeline() {
    let page = rendered(&hostile());
    assert!(page.contains("No history was found next to the report"));
    assert!(page.contains("id=\"sheet-0\""), "the rest of the sheet is shown");
}

#[test]
fn a_report_without_targets_is_shown_with_a_warning() {
    let mut report = hostile();
    report.targets.clear();
    assert!(rendered(&report).contains("The report has no target"));
}

#[rstest::rstest]
#[case("default-scheduler (PodGang scope)", "default-scheduler-podgang-scope")]
#[case("external:my-scheduler", "external-my-scheduler")]
fn a_target_title_becomes_a_slug(#[case] title: &str, #[case] word: &str) {
    assert_eq!(slug(title), word);
}

#[rstest::rstest]
#[case("artifacts/volcano/aon-x", true)]
#[case("../shard-1/artifacts/x", true)]
#[case("/etc", false)]
#[case("https://example.org", false)]
#[case("javascript:alert(1)", false)]
#[case("\\\\host\\share", false)]
fn only_relative_paths_become_links(#[case] path: &str, #[case] is_one: bool) {
    assert_eq!(is_relative(path), is_one);
}

#[rstest::rstest]
#[case("a `b` c", "a <code>b</code> c")]
#[case("`<script>` & \"", "<code>&lt;script&gt;</code> &amp; &quot;")]
#[case("open `end", "open <code>end</code>")]
fn a_requirement_is_converted_to_html(#[case] text: &str, #[case] html: &str) {
    assert_eq!(prose(text), html);
}
