use conformance_history::testing::Story;
use serde_json::{Value, json};

use super::super::fixture::{all_replaced, changed, deleted, pcs, pod, pod_spec, replaced};
use super::*;
use crate::{all, message};

fn each_step(history: &History, set: &str) -> Ruling {
    all([minimum_stays(history, set), steps_do_not_overlap(history, set)])
}

#[test]
fn a_step_keeps_the_minimum_available() {
    assert_eq!(each_step(&all_replaced().end(), "w"), Ok(()));
    let two = deleted(deleted(changed(), "0a0"), "0a1").end();
    assert!(message(each_step(&two, "w")).contains("left 0 of w-0-a available, want at least 1"));
    let both = deleted(deleted(changed(), "0g0"), "0g1").end();
    assert!(message(each_step(&both, "w")).contains("left 0 of w-0-g available, want at least 1"));
    let last = deleted(changed().modified(pod("0a1", "1", false)), "0a0").end();
    assert!(message(minimum_stays(&last, "w")).contains("left 0 of w-0-a available, want at least 1"));
    assert_eq!(steps_do_not_overlap(&last, "w"), Ok(()), "it is the first step");
    let unready =
        deleted(changed(), "0a0").added(pod("0a0-new", "2", false)).deleted(pod("0a0-new", "2", false));
    assert_eq!(each_step(&unready.end(), "w"), Ok(()), "a pod that is not Ready may be deleted");
}

#[test]
fn a_step_waits_until_the_step_before_is_complete() {
    let mut big = pcs(1, "1", Value::Null);
    big["spec"]["template"]["cliques"][0]["spec"]["replicas"] = json!(4);
    let mut changed = big.clone();
    changed["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = pod_spec("2");
    let pods = ["0a0", "0a1", "0a2", "0a3"];
    let story = pods.iter().fold(Story::flat().added(big), |story, name| story.added(pod(name, "1", true)));
    let two = deleted(deleted(story.modified(changed), "0a0"), "0a1").end();
    let early = message(steps_do_not_overlap(&two, "w"));
    assert!(early.contains("when 0 of the 1 earlier deleted units of w-0-a were replaced"), "{early}");
    assert_eq!(minimum_stays(&two, "w"), Ok(()), "two of four stay, and one is needed");
}

#[test]
fn a_step_waits_until_parent_cliques_are_ready() {
    let in_order = || {
        let mut set = pcs(1, "1", Value::Null);
        set["spec"]["template"]["cliqueStartupType"] = json!("CliqueStartupTypeInOrder");
        changed().submitted(set)
    };
    let last = |story: Story, ready: bool| {
        deleted(story, "0a0").modified(pod("0a1", "1", ready)).deleted(pod("0g0", "1", true)).end()
    };
    assert_eq!(parents_stay_ready(&last(in_order(), true), "w"), Ok(()));
    let early = parents_stay_ready(&last(in_order(), false), "w");
    assert!(message(early).contains(
        "replica 0 of scaling group w-0-g was deleted when 0 of 1 pods of parent PodClique w-0-a were Ready",
    ));
    let unready = in_order().modified(pod("0g0", "1", false)).modified(pod("0g1", "1", false));
    assert_eq!(
        parents_stay_ready(&last(unready, false), "w"),
        Ok(()),
        "a replica that is not available may be deleted"
    );
    let own = deleted(deleted(in_order(), "0a0"), "0a1").end();
    assert_eq!(parents_stay_ready(&own, "w"), Ok(()), "it has no parents");
}

#[test]
fn a_blocked_update_stops_after_the_first_steps() {
    let first = deleted(deleted(changed(), "0a0"), "0g0").end();
    assert_eq!(stopped_after_first_step(&first, "w", first.entries.len()), Ok(()));
    let none = changed().end();
    let ruling = stopped_after_first_step(&none, "w", none.entries.len());
    assert!(matches!(ruling, Err(Broken::NotReached(_))), "UPD-01 requires the first step");
    let two = replaced(replaced(changed(), "0a0"), "0a1").end();
    assert!(
        message(stopped_after_first_step(&two, "w", two.entries.len()))
            .contains("the first update step of w-0-a was not")
    );
}
