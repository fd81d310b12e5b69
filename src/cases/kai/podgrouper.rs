//! A base PodGang of 2 podgroups and a scaled PodGang of one podgroup. Then the case creates a pod without a
//! gang. Once KAI's podgrouper has created a PodGroup for this pod, it has processed all earlier pods.

use conformance_check::none;
use conformance_expect::schedulers;
use conformance_expect::schedulers::kai::{POD_GROUP, PODGROUPER, QUEUE};
use conformance_facts::gang_resources::is_gang_resource;
use conformance_history::{Change, Version, controller, text};

use crate::prelude::*;

const GANG_RESOURCE_OF_NO_GANG: Code = Code::new("gang-resource-without-gang");

pub(crate) const CASE: Case = case!("No PodGroup created by KAI's podgrouper is used or left for a PodGang")
    .clauses(&[KAI_07])
    .nodes(&[nodes(1)])
    .needs(&[Need::Process("kai-podgrouper")]);

const SET: &str = "ungrouped";
const LOOSE: &str = "loose";

marks! { GROUPED = "podgrouper passed"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
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

fn only_expected_pod_groups(history: &History, gangs: &[Gang]) -> Ruling {
    let names: Vec<_> = gangs.iter().flat_map(|gang| schedulers::resources_of(Target::KAI, gang)).collect();
    let created = history.of(POD_GROUP).filter(|version| version.change == Change::Added);
    let created =
        created.filter(|version| is_gang_resource(version.object) && !is_owned_by(version.object, LOOSE));
    let (known, others): (Vec<_>, Vec<_>) =
        created.partition(|version| names.iter().any(|wanted| wanted.name.matches(version.name())));
    let by_podgrouper = known.iter().filter(|version| is_created_by_podgrouper(version.object) == Some(true));
    let wrong = others.iter().map(|version| (version, "belongs to no PodGang"));
    let wrong = wrong.chain(by_podgrouper.map(|version| (version, "was created by KAI's podgrouper")));
    none(wrong.map(|(version, what)| {
        violation(GANG_RESOURCE_OF_NO_GANG, format!("PodGroup {} {what}", version.name()))
            .shown_by("the PodGroup", *version)
    }))?;
    // The controller of a podgrouper's PodGroup is the owner of the pods, never a PodGang.
    let is_of_gang =
        |version: &Version<'_>| controller(version.object).is_some_and(|owner| owner["kind"] == "PodGang");
    let unknown =
        |version: &&Version<'_>| is_created_by_podgrouper(version.object).is_none() && !is_of_gang(version);
    match known.iter().find(unknown) {
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
        all([only_expected_pod_groups(history, &gangs), precondition(GANG_08, matched)])
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_history::testing::{Story, object, owned};

    #[test]
    fn a_pod_group_of_no_pod_gang_is_a_violation() {
        let gangs = [Gang::named_only("ungrouped-0")];
        let ruling = |other| {
            let known = [
                owned(object(POD_GROUP, "ungrouped-0"), "PodGang", "ungrouped-0"),
                owned(object(POD_GROUP, "pg-loose-1"), "Pod", LOOSE),
            ];
            only_expected_pod_groups(&Story::on(Target::KAI).all_added(known).added(other).end(), &gangs)
        };
        assert_eq!(ruling(object("PodGroup.scheduling.volcano.sh", "pg-x")), Ok(()));
        assert!(ruling(owned(object(POD_GROUP, "pg-ungrouped-1"), "PodCliqueSet", SET)).is_err());
        assert!(ruling(object(POD_GROUP, "ungrouped-1")).is_err());
    }

    #[rstest::rstest]
    #[case::by_the_operator(json!([{"manager": "grove-operator"}]), Some(true))]
    #[case::by_the_podgrouper(json!([{"manager": "podgrouper"}]), Some(false))]
    #[case::unknown(Value::Null, None)]
    fn the_creator_decides_about_a_shared_pod_group(#[case] managers: Value, #[case] passes: Option<bool>) {
        let gangs = [Gang { joined: Some("grove-ungrouped-0".into()), ..Gang::named_only("ungrouped-0") }];
        let mut found = owned(object(POD_GROUP, "grove-ungrouped-0"), "PodCliqueSet", SET);
        found["metadata"]["managedFields"] = managers;
        let ruling = only_expected_pod_groups(&Story::on(Target::KAI).added(found).end(), &gangs);
        match passes {
            Some(passes) => assert_eq!(ruling.is_ok(), passes),
            None => assert!(matches!(ruling, Err(Broken::NotReached(_))), "{ruling:?}"),
        }
    }
}
