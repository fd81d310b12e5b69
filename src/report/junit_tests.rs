//! Checks the XML against the schema of Jenkins' xUnit plugin (junit-10.xsd), which rejects unknown elements,
//! and against GitLab's documentation of unit test reports.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::*;
use crate::fixture;

#[derive(Default)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn opened(tag: &BytesStart<'_>) -> Self {
        let name = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let attributes = tag.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            (
                name(attribute.key.as_ref()),
                attribute.normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned(),
            )
        });
        Self { name: name(tag.name().as_ref()), attributes: attributes.collect(), ..Self::default() }
    }

    fn read(text: &str) -> Self {
        let mut reader = Reader::from_str(text);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) => open.push(Self::opened(&tag)),
                Event::Empty(tag) => open.last_mut().unwrap().children.push(Self::opened(&tag)),
                Event::End(_) => {
                    let ended = open.pop().unwrap();
                    open.last_mut().unwrap().children.push(ended);
                }
                Event::Text(text) => open.last_mut().unwrap().text.push_str(&text.decode().unwrap()),
                Event::GeneralRef(reference) => {
                    let resolved = reference.resolve_char_ref().unwrap();
                    let named = reference.decode().unwrap();
                    let named = quick_xml::escape::resolve_predefined_entity(&named).map(str::to_owned);
                    let text = resolved.map(String::from).or(named).unwrap();
                    open.last_mut().unwrap().text.push_str(&text);
                }
                Event::Decl(_) => {}
                Event::Eof => break,
                other => panic!("{other:?}"),
            }
        }
        let mut document = open.pop().unwrap();
        assert!(open.is_empty() && document.children.len() == 1, "one root");
        document.children.remove(0)
    }

    fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    fn all(&self) -> Vec<&Self> {
        std::iter::once(self).chain(self.children.iter().flat_map(Self::all)).collect()
    }

    fn descendants<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.all().into_iter().filter(move |element| element.name == name)
    }

    fn cases_with(&self, name: &str) -> usize {
        self.descendants("testcase")
            .filter(|case| case.children.iter().any(|child| child.name == name))
            .count()
    }
}

/// What the schema allows in an element.
struct Allowed {
    required: &'static [&'static str],
    optional: &'static [&'static str],
    children: &'static [&'static str],
    has_text: bool,
}

fn allowed(name: &str) -> Option<Allowed> {
    let (required, optional, children, has_text): (&[_], &[_], &[_], bool) = match name {
        "testsuites" => (&[], &["name", "time", "tests", "failures", "errors"], &["testsuite"], false),
        "testsuite" => (
            &["name", "tests", "failures", "errors"],
            &["group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"],
            &["properties", "testcase", "system-out", "system-err"],
            false,
        ),
        // The class name is optional in the schema. GitLab needs it to distinguish testcases.
        "testcase" => (
            &["name", "classname"],
            &["time", "group"],
            &["skipped", "error", "failure", "system-out", "system-err"],
            false,
        ),
        "properties" => (&[], &[], &["property"], false),
        "property" => (&["name", "value"], &[], &[], false),
        "failure" | "error" | "skipped" => (&[], &["type", "message"], &[], true),
        "system-out" | "system-err" => (&[], &[], &[], true),
        _ => return None,
    };
    Some(Allowed { required, optional, children, has_text })
}

fn is_in_xml(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

fn is_time(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(seconds, parts)| is_number(seconds) && is_number(parts))
}

fn problems(text: &str) -> Vec<String> {
    let root = Element::read(text);
    let mut found: Vec<String> = root.all().into_iter().flat_map(schema_problems).collect();
    let read = root.all().into_iter().flat_map(|element| element.attributes.values().chain([&element.text]));
    let wrong = text.chars().chain(read.flat_map(|text| text.chars())).find(|letter| !is_in_xml(*letter));
    found.extend(wrong.map(|letter| format!("{letter:?} is not in XML 1.0")));
    let counted = [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")];
    for suite in std::iter::once(&root).chain(root.descendants("testsuite")) {
        let counts = counted.map(|(attribute, element)| (attribute, suite.cases_with(element)));
        for (attribute, count) in counts.into_iter().chain([("tests", suite.descendants("testcase").count())])
        {
            let written = suite.attributes.get(attribute).filter(|written| **written != count.to_string());
            found.extend(
                written.map(|written| format!("{}: {attribute} is {written}, of {count}", suite.name)),
            );
        }
    }
    let mut names = BTreeSet::new();
    for case in root.descendants("testcase") {
        let name = (case.attribute("classname"), case.attribute("name"));
        if !names.insert(name) {
            found.push(format!("{name:?} is there twice: GitLab shows the first"));
        }
    }
    found
}

fn schema_problems(element: &Element) -> Vec<String> {
    let name = &element.name;
    let Some(Allowed { required, optional, children, has_text }) = allowed(name) else {
        return vec![format!("{name} is no element")];
    };
    let mut found = Vec::new();
    let missing = required.iter().filter(|required| element.attribute(required).is_empty());
    found.extend(missing.map(|missing| format!("{name} has no {missing}")));
    let mut unknown = element.attributes.keys().map(String::as_str);
    let unknown = unknown.find(|one| !required.contains(one) && !optional.contains(one));
    found.extend(unknown.map(|unknown| format!("{name} has an attribute {unknown}")));
    if element.attributes.get("time").is_some_and(|time| !is_time(time)) {
        found.push(format!("{name}: {} is no time", element.attribute("time")));
    }
    let position = |child: &Element| children.iter().position(|known| *known == child.name);
    if let Some(child) = element.children.iter().find(|child| position(child).is_none()) {
        found.push(format!("{name} has an element {}", child.name));
    } else if !element.children.iter().is_sorted_by_key(position) {
        found.push(format!("the elements of {name} are in another order"));
    }
    let is_outcome = |child: &&Element| ["skipped", "error", "failure"].contains(&child.name.as_str());
    if element.children.iter().filter(is_outcome).count() > 1 {
        found.push(format!("{name} has more than one outcome"));
    }
    match (has_text, element.text.trim().is_empty()) {
        (true, true) => found.push(format!("{name} is empty: GitLab shows its text")),
        (false, false) => found.push(format!("{name} has text")),
        _ => {}
    }
    found
}

const HOSTILE: &str =
    "\u{1b}[31mred\u{1b}[0m \u{0}\u{8}\u{fffe}\u{ffff} ]]> <failure/> & \"quoted\" \r\n\t\u{1f600}";

fn hostile() -> Report {
    let mut report = fixture::report();
    HOSTILE.clone_into(&mut report.operator.name);
    HOSTILE.clone_into(&mut report.provider.kubernetes_version);
    for target in &mut report.targets {
        target.version = HOSTILE.to_owned();
        for case in &mut target.cases {
            case.title = HOSTILE.to_owned();
            case.artifacts = Some(HOSTILE.to_owned());
            if case.outcome.verdict == Verdict::Fail {
                case.outcome = Outcome::fail(HOSTILE);
            }
        }
    }
    report
}

#[rstest::rstest]
#[case::every_verdict(fixture::report())]
#[case::all_backends(fixture::all_backends())]
#[case::interrupted(fixture::interrupted())]
#[case::hostile(hostile())]
#[case::empty(crate::testing::report(Vec::new()))]
fn the_xml_matches_the_schema_and_gitlabs_rules(#[case] report: Report) {
    let text = junit(&report).unwrap();
    assert_eq!(problems(&text), Vec::<String>::new(), "{text}");
}

const CASE: &str = r#"<testcase name="a" classname="c" time="0.310"/>"#;

#[rstest::rstest]
#[case::valid("", CASE, None)]
#[case::unknown_element("", "<tests/>", Some("tests is no element"))]
#[case::unknown_attribute(r#" disabled="0""#, CASE, Some("testsuite has an attribute disabled"))]
#[case::no_class("", r#"<testcase name="a"/>"#, Some("testcase has no classname"))]
#[case::properties_of_a_case(
    "",
    r#"<testcase name="a" classname="c"><properties/></testcase>"#,
    Some("testcase has an element properties")
)]
#[case::order(
    "",
    r#"<testcase name="a" classname="c"><system-out>x</system-out><skipped>y</skipped></testcase>"#,
    Some("the elements of testcase are in another order")
)]
#[case::two_outcomes(
    "",
    r#"<testcase name="a" classname="c"><error>x</error><failure>y</failure></testcase>"#,
    Some("testcase has more than one outcome")
)]
#[case::empty_outcome(
    "",
    r#"<testcase name="a" classname="c"><skipped message="x"/></testcase>"#,
    Some("skipped is empty: GitLab shows its text")
)]
#[case::text("", r#"<testcase name="a" classname="c">x</testcase>"#, Some("testcase has text"))]
#[case::minutes("", r#"<testcase name="a" classname="c" time="1:10"/>"#, Some("testcase: 1:10 is no time"))]
#[case::whole_seconds("", r#"<testcase name="a" classname="c" time="1"/>"#, Some("testcase: 1 is no time"))]
#[case::character("", r#"<testcase name="a&#xFFFE;" classname="c"/>"#, Some(r"'\u{fffe}' is not in XML 1.0"))]
#[case::count(r#" skipped="1""#, CASE, Some("testsuite: skipped is 1, of 0"))]
#[case::none_of_one("", "", Some("testsuite: tests is 1, of 0"))]
fn the_check_finds_errors(#[case] attributes: &str, #[case] inside: &str, #[case] wanted: Option<&str>) {
    let [failures, errors] = ["<failure>", "<error>"].map(|tag| u8::from(inside.contains(tag)));
    let text = format!(
        r#"<testsuites><testsuite name="s" tests="1" failures="{failures}" errors="{errors}"{attributes}>{inside}</testsuite></testsuites>"#
    );
    let found = problems(&text);
    match wanted {
        Some(wanted) => assert!(found.iter().any(|problem| problem == wanted), "{found:?}"),
        None => assert_eq!(found, Vec::<String>::new()),
    }
}

#[test]
fn the_check_finds_duplicate_names() {
    let text = format!(r#"<testsuite name="s" tests="2" failures="0" errors="0">{CASE}{CASE}</testsuite>"#);
    assert_eq!(problems(&text), [r#"("c", "a") is there twice: GitLab shows the first"#]);
}

#[test]
fn the_xml_of_every_verdict() {
    let _redacted = fixture::redacted();
    insta::assert_snapshot!(junit(&fixture::report()).unwrap());
}
