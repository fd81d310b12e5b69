use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::Gang;
use conformance_facts::gang_resources::{expected, is_gang_resource};
use conformance_facts::warnings::has_warning;
use conformance_history::{Change, History};
use serde_json::Value;

use super::{Shown, ensure, none, violation};

const CREATED_FOR_INEXPRESSIBLE_GANG: Code = Code::new("created-for-inexpressible-gang");
const NO_WARNING: Code = Code::new("no-warning");
const RELEASED_UNSERVED: Code = Code::new("released-unserved");

pub fn no_gang_resource_created(history: &History, gang: &Gang) -> Ruling {
    let (expected, pod_gang) = (expected(history, gang), gang.name.as_str());
    let named = |name: &str| expected.iter().any(|resource| resource.name.matches(name));
    let owned = |object: &Value| {
        let owners = object["metadata"]["ownerReferences"].as_array();
        owners.into_iter().flatten().any(|owner| owner["kind"] == "PodGang" && owner["name"] == pod_gang)
    };
    let created = history.versions().filter(|version| is_gang_resource(version.object));
    none(created.filter(|version| named(version.name()) || owned(version.object)).map(|version| {
        let message = format!(
            "{} {} was created for PodGang {pod_gang}, want no gang resource",
            version.kind(),
            version.name()
        );
        violation(CREATED_FOR_INEXPRESSIBLE_GANG, message).shown_by("observed", version)
    }))
}

/// Requires that a Warning event reports the reason, no gang resource was created, and no pod was ungated.
pub fn failed_closed(history: &History, gang: &Gang, about: &str) -> Ruling {
    let pod_gang = gang.name.as_str();
    ensure(has_warning(&history.end(), gang, about), || {
        violation(
            NO_WARNING,
            format!("PodGang {pod_gang}: no Warning event on it or its PodCliqueSet contains {about:?}"),
        )
    })?;
    no_gang_resource_created(history, gang)?;
    let of_gang = history.pods().filter(|version| version.pod().pod_gang() == Some(pod_gang));
    let existing = of_gang.filter(|version| version.change != Change::Deleted);
    none(existing.filter(|version| version.pod().gates().is_empty()).map(|version| {
        violation(
            RELEASED_UNSERVED,
            format!("Pod {} of PodGang {pod_gang} lost its gate, want it kept", version.name()),
        )
        .shown_by("no gate", version)
    }))
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_contract::target::Target;
    use conformance_history::testing::{Story, object, owned};
    use serde_json::json;

    use super::*;

    const KIND: &str = "PodGroup.scheduling.sigs.k8s.io";

    fn pod(gated: bool) -> Value {
        let gates = if gated { json!([{"name": names::GATE}]) } else { json!([]) };
        json!({"kind": "Pod", "metadata": {"name": "p", "labels": {names::POD_GANG: "g"}},
            "spec": {"schedulingGates": gates}})
    }

    fn pod_of_another_gang() -> Value {
        let mut released = pod(false);
        released["metadata"]["labels"][names::POD_GANG] = json!("h");
        released
    }

    fn ruling(about: &str, others: Vec<Value>) -> Ruling {
        let event = json!({"kind": "Event", "metadata": {"name": "e"}, "type": "Warning",
            "involvedObject": {"kind": "PodGang", "name": "g"}, "message": "no layer for zone"});
        let mut gang = object("PodGang", "g");
        gang["spec"]["podgroups"] = json!([{"name": "a", "minReplicas": 1}]);
        let story = Story::on(Target::KOORDINATOR).added(gang).added(pod(true)).added(event);
        failed_closed(&story.all_added(others).end(), &Gang::named_only("g"), about)
    }

    #[rstest::rstest]
    #[case::failed_closed("zone", vec![object(KIND, "other")], true)]
    #[case::of_another_pod_gang("zone", vec![owned(object(KIND, "h-a"), "PodGang", "h")], true)]
    #[case::not_reported("rack", vec![], false)]
    #[case::created("zone", vec![object(KIND, "g-a")], false)]
    #[case::created_with_another_name("zone", vec![owned(object(KIND, "x"), "PodGang", "g")], false)]
    #[case::released("zone", vec![pod(false)], false)]
    #[case::released_for_another_pod_gang("zone", vec![pod_of_another_gang()], true)]
    fn a_backend_that_does_not_fail_closed_is_a_violation(
        #[case] about: &str,
        #[case] others: Vec<Value>,
        #[case] is_satisfied: bool,
    ) {
        assert_eq!(ruling(about, others).is_ok(), is_satisfied);
    }
}
