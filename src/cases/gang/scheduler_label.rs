//! The case creates three PodGangs that no PodCliqueSet owns: with the label of the default backend, without
//! it, and with that of an unknown backend. Before these, it creates a fourth PodGang for a scheduler that
//! reads PodGangs itself. Once the three have gang resources, the operator has processed the fourth.

use conformance_check::another_backend;
use conformance_check::fail_closed::no_gang_resource_created;
use conformance_history::is_owned_by;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodGang's scheduler label selects its backend; without one the default applies")
        .clauses(&[GANG_04])
        .on(Scheduler::KUBE)
        .needs(&[Need::PodGangsByHand, Need::GangResources]);

const POD_GANGS: [&str; 3] = ["labelled", "unlabelled", "mislabelled"];
const EXTERNAL: &str = "external";

marks! { CREATED = "gang resources of every other PodGang created"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.another_backend(|target| target == Target::EXTERNAL).await?;
    for name in [EXTERNAL].into_iter().chain(POD_GANGS) {
        test.create("PodGang", &test.manifest(name)?).await?;
    }
    test.until("gang resources of every PodGang", REACTION, |live| {
        POD_GANGS.iter().all(|name| {
            let owner = live.get("PodGang", name);
            let has_group = |owner| live.of("PodGroup").any(|group| is_owned_by(group, owner));
            live.get("Workload", name).is_some() && owner.is_some_and(has_group)
        })
    })
    .await?;
    test.mark(CREATED, Value::Null);
    Ok(())
}

fn served(history: &History) -> Ruling {
    gang_resources::exist(history, &history.end(), &POD_GANGS.map(Gang::named_only))?;
    history.reached(CREATED).map(drop)
}

fn external_is_not_served(history: &History) -> Ruling {
    another_backend::name(history)?;
    history.reached(CREATED)?;
    no_gang_resource_created(history, &Gang::named_only(EXTERNAL))
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(GANG_04, || all([served(history), external_is_not_served(history)]))]
}

#[cfg(test)]
mod tests {
    use conformance_contract::scheduler::EXTERNAL_SCHEDULER;

    use super::*;

    fn external() -> Value {
        let documents = grove_yaml::documents(crate::manifest("gang/scheduler-label")).unwrap();
        let mut found = documents.into_iter().filter(|document| document["metadata"]["name"] == EXTERNAL);
        found.next().unwrap()
    }

    #[test]
    fn the_manifest_names_the_external_profile() {
        assert_eq!(external()["metadata"]["labels"][names::SCHEDULER_NAME], EXTERNAL_SCHEDULER);
    }

    #[rstest]
    #[case::of_another(owned(object("Workload", "labelled"), "PodGang", "labelled"), true)]
    #[case::its_workload(object("Workload", "external"), false)]
    #[case::its_pod_group(object("PodGroup", "external-external-a"), false)]
    #[case::owned_by_it(owned(object("PodGroup", "g"), "PodGang", "external"), false)]
    fn a_gang_resource_of_the_external_pod_gang_is_a_violation(#[case] created: Value, #[case] passes: bool) {
        let story = Story::flat().added(external()).added(created.clone()).deleted(created);
        assert_eq!(no_gang_resource_created(&story.end(), &Gang::named_only(EXTERNAL)).is_ok(), passes);
    }

    fn ruling(served: &[&str], created: &[Value], another: Value) -> Ruling {
        let mut story = Story::flat().mark(SharedMark::AnotherBackend, another);
        for gang in grove_yaml::documents(crate::manifest("gang/scheduler-label")).unwrap() {
            story = story.added(gang);
        }
        for name in served {
            let policy = json!({"gang": {"minCount": 2}});
            let podgroup = format!("{name}-a");
            let mut workload = owned(object("Workload", name), "PodGang", name);
            workload["spec"] = json!({"podGroupTemplates": [{"name": podgroup, "schedulingPolicy": policy}]});
            let mut group = owned(object("PodGroup", &format!("{name}-{podgroup}")), "PodGang", name);
            group["spec"] = json!({"schedulingPolicy": policy, "podGroupTemplateRef": {"workload":
                {"workloadName": name, "podGroupTemplateName": podgroup}}});
            story = story.added(workload).added(group);
        }
        check(&story.all_added(created.iter().cloned()).mark(CREATED, Value::Null).end()).remove(0).ruling
    }

    #[test]
    fn only_the_external_pod_gang_must_have_no_gang_resources() {
        let another = || json!({"scheduler": EXTERNAL_SCHEDULER, "foreign": false});
        assert_eq!(ruling(&POD_GANGS, &[], another()), Ok(()));
        let external_workload = owned(object("Workload", EXTERNAL), "PodGang", EXTERNAL);
        assert!(matches!(ruling(&POD_GANGS, &[external_workload], another()), Err(Broken::Violated(_))));
    }

    #[test]
    fn without_an_external_profile_the_fourth_is_not_checked() {
        let none = || json!({"asked": [{"scheduler": EXTERNAL_SCHEDULER}], "foreign": true});
        let external_workload = owned(object("Workload", EXTERNAL), "PodGang", EXTERNAL);
        assert!(matches!(ruling(&POD_GANGS, &[external_workload], none()), Err(Broken::NotAsked(_))));
        assert!(
            matches!(ruling(&POD_GANGS[..2], &[], none()), Err(Broken::Violated(_))),
            "the other three are still checked"
        );
    }
}
