//! The second enabled backend that some clauses need. The suite's own configuration has the profile
//! `conformance-external`, but another operator's may have no second backend. The driver asks admission and
//! records the answer, so that a replay gives the same verdict.

use conformance_contract::ruling::Broken;
use conformance_history::{History, SharedMark};

pub fn name(history: &History) -> Result<&str, Broken> {
    let (_, mark) = history.reached(SharedMark::AnotherBackend)?;
    mark.detail["scheduler"].as_str().ok_or_else(|| {
        let asked = mark.detail["asked"].as_array().into_iter().flatten();
        let names: Vec<_> = asked.filter_map(|asked| asked["scheduler"].as_str()).collect();
        Broken::NotAsked(format!(
            "the operator serves no second scheduler: enable the scheduler profile {}",
            names.join(" or ")
        ))
    })
}

/// Whether someone other than the harness wrote the operator's configuration.
pub fn is_foreign(history: &History) -> Result<bool, Broken> {
    let (_, mark) = history.reached(SharedMark::AnotherBackend)?;
    Ok(mark.detail["foreign"] == true)
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::{Value, json};

    use super::*;

    fn recorded(detail: Value) -> History {
        Story::flat().mark(SharedMark::AnotherBackend, detail).end()
    }

    #[test]
    fn the_second_scheduler_comes_from_the_mark() {
        let ours = recorded(json!({"scheduler": "conformance-external", "foreign": false}));
        assert_eq!((name(&ours), is_foreign(&ours)), (Ok("conformance-external"), Ok(false)));
        let theirs = recorded(json!({"scheduler": "kai-scheduler", "foreign": true}));
        assert_eq!((name(&theirs), is_foreign(&theirs)), (Ok("kai-scheduler"), Ok(true)));
    }

    #[test]
    fn without_a_second_scheduler_the_ruling_is_not_asked() {
        let refused = ["conformance-external", "volcano"].map(|name| json!({"scheduler": name}));
        let none = recorded(json!({"asked": refused, "foreign": true}));
        let Err(Broken::NotAsked(why)) = name(&none) else { panic!("{:?}", name(&none)) };
        assert!(why.contains("no second scheduler"), "{why}");
        assert!(why.contains("enable the scheduler profile conformance-external or volcano"), "{why}");
        assert!(matches!(name(&Story::flat().end()), Err(Broken::NotReached(_))));
    }
}
