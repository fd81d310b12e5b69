//! A base PodGang of 2 podgroups and a scaled PodGang of one podgroup. Then the case creates a pod without a
//! gang. Once KAI's podgrouper has created a PodGroup for this pod, it has processed all earlier pods.

use conformance_expect::schedulers::kai::{POD_GROUP, PODGROUPER, QUEUE};
use conformance_facts::gang_resources::is_gang_resource;
use conformance_history::{Change, Version, controller};

use crate::prelude::*;

const OF_PODGROUPER: Code = Code::new("podgroup-of-podgrouper");

pub(crate) const CASE: Case = case!("No PodGroup created by KAI's podgrouper is used or left for a PodGang")
    .clauses(&[KAI_07])
    .nodes(&[nodes(1)])
    .needs(&[Need::Process("kai-podgrouper")]);

const SET: &str = "ungrouped";
const LOOSE: &str = "loose";

marks! { GROUPED = "podgrouper passed"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": LOOSE, "labels": {names::CANARY: "true", QUEUE.0: QUEUE.1}},
        "spec": {
            "schedulerName": test.target.backend(),
            "nodeSelector": {names::CANARY: "true"},
            "tolerations": [{"key": names::CANARY, "operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}],
        },
    });
    test.create("Pod", &pod).await?;
    test.until("a PodGroup that KAI's podgrouper creates for a pod without a gang", REACTION, |live| {
        live.of(POD_GROUP).any(|found| is_owned_by(found, LOOSE))
    })
    .await?;
    test.mark(GROUPED, Value::Null);
    Ok(())
}

fn is_owned_by(object: &Value, owner: &str) -> bool {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(|found| found["name"] == owner)
}

/// Requires that no PodGroup of KAI's podgrouper remains, and that no pod of the PodCliqueSet ever named one.
/// GANG-08 covers further PodGroups of the operator.
fn podgrouper_has_no_part(history: &History) -> Ruling {
    let created = history.of(POD_GROUP).filter(|version| version.change == Change::Added);
    let created =
        created.filter(|version| is_gang_resource(version.object) && !is_owned_by(version.object, LOOSE));
    let created: Vec<_> = created.collect();
    let by_podgrouper =
        || created.iter().filter(|version| is_created_by_podgrouper(version.object) == Some(true));
    let end = history.end();
    let remains = |version: &&Version<'_>| {
        let left = end.get(POD_GROUP, version.name());
        left.is_some_and(|left| Version::of(left).uid() == version.uid())
    };
    let left = by_podgrouper().filter(remains).map(|version| {
        let message = format!("PodGroup {}, which KAI's podgrouper created, remains", version.name());
        violation(OF_PODGROUPER, message).shown_by("created", *version)
    });
    let expectations = schedulers::of(history.header.target);
    let of_set = history.pods().filter(|version| version.label(names::PART_OF) == Some(SET));
    let naming = of_set.filter_map(|version| {
        let named = expectations.named_by(version.pod())?;
        let group = by_podgrouper().find(|group| group.name() == named)?;
        let message =
            format!("Pod {} names PodGroup {named}, which KAI's podgrouper created", version.name());
        Some(violation(OF_PODGROUPER, message).shown_by("created", *group).shown_by("names it", version))
    });
    none(left.chain(naming.take(1)))?;
    // A podgrouper's PodGroup has the owner of the pods as controller, never a PodGang.
    let is_of_gang =
        |version: &Version<'_>| controller(version.object).is_some_and(|owner| owner["kind"] == "PodGang");
    let unknown =
        |version: &&Version<'_>| is_created_by_podgrouper(version.object).is_none() && !is_of_gang(version);
    match created.iter().find(unknown) {
        Some(version) => {
            Err(Broken::NotReached(format!("the creator of PodGroup {} is unknown", version.name())))
        }
        None => Ok(()),
    }
}

fn is_created_by_podgrouper(object: &Value) -> Option<bool> {
    let managers = object["metadata"]["managedFields"].as_array()?;
    Some(managers.iter().any(|entry| PODGROUPER.contains(&text(&entry["manager"]))))
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KAI_07, || {
        history.reached(GROUPED)?;
        let gangs = history.gangs(SET)?;
        let matched = gang_resources::match_pod_gangs(history, &history.end(), &gangs);
        all([podgrouper_has_no_part(history), precondition(GANG_08, matched)])
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, object, owned};

    use super::*;

    fn pod_group(name: &str, manager: &str) -> Value {
        let mut group = owned(object(POD_GROUP, name), "PodCliqueSet", SET);
        group["metadata"]["managedFields"] = json!([{"manager": manager}]);
        group
    }

    fn pod(group: &str) -> Value {
        let mut pod = object("Pod", "p");
        pod["metadata"]["labels"] = json!({names::PART_OF: SET});
        pod["metadata"]["annotations"] = json!({"pod-group-name": group});
        pod
    }

    #[test]
    fn a_pod_group_of_the_podgrouper_must_not_remain() {
        let of_loose = owned(object(POD_GROUP, "pg-loose-1"), "Pod", LOOSE);
        let story = |group: Value| Story::on(Target::KAI).added(of_loose.clone()).added(group);
        assert_eq!(podgrouper_has_no_part(&story(pod_group("ungrouped-0", "grove-operator")).end()), Ok(()));
        let foreign = object("PodGroup.scheduling.volcano.sh", "pg-x");
        assert_eq!(podgrouper_has_no_part(&story(foreign).end()), Ok(()));
        let created = story(pod_group("pg-ungrouped-1", "podgrouper"));
        assert_eq!(codes(podgrouper_has_no_part(&created.clone().end())), ["podgroup-of-podgrouper"]);
        let deleted = created.deleted(pod_group("pg-ungrouped-1", "podgrouper"));
        assert_eq!(podgrouper_has_no_part(&deleted.end()), Ok(()));
    }

    #[test]
    fn a_pod_must_never_name_a_pod_group_of_the_podgrouper() {
        let ruling = |manager: &str| {
            let group = || pod_group("pg-ungrouped-1", manager);
            let named = Story::on(Target::KAI).added(group()).added(pod("pg-ungrouped-1"));
            podgrouper_has_no_part(&named.modified(pod("ungrouped-0")).deleted(group()).end())
        };
        assert_eq!(codes(ruling("podgrouper")), ["podgroup-of-podgrouper"]);
        assert_eq!(ruling("grove-operator"), Ok(()), "GANG-08 is about further PodGroups of the operator");
    }

    #[test]
    fn a_pod_group_of_an_unknown_creator_decides_nothing() {
        let unknown = owned(object(POD_GROUP, "ungrouped-0"), "PodCliqueSet", SET);
        let ruling = podgrouper_has_no_part(&Story::on(Target::KAI).added(unknown).end());
        assert!(matches!(ruling, Err(Broken::NotReached(_))), "{ruling:?}");
        let of_gang = owned(object(POD_GROUP, "ungrouped-0"), "PodGang", "ungrouped-0");
        assert_eq!(podgrouper_has_no_part(&Story::on(Target::KAI).added(of_gang).end()), Ok(()));
    }
}
