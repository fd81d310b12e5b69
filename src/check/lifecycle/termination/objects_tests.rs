use conformance_facts::generations::terminations;
use conformance_facts::testing::{pod, running, scope, terminating_pod};
use conformance_history::testing::{Story, object, owned};
use serde_json::json;

use super::*;
use crate::message;

fn labelled(mut object: Value, replica: &str) -> Value {
    object["metadata"]["labels"] = json!({names::PART_OF: "w", names::REPLICA_INDEX: replica});
    object
}

fn gang() -> Value {
    labelled(object("PodGang", "w-0"), "0")
}

fn clique(replicas: usize) -> Value {
    let mut clique = labelled(object("PodClique", "w-0-a"), "0");
    clique["spec"]["replicas"] = json!(replicas);
    clique
}

fn created_again(mut object: Value) -> Value {
    object["metadata"]["uid"] = json!("another");
    object
}

fn before() -> Story {
    running().added(gang()).added(clique(3)).added(labelled(object("Service", "w-1"), "1"))
}

fn terminated(story: Story) -> Story {
    story.modified(terminating_pod("a")).modified(terminating_pod("b")).added(pod("c", None))
}

fn check_kept(story: Story) -> Ruling {
    let history = story.end();
    let found = terminations(&history, &scope());
    kept(&history, &scope(), &found[0], history.entries.len())
}

fn check_untouched(story: Story) -> Ruling {
    let history = story.end();
    let found = terminations(&history, &scope());
    other_replicas_untouched(&history, &scope(), &found[0], history.entries.len())
}

#[test]
fn a_termination_keeps_gangs_shared_claims_and_replicas() {
    assert_eq!(check_kept(terminated(before())), Ok(()));
    let after = terminated(before()).modified(created_again(gang()));
    assert!(message(check_kept(after)).contains("PodGang w-0 was deleted or created again"));
    let converged = before().mark(SharedMark::Converged, json!({"name": "w"}));
    let ahead = terminated(converged.deleted(gang())).added(created_again(gang()));
    assert!(message(check_kept(ahead)).contains("PodGang w-0 was deleted or created again"));
    let claim = |owner: &str| owned(labelled(object("ResourceClaim", "c"), "0"), owner, "w");
    let claims = |owner: &str| terminated(before().added(claim(owner))).modified(created_again(claim(owner)));
    let shared = message(check_kept(claims("PodCliqueSet")));
    assert!(shared.contains("ResourceClaim c was deleted or created again"), "{shared}");
    assert_eq!(check_kept(claims("PodClique")), Ok(()), "it may be deleted with its PodClique");
    let smaller = terminated(before()).modified(created_again(clique(2)));
    assert!(message(check_kept(smaller)).contains("no longer has 3 replicas"));
    let other = terminated(before()).modified(labelled(object("Service", "w-1"), "1"));
    assert_eq!(check_kept(other), Ok(()));
}

#[test]
fn a_termination_does_not_change_other_replicas() {
    assert_eq!(check_untouched(terminated(before()).modified(created_again(clique(2)))), Ok(()));
    let other = terminated(before()).modified(labelled(object("Service", "w-1"), "1"));
    assert!(message(check_untouched(other)).contains("Service w-1 of another replica was changed"));
    let autoscaler = || labelled(object(autoscalers::KIND, "w-1-a"), "1");
    let scaled = |last: Value| check_untouched(terminated(before().added(autoscaler())).modified(last));
    assert_eq!(scaled(autoscaler()), Ok(()), "others write its status");
    let again = message(scaled(created_again(autoscaler())));
    assert!(again.contains("w-1-a was deleted or created again"), "{again}");
}
