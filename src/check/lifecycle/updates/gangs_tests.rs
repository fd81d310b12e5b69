use conformance_history::testing::{Story, object};

use super::super::fixture::{deleted, pcs, pod, replaced};
use super::*;
use crate::message;

fn gang(uid: &str, min: usize, references: &[&str]) -> Value {
    let references: Vec<_> = references.iter().map(|name| json!({"name": name})).collect();
    let mut gang = object("PodGang", "w-0");
    gang["metadata"]["uid"] = json!(uid);
    gang["metadata"]["labels"] = json!({names::PART_OF: "w"});
    gang["spec"]["podgroups"] = json!([{"name": "w-0-a", "minReplicas": min, "podReferences": references}]);
    gang
}

#[test]
fn gangs_stay_and_refer_to_the_new_pods() {
    let updated = || {
        let story = Story::flat().added(pcs(1, "1", Value::Null)).added(pod("0a0", "1", true));
        let with_gang = story.added(pod("0a1", "1", true)).added(gang("g", 1, &["0a0", "0a1"]));
        replaced(with_gang.modified(pcs(1, "2", Value::Null)), "0a0")
    };
    let correct = updated().modified(gang("g", 1, &["0a0-new", "0a1"])).end();
    assert_eq!(gangs_stay(&correct, "w"), Ok(()));
    assert_eq!(references_follow_the_pods(&correct, "w"), Ok(()));
    assert_eq!(references_match_pods(&correct.end(), "w"), Ok(()));
    let stale = updated().modified(gang("g", 1, &["0a0", "0a0-new", "0a1"])).end();
    assert!(message(references_match_pods(&stale.end(), "w")).contains("0a0, which does not exist"));
    let unnamed = updated().modified(gang("g", 1, &["0a1"])).end();
    assert!(message(references_match_pods(&unnamed.end(), "w")).contains("no PodGang refers to Pod 0a0-new"));
    let wrong = |story: Story| message(gangs_stay(&story.end(), "w"));
    assert!(wrong(updated().modified(gang("h", 1, &["0a1"]))).contains("was deleted or created again"));
    assert!(wrong(updated().modified(gang("g", 2, &["0a1"]))).contains("has other minReplicas"));
    let wrong = |story: Story| message(references_follow_the_pods(&story.end(), "w"));
    assert!(wrong(updated().modified(gang("g", 1, &["0a7", "0a1"]))).contains("0a7 before the pod existed"));
    let late = || updated().later(6).modified(gang("g", 1, &["0a1", "0a0-new"]));
    assert!(wrong(late()).contains("still referred to Pod 0a0 more than"));
    assert_eq!(gangs_stay(&late().end(), "w"), Ok(()), "it is the same gang");
    let mut on_a_slow_machine = late().end();
    on_a_slow_machine.header.slowness = Some(1.5);
    assert_eq!(references_follow_the_pods(&on_a_slow_machine, "w"), Ok(()));
}

#[test]
fn replacements_are_in_the_gang_of_their_predecessors() {
    let gated = |name: &str, gates: Value| {
        let mut pod = pod(name, "2", true);
        pod["spec"]["schedulingGates"] = gates;
        pod
    };
    let gate = || json!([{"name": names::GATE}]);
    let updated = || {
        let story = Story::flat().added(pcs(1, "1", Value::Null)).added(pod("0a0", "1", true));
        let with_gang = story.added(pod("0a1", "1", true)).added(gang("g", 1, &["0a0", "0a1"]));
        let with_gang = with_gang.added(object("PodGroup", "w-0"));
        deleted(with_gang.modified(pcs(1, "2", Value::Null)), "0a0").added(gated("0a0-new", gate()))
    };
    let named = updated().modified(gang("g", 1, &["0a0-new", "0a1"])).modified(gated("0a0-new", json!([])));
    assert_eq!(replacements_are_members(&named.end(), "w"), Ok(()));
    let unnamed = updated().modified(gated("0a0-new", json!([]))).end();
    assert!(message(replacements_are_members(&unnamed, "w")).contains("before a PodGang referred to it"));
    let mut other = gated("0a0-new", json!([]));
    other["spec"]["schedulingGroup"] = json!({"podGroupName": "loose"});
    let loose = updated().modified(gang("g", 1, &["0a0-new", "0a1"])).modified(other).end();
    assert!(message(replacements_are_members(&loose, "w")).contains("replaced Pod 0a0"));
    let mut early = gated("0a0-new", json!([]));
    early["spec"]["schedulingGroup"] = json!({"podGroupName": "late"});
    let early = updated().modified(gang("g", 1, &["0a0-new", "0a1"])).modified(early);
    let early = deleted(early, "0a0-new").added(object("PodGroup", "late")).end();
    assert!(message(replacements_are_members(&early, "w")).contains("before PodGroup late existed"));
}
