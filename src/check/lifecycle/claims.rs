//! Checks of shared ResourceClaims (GANG-30), also after a termination (TERM-20) and a scale-in (DEL-14).

use std::collections::BTreeSet;

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::claims::{SharedClaim, named_claims, of_set};
use conformance_expect::scopes::Scope;
use conformance_facts::generations::{only_generation, terminations};
use conformance_facts::health::{has_fields, is_bound};
use conformance_history::{Change, History, Live, Pod, Version, is_owned_by, list, text};
use serde_json::Value;

use crate::{Shown, ensure, none, violation};

const CLAIM_DIFFERS: Code = Code::new("claim-missing-or-different");
const NOT_SCALED_IN: Code = Code::new("claims-not-scaled-in");
const NONE_SHARED: Code = Code::new("no-claim-shared");
const NOT_FREED: Code = Code::new("claim-not-freed");
const BOUND_AWAY: Code = Code::new("bound-away-from-claim");
const BOUND_TO_LOST_NODE: Code = Code::new("tied-to-former-devices");

/// Requires that the claims of a PodCliqueSet exist, each with its owner and the spec of its template.
pub fn as_shared(live: &Live, pcs: &Value) -> Ruling {
    let templates = list(&pcs["spec"]["template"]["resourceClaimTemplates"]);
    none(of_set(pcs).into_iter().filter_map(|claim| {
        let named = |template: &&Value| template["name"] == claim.template.as_str();
        let spec = templates.iter().find(named).map(|template| &template["templateSpec"]["spec"]);
        let fault = fault(live, &claim, spec.unwrap_or(&Value::Null))?;
        Some(violation(CLAIM_DIFFERS, format!("ResourceClaim {} {fault}", claim.name)))
    }))
}

/// Requires that a scale-in deleted exactly the claims of `former` that `scaled` lacks (DEL-14).
pub fn scaled_in(live: &Live, former: &Value, scaled: &Value) -> Ruling {
    let kept = of_set(scaled);
    none(of_set(former).into_iter().filter_map(|claim| {
        let name = &claim.name;
        match (live.get("ResourceClaim", name), kept.contains(&claim)) {
            (Some(found), false) => {
                let message = format!("ResourceClaim {name} still exists after a scale-in");
                Some(violation(NOT_SCALED_IN, message).shown_by_object("still exists", found))
            }
            (None, true) => {
                let message =
                    format!("ResourceClaim {name}, which pods still share, is missing after a scale-in");
                Some(violation(NOT_SCALED_IN, message))
            }
            _ => None,
        }
    }))
}

fn fault(live: &Live, claim: &SharedClaim, spec: &Value) -> Option<String> {
    let Some(found) = live.get("ResourceClaim", &claim.name) else {
        return Some("does not exist".to_owned());
    };
    let (kind, owner) = (claim.owner.0, claim.owner.1.as_str());
    if !live.get(kind, owner).is_some_and(|owner| is_owned_by(found, owner)) {
        return Some(format!("is not owned by {kind} {owner}"));
    }
    (!has_fields(&found["spec"], spec)).then(|| format!("differs from its template {}", claim.template))
}

/// Requires that the pods of a generation share a claim. A generation without pods passes.
pub fn are_shared(history: &History, scope: &Scope, generation: usize) -> Ruling {
    let selected = only_generation(history, scope, generation);
    let has_pods = selected.pods().any(|version| scope.has(version.pod()));
    let exists = |claim: &String| history.named("ResourceClaim", claim).next().is_some();
    ensure(!has_pods || shared(&selected, scope).iter().any(exists), || {
        let message =
            format!("the pods of {scope} in generation {generation} share no existing ResourceClaim");
        violation(NONE_SHARED, message)
    })
}

/// Requires that shared claims are free or deleted, if only briefly, after the last old pod (TERM-20).
pub fn are_freed(history: &History, scope: &Scope) -> Ruling {
    let claims = shared(&only_generation(history, scope, 0), scope);
    none(terminations(history, scope).first().into_iter().flat_map(|termination| {
        let is_old = |version: &Version<'_>| termination.old.contains(version.uid());
        let ends: Vec<_> =
            history.pods().filter(|pod| is_old(pod) && pod.change == Change::Deleted).collect();
        let last =
            ends.iter().max_by_key(|end| end.revision()).filter(|_| ends.len() == termination.old.len());
        let not_freed = |claim: &String| {
            let Some(last) = last else {
                let message = format!(
                    "ResourceClaim {claim} is not free: a pod of {scope} that shared it still exists"
                );
                return Some(violation(NOT_FREED, message).shown_by("first deletion", termination.started));
            };
            let versions = || history.named("ResourceClaim", claim);
            let is_free =
                |version: &Version<'_>| version.change == Change::Deleted || is_free(version.object);
            if versions().any(|version| version.revision() > last.revision() && is_free(&version)) {
                return None;
            }
            let message = format!(
                "ResourceClaim {claim} stayed allocated after the last pod of {scope} that shared it was \
                 deleted"
            );
            let found = violation(NOT_FREED, message).shown_by("last pod deleted", *last);
            Some(versions().last().into_iter().fold(found, |found, version| found.shown_by("claim", version)))
        };
        claims.iter().filter_map(not_freed).collect::<Vec<_>>()
    }))
}

pub fn are_on_the_nodes_of_their_claims(live: &Live, scope: &Scope, lost: &[&str]) -> Ruling {
    none(live.pods().filter(|pod| scope.has(*pod) && is_bound(*pod)).flat_map(|pod| {
        let found = claims_of(pod).filter_map(|name| not_at_claim(live, pod, name, lost));
        found.collect::<Vec<_>>()
    }))
}

fn not_at_claim(live: &Live, pod: Pod<'_>, name: &str, lost: &[&str]) -> Option<Violation> {
    let node = pod.node().unwrap_or_default();
    let claim = live.get("ResourceClaim", name);
    let status = claim.map(|claim| &claim["status"]);
    let reserved = status.map(|status| list(&status["reservedFor"])).unwrap_or_default();
    let results = status.map(|status| list(&status["allocation"]["devices"]["results"])).unwrap_or_default();
    let pools: Vec<_> = results.iter().map(|result| text(&result["pool"])).collect();
    let (code, message) = if pools.is_empty() || pools.iter().any(|pool| *pool != node) {
        let nodes = if pools.is_empty() { "none".to_owned() } else { pools.join(", ") };
        (
            BOUND_AWAY,
            format!(
                "Pod {} is bound to Node {node}, but its ResourceClaim {name} has devices of {nodes}",
                pod.name()
            ),
        )
    } else if lost.contains(&node) {
        (BOUND_TO_LOST_NODE, format!("Pod {} was bound to the lost Node {node} again", pod.name()))
    } else if !reserved.iter().any(|consumer| consumer["uid"] == pod.uid()) {
        (
            BOUND_AWAY,
            format!("Pod {} is bound, but its ResourceClaim {name} is not reserved for it", pod.name()),
        )
    } else {
        return None;
    };
    let found = violation(code, message).shown_by_object("pod", pod.0);
    Some(claim.into_iter().fold(found, |found, claim| found.shown_by_object("claim", claim)))
}

fn is_free(claim: &Value) -> bool {
    let status = &claim["status"];
    status["allocation"].is_null() && list(&status["reservedFor"]).is_empty()
}

fn shared(history: &History, scope: &Scope) -> BTreeSet<String> {
    let mut pods = history.pods().filter(|version| scope.has(version.pod()));
    let named =
        |version: Version<'_>| -> BTreeSet<String> { claims_of(version.pod()).map(str::to_owned).collect() };
    let first = pods.next().map(named).unwrap_or_default();
    pods.map(named).fold(first, |all, its| all.intersection(&its).cloned().collect())
}

/// Returns the claims of a pod, except those that were created for this pod alone.
fn claims_of(pod: Pod<'_>) -> impl Iterator<Item = &str> {
    named_claims(&pod.0["spec"]).map(|(_, claim)| claim)
}

#[cfg(test)]
mod tests {
    use conformance_facts::testing::{claim, pod, scope, terminating_pod};
    use conformance_history::testing::{Story, object, owned};
    use serde_json::json;

    use super::*;
    use crate::message;

    fn with_claim(mut pod: Value) -> Value {
        pod["spec"]["resourceClaims"] = json!([{"name": "c", "resourceClaimName": "c"}, {"name": "own"}]);
        pod
    }

    /// Records that `a` and `b` run on `n` with a claim. Both are recreated; `b` is deleted last.
    fn terminated() -> Story {
        Story::flat()
            .added(with_claim(pod("a", None)))
            .added(with_claim(pod("b", None)))
            .modified(with_claim(pod("a", Some("n"))))
            .modified(with_claim(pod("b", Some("n"))))
            .added(claim(Some("n"), &["a", "b"]))
            .modified(with_claim(terminating_pod("a")))
            .modified(with_claim(terminating_pod("b")))
            .added(with_claim(pod("c", None)))
            .added(with_claim(pod("d", None)))
            .deleted(with_claim(terminating_pod("a")))
    }

    fn freed(story: Story) -> Ruling {
        are_freed(&story.end(), &scope())
    }

    #[test]
    fn a_claim_that_stays_allocated_after_its_last_pod_is_a_violation() {
        let deleted = || terminated().deleted(with_claim(terminating_pod("b")));
        assert_eq!(freed(deleted().modified(claim(None, &[]))), Ok(()));
        assert_eq!(freed(deleted().deleted(claim(Some("n"), &[]))), Ok(()), "deleted");
        assert!(message(freed(terminated())).contains("still exists"));
        assert!(
            message(freed(terminated().modified(claim(None, &[])))).contains("still exists"),
            "too early"
        );
        let kept = deleted().modified(claim(Some("n"), &["somebody"]));
        assert!(message(freed(kept)).contains("stayed allocated"));
    }

    #[test]
    fn a_pod_on_another_node_than_its_devices_is_a_violation() {
        let bound = |name: &str, node: &str| with_claim(pod(name, Some(node)));
        let with_claim_of = |pool: Option<&str>, reserved: &[&str]| {
            let story = Story::flat().added(bound("c", "m")).added(claim(pool, reserved));
            are_on_the_nodes_of_their_claims(&story.end().end(), &scope(), &["n"])
        };
        let uid = "uid-of-Pod-c";
        assert_eq!(with_claim_of(Some("m"), &[uid]), Ok(()));
        assert!(message(with_claim_of(Some("n"), &[uid])).contains("has devices of n"));
        assert!(message(with_claim_of(None, &[])).contains("has devices of none"));
        assert!(message(with_claim_of(Some("m"), &["a"])).contains("not reserved for it"));
        let again = Story::flat().added(bound("c", "n")).added(claim(Some("n"), &[uid])).end();
        assert!(
            message(are_on_the_nodes_of_their_claims(&again.end(), &scope(), &["n"]))
                .contains("lost Node n again")
        );
    }

    #[rstest::rstest]
    #[case::as_shared("/metadata/name", json!("w-0-a-0-device"), None)]
    #[case::missing("/metadata/name", json!("w-0-a-device"), Some("does not exist"))]
    #[case::unowned("/metadata/ownerReferences", Value::Null, Some("is not owned by PodClique w-0-a"))]
    #[case::other_device(
        "/spec/devices/requests/0/exactly/deviceClassName", json!("other"), Some("differs from its template device")
    )]
    fn a_claim_that_differs_from_its_template_is_a_violation(
        #[case] at: &str,
        #[case] value: Value,
        #[case] wanted: Option<&str>,
    ) {
        let request = json!({"name": "device", "exactly": {"deviceClassName": "gpu"}});
        let spec = json!({"devices": {"requests": [request]}});
        let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "resourceClaimTemplates": [{"name": "device", "templateSpec": {"spec": spec}}],
            "cliques": [{"name": "a", "resourceSharing": [{"name": "device", "scope": "PerReplica"}]}],
        }}});
        let mut found = owned(object("ResourceClaim", "w-0-a-0-device"), "PodClique", "w-0-a");
        found["spec"] = spec;
        found["spec"]["devices"]["requests"][0]["exactly"]["count"] = json!(1);
        *found.pointer_mut(at).unwrap() = value;
        let live = Story::flat().added(object("PodClique", "w-0-a")).added(found).end().end();
        let message = |fault: &str| format!("ResourceClaim w-0-a-0-device {fault}");
        match wanted {
            None => assert_eq!(as_shared(&live, &pcs), Ok(())),
            Some(fault) => assert_eq!(crate::message(as_shared(&live, &pcs)), message(fault)),
        }
    }

    #[rstest::rstest]
    #[case::removed(&["w-0-sg-0-device", "w-0-sg-all-device"], None)]
    #[case::left(
        &["w-0-sg-0-device", "w-0-sg-1-device", "w-0-sg-all-device"],
        Some("ResourceClaim w-0-sg-1-device still exists after a scale-in")
    )]
    #[case::another_removed(
        &["w-0-sg-0-device"],
        Some("ResourceClaim w-0-sg-all-device, which pods still share, is missing after a scale-in")
    )]
    fn a_scale_in_removes_the_claims_of_the_removed_replicas(
        #[case] existing: &[&str],
        #[case] wanted: Option<&str>,
    ) {
        let set = |replicas: usize| {
            let sharing =
                ["PerReplica", "AllReplicas"].map(|scope| json!({"name": "device", "scope": scope}));
            let group =
                json!({"name": "sg", "replicas": replicas, "cliqueNames": ["b"], "resourceSharing": sharing});
            json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
                "cliques": [{"name": "b"}], "podCliqueScalingGroups": [group],
            }}})
        };
        // GANG-30 is about the owners and specs of claims.
        let claims = existing.iter().map(|claim| object("ResourceClaim", claim));
        let ruling = scaled_in(&Story::flat().all_added(claims).end().end(), &set(2), &set(1));
        match wanted {
            None => assert_eq!(ruling, Ok(())),
            Some(message) => assert_eq!(crate::message(ruling), message),
        }
    }

    #[test]
    fn pods_that_share_no_existing_claim_are_a_violation() {
        let both = || Story::flat().added(with_claim(pod("a", None))).added(with_claim(pod("b", None)));
        let check = |story: Story| are_shared(&story.end(), &scope(), 0);
        assert_eq!(check(both().added(claim(None, &[]))), Ok(()));
        assert!(message(check(both())).contains("share no existing ResourceClaim"), "never created");
        let alone =
            Story::flat().added(claim(None, &[])).added(with_claim(pod("a", None))).added(pod("b", None));
        assert!(message(check(alone)).contains("share no existing ResourceClaim"));
        assert_eq!(check(Story::flat()), Ok(()), "no pods");
    }
}
