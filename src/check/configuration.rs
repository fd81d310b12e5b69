//! Configuration files that prevent the controller from starting.

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_facts::configuration::Flaw;
use conformance_history::{History, SharedMark};
use serde_json::Value;

use super::{none, violation};

const FLAW_ACCEPTED: Code = Code::new("flaw-accepted");

/// The controller failed to start with each of these configurations, and its last log lines report the flaw.
/// Returns `NotReached` if a configuration was not tried.
pub fn stops_the_start(history: &History, flaws: &[Flaw]) -> Ruling {
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
    let said: Vec<_> = lines.collect();
    let in_one_line = |line: &&str| flaw.says.iter().all(|word| line.contains(word));
    (!said.iter().any(in_one_line)).then(|| {
        let last = said.last().copied().unwrap_or("nothing");
        format!(
            "the controller logged no line that contains {}; the last line: {last}",
            flaw.says.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;

    const FLAW: Flaw = Flaw { title: "a wrong mode", says: &["config.mode", "Odd"], edit: |_| {} };

    fn ruling(code: Value, said: &[&str]) -> Ruling {
        let mark = json!({"title": FLAW.title, "code": code, "said": said});
        stops_the_start(&Story::flat().mark(SharedMark::StartedWithFlaw, mark).end(), &[FLAW])
    }

    #[test]
    fn it_ends_with_the_path() {
        let said = ["starting", "error: configuration: profiles[1].config.mode: unknown variant Odd"];
        assert_eq!(ruling(json!(1), &said), Ok(()));
        assert!(matches!(stops_the_start(&Story::flat().end(), &[FLAW]), Err(Broken::NotReached(_))));
    }

    #[rstest::rstest]
    #[case::started(Value::Null, &["config.mode: Odd"])]
    #[case::in_order(json!(0), &["config.mode: Odd"])]
    #[case::without_a_word(json!(1), &[])]
    #[case::without_the_path(json!(1), &["config.mode", "unknown variant Odd"])]
    fn one_thing_wrong(#[case] code: Value, #[case] said: &[&str]) {
        assert!(matches!(ruling(code, said), Err(Broken::Violated(_))));
    }
}
