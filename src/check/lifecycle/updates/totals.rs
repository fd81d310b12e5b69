use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::scopes::ScalingGroup;
use conformance_history::{Live, count, name, text};
use serde_json::Value;

use crate::lifecycle::counts::replicas_of;
use crate::{none, violation};

const END_NOT_REPORTED: Code = Code::new("end-of-update-not-reported");

/// Requires that the statuses report everything as updated (UPD-38), after an update has ended.
pub fn end_is_reported(live: &Live, pcs: &Value) -> Ruling {
    none(faults(live, pcs).into_iter().map(|fault| violation(END_NOT_REPORTED, fault)))
}

fn faults(live: &Live, pcs: &Value) -> Vec<String> {
    let set = name(pcs);
    let Some(found) = live.get("PodCliqueSet", set) else {
        return vec![format!("PodCliqueSet {set} does not exist")];
    };
    let replicas = replicas_of(live, pcs);
    let standalone: Vec<_> = replicas.iter().flat_map(|replica| &replica.standalone).collect();
    let groups: Vec<_> = replicas.iter().flat_map(|replica| &replica.groups).collect();
    let members = |group: &ScalingGroup| {
        let found = live.get("PodCliqueScalingGroup", &group.name);
        let size = found.and_then(|found| count(&found["spec"]["replicas"])).unwrap_or(group.replicas);
        (0..size).map(|index| group.replica(index).count()).sum::<usize>()
    };
    // Grove's API does not say whether the PodCliques of scaling groups count.
    let all = standalone.len() + groups.iter().map(|group| members(group)).sum::<usize>();
    let mut faults: Vec<String> = Vec::new();
    faults.extend(miscounted(found, "PodCliques", &[standalone.len(), all]));
    faults.extend(miscounted(found, "PodCliqueScalingGroups", &[groups.len()]));
    for group in &groups {
        let status = live.get("PodCliqueScalingGroup", &group.name);
        faults.extend(status.and_then(|status| miscounted(status, "PodCliques", &[members(group)])));
    }
    let cliques = standalone.iter().map(|clique| ("PodClique", &clique.name));
    let hash = &found["status"]["currentGenerationHash"];
    if hash.is_null() {
        faults.push(format!("PodCliqueSet {set}: currentGenerationHash is null"));
    }
    for (kind, name) in cliques.chain(groups.iter().map(|group| ("PodCliqueScalingGroup", &group.name))) {
        let reported =
            live.get(kind, name).map(|object| &object["status"]["currentPodCliqueSetGenerationHash"]);
        if reported != Some(hash) {
            let reported = reported.unwrap_or(&Value::Null);
            faults
                .push(format!("{kind} {name}: currentPodCliqueSetGenerationHash is {reported}, want {hash}"));
        }
    }
    faults
}

fn miscounted(object: &Value, what: &str, wanted: &[usize]) -> Option<String> {
    let progress = &object["status"]["updateProgress"];
    let [updated, total] =
        ["updated", "total"].map(|part| count(&progress[format!("{part}{what}Count")]).unwrap_or(0));
    (updated != total || !wanted.contains(&total)).then(|| {
        let object = format!("{} {}", text(&object["kind"]), name(object));
        format!("{object}: {updated} of {total} {what} are updated, want all {}", wanted[0])
    })
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::*;
    use crate::message;

    fn pcs() -> Value {
        json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {}}, {"name": "b", "spec": {}}],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": 3, "cliqueNames": ["b"]}],
        }}})
    }

    fn objects() -> [Value; 3] {
        let mut set = object("PodCliqueSet", "w");
        set["spec"]["replicas"] = json!(1);
        set["status"] = json!({"currentGenerationHash": "h", "updateProgress": {
            "updatedPodCliquesCount": 1, "totalPodCliquesCount": 1,
            "updatedPodCliqueScalingGroupsCount": 1, "totalPodCliqueScalingGroupsCount": 1,
        }});
        let mut clique = object("PodClique", "w-0-a");
        clique["status"] = json!({"currentPodCliqueSetGenerationHash": "h"});
        let mut group = object("PodCliqueScalingGroup", "w-0-sg");
        group["spec"]["replicas"] = json!(2);
        group["status"] = json!({"currentPodCliqueSetGenerationHash": "h", "updateProgress": {
            "updatedPodCliquesCount": 2, "totalPodCliquesCount": 2,
        }});
        [set, clique, group]
    }

    fn ruling(objects: [Value; 3]) -> Ruling {
        end_is_reported(&Story::flat().all_added(objects).end().end(), &pcs())
    }

    #[test]
    fn pod_cliques_of_groups_may_count() {
        assert_eq!(ruling(objects()), Ok(()));
        let mut all = objects();
        for field in ["updatedPodCliquesCount", "totalPodCliquesCount"] {
            all[0]["status"]["updateProgress"][field] = json!(3);
        }
        assert_eq!(ruling(all), Ok(()));
    }

    #[rstest::rstest]
    #[case(0, "/status/updateProgress/updatedPodCliquesCount", json!(0), "PodCliqueSet w: 0 of 1 PodCliques are updated, want all 1")]
    #[case(
        0, "/status/updateProgress/updatedPodCliqueScalingGroupsCount", json!(0),
        "PodCliqueSet w: 0 of 1 PodCliqueScalingGroups are updated, want all 1"
    )]
    #[case(
        2, "/status/updateProgress", json!({"updatedPodCliquesCount": 3, "totalPodCliquesCount": 3}),
        "PodCliqueScalingGroup w-0-sg: 3 of 3 PodCliques are updated, want all 2"
    )]
    #[case(
        1, "/status/currentPodCliqueSetGenerationHash", json!("g"),
        r#"PodClique w-0-a: currentPodCliqueSetGenerationHash is "g", want "h""#
    )]
    #[case(
        2,
        "/status/currentPodCliqueSetGenerationHash",
        Value::Null,
        r#"PodCliqueScalingGroup w-0-sg: currentPodCliqueSetGenerationHash is null, want "h""#
    )]
    fn an_end_that_a_status_does_not_report_is_a_violation(
        #[case] object: usize,
        #[case] at: &str,
        #[case] value: Value,
        #[case] wanted: &str,
    ) {
        let mut objects = objects();
        *objects[object].pointer_mut(at).unwrap() = value;
        assert_eq!(message(ruling(objects)), wanted);
    }

    #[test]
    fn statuses_without_any_hash_are_a_violation() {
        let mut objects = objects();
        for (object, field) in objects.iter_mut().zip([
            "currentGenerationHash",
            "currentPodCliqueSetGenerationHash",
            "currentPodCliqueSetGenerationHash",
        ]) {
            object["status"][field] = Value::Null;
        }
        assert_eq!(message(ruling(objects)), "PodCliqueSet w: currentGenerationHash is null");
    }
}
