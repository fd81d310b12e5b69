use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_facts::configuration::Flaw;
use conformance_history::{History, SharedMark};
use serde_json::Value;

use super::{none, violation};

const FLAW_ACCEPTED: Code = Code::new("flaw-accepted");

/// Requires that the operator exits and its last log lines report the flaw. `NotReached` without an attempt.
pub fn prevents_start(history: &History, flaws: &[Flaw]) -> Ruling {
    let mut violations = Vec::new();
    for flaw in flaws {
        let tried =
            history.marks(SharedMark::StartedWithFlaw).find(|(_, mark)| mark.detail["title"] == flaw.title);
        let (_, mark) = tried.ok_or_else(|| {
            Broken::NotReached(format!("the controller was not started with {:?}", flaw.title))
        })?;
        violations.extend(
            wrong(flaw, &mark.detail)
                .map(|wrong| violation(FLAW_ACCEPTED, format!("{}: {wrong}", flaw.title))),
        );
    }
    none(violations)
}

fn wrong(flaw: &Flaw, start: &Value) -> Option<String> {
    match start["code"].as_i64() {
        None => return Some("the controller started, want a failed start".into()),
        Some(0) => return Some("the controller exited with code 0, want a failure".into()),
        Some(_) => {}
    }
    let lines = start["said"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let lines: Vec<_> = lines.collect();
    let reports_flaw = |line: &&str| flaw.words.iter().all(|word| line.contains(word));
    (!lines.iter().any(reports_flaw)).then(|| {
        let last = lines.last().copied().unwrap_or("nothing");
        format!(
            "the controller logged no line that contains {}; the last line: {last}",
            flaw.words.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;

    const FLAW: Flaw = Flaw { title: "a wrong mode", words: &["config.mode", "Odd"], edit: |_| {} };

    fn ruling(code: Value, lines: &[&str]) -> Ruling {
        let mark = json!({"title": FLAW.title, "code": code, "said": lines});
        prevents_start(&Story::flat().mark(SharedMark::StartedWithFlaw, mark).end(), &[FLAW])
    }

    #[test]
    fn a_start_that_fails_and_logs_the_flaw_is_required() {
        let lines = ["starting", "error: configuration: profiles[1].config.mode: unknown variant Odd"];
        assert_eq!(ruling(json!(1), &lines), Ok(()));
        assert!(matches!(prevents_start(&Story::flat().end(), &[FLAW]), Err(Broken::NotReached(_))));
    }

    #[test]
    fn a_second_flaw_that_is_not_tried_or_not_reported_counts() {
        const OTHER: Flaw = Flaw { title: "no replicas", words: &["replicas"], edit: |_| {} };
        let first = || {
            let mark = json!({"title": FLAW.title, "code": 1, "said": ["config.mode: Odd"]});
            Story::flat().mark(SharedMark::StartedWithFlaw, mark)
        };
        let both = |line: &str| {
            let mark = json!({"title": OTHER.title, "code": 1, "said": [line]});
            prevents_start(&first().mark(SharedMark::StartedWithFlaw, mark).end(), &[FLAW, OTHER])
        };
        assert_eq!(both("replicas: 0"), Ok(()));
        assert!(matches!(both("config.mode: Odd"), Err(Broken::Violated(_))));
        let one = prevents_start(&first().end(), &[FLAW, OTHER]);
        assert!(matches!(one, Err(Broken::NotReached(_))), "{one:?}");
    }

    #[rstest::rstest]
    #[case::started(Value::Null, &["config.mode: Odd"])]
    #[case::exited_with_0(json!(0), &["config.mode: Odd"])]
    #[case::without_a_line(json!(1), &[])]
    #[case::in_two_lines(json!(1), &["config.mode", "unknown variant Odd"])]
    fn a_start_that_does_not_report_the_flaw_is_a_violation(#[case] code: Value, #[case] lines: &[&str]) {
        assert!(matches!(ruling(code, lines), Err(Broken::Violated(_))));
    }
}
