use std::collections::BTreeMap;
use std::ops::Range;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{Change, History, Version};

use super::{Shown, none, violation};

const WRONG_SCHEDULER: Code = Code::new("wrong-scheduler");
const NOT_LEFT_ALONE: Code = Code::new("not-left-alone");

fn objects_of_set<'a>(
    history: &'a History,
    kind: &'a str,
    set: &'a str,
) -> impl Iterator<Item = Version<'a>> {
    history.of(kind).filter(move |version| version.label(names::PART_OF) == Some(set))
}

pub fn serves(history: &History, set: &str, scheduler: &str) -> Ruling {
    for kind in ["PodGang", "Pod"] {
        if objects_of_set(history, kind, set).next().is_none() {
            return Err(Broken::NotReached(format!("PodCliqueSet {set} never had a {kind}")));
        }
    }
    let gangs = objects_of_set(history, "PodGang", set).map(|version| {
        (version, format!("label {}", names::SCHEDULER_NAME), version.label(names::SCHEDULER_NAME))
    });
    let pods = objects_of_set(history, "Pod", set).map(|version| {
        (version, "schedulerName".to_owned(), version.object["spec"]["schedulerName"].as_str())
    });
    none(gangs.chain(pods).filter(|(_, _, found)| *found != Some(scheduler)).map(|(version, what, found)| {
        let found = found.map_or("none".to_owned(), |found| format!("{found:?}"));
        violation(
            WRONG_SCHEDULER,
            format!("{} {} has {what} {found}, want {scheduler:?}", version.kind(), version.name()),
        )
        .shown_by("observed", version)
    }))
}

/// Requires that no pod was created, deleted or gated again, and that PodGangs kept their spec (ADM-11).
/// Returns `NotReached` if no pod was ungated before.
pub fn left_alone(history: &History, set: &str, part: Range<usize>) -> Ruling {
    let before = history.before(part.start);
    let was: BTreeMap<_, _> = before
        .all()
        .map(Version::of)
        .filter(|version| version.label(names::PART_OF) == Some(set))
        .map(|version| (version.uid().to_owned(), version))
        .collect();
    let released = |version: &Version<'_>| version.kind() == "Pod" && version.pod().gates().is_empty();
    if !was.values().any(released) {
        return Err(Broken::NotReached(format!(
            "no pod of PodCliqueSet {set} had lost its scheduling gates"
        )));
    }
    let touched = ["PodGang", "Pod"].into_iter().flat_map(|kind| objects_of_set(history, kind, set));
    let touched = touched.filter(|version| part.contains(&version.index));
    none(touched.filter_map(|version| {
        let wrong = match (was.get(version.uid()), version.change) {
            (None, _) => "was created",
            (Some(_), Change::Deleted) => "was deleted",
            (Some(_), _) if version.pod().is_terminating() => "is being deleted",
            (Some(was), _) if version.object["spec"] != was.object["spec"] => "was changed",
            (Some(_), _) => return None,
        };
        let (kind, name) = (version.kind(), version.name());
        Some(
            violation(NOT_LEFT_ALONE, format!("{kind} {name} {wrong}, want it unchanged"))
                .shown_by("observed", version),
        )
    }))
}

#[cfg(test)]
mod tests {
    use conformance_history::MarkName;
    use conformance_history::testing::{Story, gated, object};
    use serde_json::{Value, json};

    use super::*;

    const FROM: MarkName = MarkName::of_case("from");
    const TO: MarkName = MarkName::of_case("to");

    fn of_set(kind: &str, name: &str) -> Value {
        let mut object = object(kind, name);
        object["metadata"]["labels"] = json!({names::PART_OF: "w"});
        object
    }

    fn gang(scheduler: &str) -> Value {
        let mut gang = of_set("PodGang", "w-0");
        gang["metadata"]["labels"][names::SCHEDULER_NAME] = scheduler.into();
        gang["spec"] = json!({"podgroups": []});
        gang
    }

    fn pod(scheduler: &str) -> Value {
        let mut pod = of_set("Pod", "w-0-a-x");
        pod["spec"] = json!({"schedulerName": scheduler});
        pod
    }

    fn verdict(ruling: &Ruling) -> Option<bool> {
        match ruling {
            Ok(()) => Some(true),
            Err(Broken::Violated(_)) => Some(false),
            Err(Broken::NotReached(_)) => None,
            Err(other) => panic!("{other:?}"),
        }
    }

    #[rstest::rstest]
    #[case::both([gang("s"), pod("s")].to_vec(), Some(true))]
    #[case::another_label([gang("t"), pod("s")].to_vec(), Some(false))]
    #[case::no_label([of_set("PodGang", "w-0"), pod("s")].to_vec(), Some(false))]
    #[case::another_scheduler([gang("s"), pod("t")].to_vec(), Some(false))]
    #[case::no_pod([gang("s")].to_vec(), None)]
    #[case::no_pod_gang([pod("s"), object("PodGang", "v-0")].to_vec(), None)]
    fn every_pod_and_gang_names_the_scheduler(#[case] objects: Vec<Value>, #[case] wanted: Option<bool>) {
        let ruling = serves(&Story::flat().all_added(objects).end(), "w", "s");
        assert_eq!(verdict(&ruling), wanted, "{ruling:?}");
    }

    #[rstest::rstest]
    #[case::nothing(|story: Story| story, Some(true))]
    #[case::status(|story: Story| {
        let mut pod = pod("s");
        pod["status"] = json!({"phase": "Running"});
        story.modified(pod)
    }, Some(true))]
    #[case::of_another_set(|story: Story| story.added(object("Pod", "v-0-a-x")), Some(true))]
    #[case::replaced(|story: Story| {
        let mut new = pod("s");
        new["metadata"]["uid"] = "another".into();
        story.added(new)
    }, Some(false))]
    #[case::deleted(|story: Story| story.deleted(pod("s")), Some(false))]
    #[case::terminating(|story: Story| {
        let mut pod = pod("s");
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        story.modified(pod)
    }, Some(false))]
    #[case::gang_changed(|story: Story| {
        let mut gang = gang("s");
        gang["spec"]["podgroups"] = json!([{"name": "w-0-a"}]);
        story.modified(gang)
    }, Some(false))]
    fn a_change_of_a_running_pod_clique_set_is_a_violation(
        #[case] then: fn(Story) -> Story,
        #[case] wanted: Option<bool>,
    ) {
        let story = Story::flat().all_added([gang("s"), gated(pod("s"))]).modified(pod("s"));
        let history = then(story.mark(FROM, Value::Null)).mark(TO, Value::Null).deleted(gang("s")).end();
        let index = |name: MarkName| history.reached(name).unwrap().0;
        let ruling = left_alone(&history, "w", index(FROM)..index(TO));
        assert_eq!(verdict(&ruling), wanted, "{ruling:?}");
    }

    #[test]
    fn a_pod_clique_set_that_was_never_released_is_undecided() {
        let history = Story::flat().added(gated(pod("s"))).mark(FROM, Value::Null).end();
        assert_eq!(verdict(&left_alone(&history, "w", 1..2)), None);
    }
}
