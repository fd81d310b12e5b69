use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::scopes::{Scaled, scaled};
use conformance_history::{Change, History, Live, list, name, text};
use serde_json::Value;

use crate::{Shown, none, violation};

pub const KIND: &str = "HorizontalPodAutoscaler";

const AUTOSCALER_DIFFERS: Code = Code::new("autoscaler-missing-or-different");
const ADOPTED: Code = Code::new("foreign-autoscaler-taken-over");

/// Each replica needs one autoscaler per scale configuration, except `taken`. Names and owners are free.
pub fn faults(live: &Live, pcs: &Value, taken: &[&str]) -> Vec<String> {
    let all: Vec<Scaled> = scaled(pcs).collect();
    let wanted = all.iter().filter(|scaled| !taken.contains(&scaled.name.as_str()));
    let wrong = wanted.filter_map(|wanted| {
        let mut found = live.of(KIND).filter(|found| scales(found, wanted));
        match (found.next(), found.count()) {
            (None, _) => Some(format!("no {KIND} scales {} {}", wanted.kind, wanted.name)),
            (Some(found), 0) => differs(found, wanted),
            (Some(_), others) => {
                Some(format!("{} {KIND}s scale {} {}, want 1", others + 1, wanted.kind, wanted.name))
            }
        }
    });
    let surplus = live
        .of(KIND)
        .filter(|found| scales_part_of(found, name(pcs)) && !all.iter().any(|one| scales(found, one)));
    let surplus = surplus
        .map(|found| format!("{KIND} {} exists, want it absent: no scaleConfig requests it", name(found)));
    wrong.chain(surplus).collect()
}

fn scales(autoscaler: &Value, scaled: &Scaled) -> bool {
    let target = &autoscaler["spec"]["scaleTargetRef"];
    is_of_grove(target) && target["kind"] == scaled.kind && target["name"] == scaled.name.as_str()
}

fn is_of_grove(target: &Value) -> bool {
    text(&target["apiVersion"]).starts_with("grove.io/")
}

/// Whether the target has the name of a clique or scaling group of the PodCliqueSet. It need not exist.
fn scales_part_of(autoscaler: &Value, set: &str) -> bool {
    let target = &autoscaler["spec"]["scaleTargetRef"];
    let rest = text(&target["name"]).strip_prefix(set).and_then(|rest| rest.strip_prefix('-'));
    let index = rest.and_then(|rest| rest.split_once('-')).map(|(index, _)| index);
    is_of_grove(target)
        && ["PodClique", "PodCliqueScalingGroup"].contains(&text(&target["kind"]))
        && index.is_some_and(|index| index.parse::<usize>().is_ok())
}

fn differs(found: &Value, wanted: &Scaled) -> Option<String> {
    let spec = &found["spec"];
    let min = &wanted.config["minReplicas"];
    let fault = if !min.is_null() && spec["minReplicas"] != *min {
        format!("has minReplicas {}, want {min}", spec["minReplicas"])
    } else if spec["maxReplicas"] != wanted.config["maxReplicas"] {
        format!("has maxReplicas {}, want {}", spec["maxReplicas"], wanted.config["maxReplicas"])
    } else {
        let (given, found) = (list(&wanted.config["metrics"]), list(&spec["metrics"]));
        // If the template has no metrics, the API server sets a default.
        let is_given = given.is_empty()
            || (given.len() == found.len()
                && given.iter().zip(found).all(|(given, found)| has_given_values(given, found)));
        if is_given {
            return None;
        }
        format!("has metrics {}, want those of the scaleConfig", spec["metrics"])
    };
    Some(format!("{KIND} {} {fault}", name(found)))
}

/// Whether the object has all given values. The API server may return a given number as a string.
fn has_given_values(given: &Value, found: &Value) -> bool {
    match (given, found) {
        (Value::Object(given), Value::Object(found)) => given
            .iter()
            .all(|(key, given)| found.get(key).is_some_and(|found| has_given_values(given, found))),
        (Value::Array(given), Value::Array(found)) => {
            given.len() == found.len()
                && given.iter().zip(found).all(|(given, found)| has_given_values(given, found))
        }
        (Value::Number(given), Value::String(found)) => given.to_string() == *found,
        _ => given == found,
    }
}

pub fn as_configured(live: &Live, pcs: &Value, taken: &[&str]) -> Ruling {
    none(faults(live, pcs, taken).into_iter().map(|fault| violation(AUTOSCALER_DIFFERS, fault)))
}

pub fn left_alone(history: &History, foreign: &str) -> Ruling {
    let mut versions = history.named(KIND, foreign);
    let Some(created) = versions.next() else { return Ok(()) };
    let is_same = |field: &dyn Fn(&Value) -> Value, found: &Value| field(found) == field(created.object);
    let touched = versions.find(|version| {
        version.change == Change::Deleted
            || !is_same(&|found| found["spec"].clone(), version.object)
            || !is_same(&|found| found["metadata"]["ownerReferences"].clone(), version.object)
    });
    none(touched.map(|version| {
        let message =
            format!("{KIND} {foreign} of another owner was changed, adopted or deleted, want it untouched");
        violation(ADOPTED, message).shown_by("before", created).shown_by("after", version)
    }))
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object, owned};
    use serde_json::json;

    use super::*;
    use crate::message;

    fn pcs() -> Value {
        let target = json!({"type": "AverageValue", "averageValue": 10});
        let metric = json!({"type": "Pods", "pods": {"metric": {"name": "queue"}, "target": target}});
        let config = json!({"maxReplicas": 6, "metrics": [metric]});
        json!({"kind": "PodCliqueSet", "metadata": {"name": "w", "uid": "u"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 2, "autoScalingConfig": config}}, {"name": "b", "spec": {}}],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": 3, "cliqueNames": ["b"],
                                        "scaleConfig": {"minReplicas": 1, "maxReplicas": 4}}],
        }}})
    }

    fn autoscaler(of: &str, kind: &str, limits: [usize; 2]) -> Value {
        let mut found = owned(object(KIND, of), "PodCliqueSet", "w");
        found["metadata"]["ownerReferences"][0]["uid"] = json!("u");
        found["spec"] = json!({
            "scaleTargetRef": {"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": of},
            "minReplicas": limits[0], "maxReplicas": limits[1],
            "metrics": [{"type": "Pods", "pods": {
                "metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "10"},
            }}],
        });
        found
    }

    fn faults_of(autoscalers: Vec<Value>) -> Vec<String> {
        faults(&Story::flat().added(pcs()).all_added(autoscalers).end().end(), &pcs(), &[])
    }

    fn matching() -> Vec<Value> {
        vec![autoscaler("w-0-a", "PodClique", [2, 6]), autoscaler("w-0-sg", "PodCliqueScalingGroup", [1, 4])]
    }

    #[test]
    fn a_missing_or_surplus_autoscaler_is_a_fault() {
        assert!(faults_of(matching()).is_empty(), "{:?}", faults_of(matching()));
        assert_eq!(faults_of(matching()[..1].to_vec()).len(), 1);
        for (target, of) in [("w-1-a", 1), ("v-0-a", 0), ("w-x-0-a", 0)] {
            let another = autoscaler(target, "PodClique", [2, 6]);
            let found = faults_of(matching().into_iter().chain([another]).collect());
            assert_eq!(found.len(), of, "{target}: {found:?}");
        }
        let live = Story::flat().added(pcs()).added(matching().remove(1)).end().end();
        assert_eq!(
            as_configured(&live, &pcs(), &["w-0-a"]),
            Ok(()),
            "another owner has an autoscaler of that name"
        );
        assert!(as_configured(&live, &pcs(), &[]).is_err());
    }

    #[rstest::rstest]
    #[case(1, "/spec/minReplicas", json!(2))]
    #[case(0, "/spec/maxReplicas", json!(7))]
    #[case(0, "/spec/scaleTargetRef/name", json!("v-0-a"))]
    #[case(0, "/spec/scaleTargetRef/kind", json!("Deployment"))]
    #[case(0, "/spec/scaleTargetRef/apiVersion", json!("apps/v1"))]
    #[case(0, "/spec/metrics/0/pods/target/averageValue", json!("11"))]
    #[case(0, "/spec/metrics", json!([]))]
    fn a_wrong_field_is_a_fault(#[case] index: usize, #[case] pointer: &str, #[case] value: Value) {
        let mut found = matching();
        *found[index].pointer_mut(pointer).unwrap() = value;
        assert_eq!(faults_of(found).len(), 1);
    }

    #[rstest::rstest]
    #[case::another_name("/metadata/name", json!("hpa-of-a"))]
    #[case::another_owner("/metadata/ownerReferences/0/uid", json!("another"))]
    #[case::a_limit_that_is_not_given("/spec/minReplicas", json!(1))]
    fn the_operator_chooses_what_the_configuration_leaves_open(#[case] pointer: &str, #[case] value: Value) {
        let mut found = matching();
        *found[0].pointer_mut(pointer).unwrap() = value;
        assert_eq!(faults_of(found), [""; 0]);
    }

    #[test]
    fn two_autoscalers_of_one_clique_are_a_fault() {
        let mut second = autoscaler("w-0-a", "PodClique", [2, 6]);
        second["metadata"]["name"] = json!("hpa-of-a");
        let found = faults_of(matching().into_iter().chain([second]).collect());
        assert_eq!(found, ["2 HorizontalPodAutoscalers scale PodClique w-0-a, want 1"]);
    }

    #[test]
    fn an_autoscaler_of_another_owner_that_is_changed_is_a_violation() {
        let foreign = || {
            let mut foreign = object(KIND, "w-0-a");
            foreign["spec"] = json!({"maxReplicas": 3});
            foreign
        };
        let then = |next: Value| Story::flat().added(foreign()).modified(next).end();
        let mut with_status = foreign();
        with_status["status"] = json!({"currentReplicas": 1});
        assert_eq!(left_alone(&then(with_status), "w-0-a"), Ok(()));
        let mut changed = foreign();
        changed["spec"]["maxReplicas"] = json!(6);
        for next in [changed, owned(foreign(), "PodCliqueSet", "w")] {
            assert!(message(left_alone(&then(next), "w-0-a")).contains("of another owner"));
        }
        assert!(left_alone(&Story::flat().added(foreign()).deleted(foreign()).end(), "w-0-a").is_err());
    }
}
