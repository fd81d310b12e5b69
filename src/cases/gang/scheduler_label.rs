//! Three PodGangs created by hand: with the label of the default backend, without it, and with an unknown
//! backend. No PodCliqueSet corrects the labels. A fourth, created first, is labelled for a scheduler that
//! reads PodGangs itself: once the other three have gang resources, the controller has processed it. A
//! foreign operator without a profile for such a scheduler is not asked about the fourth.

use conformance_check::another_backend;
use conformance_check::fail_closed::never_served;
use conformance_history::is_controlled_by;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodGang's scheduler label selects its backend; without one the default applies")
        .clauses(&[GANG_04])
        .only(KUBE)
        .needs(&[Need::PodGangsByHand, Need::GangResources]);

const POD_GANGS: [&str; 3] = ["labelled", "unlabelled", "mislabelled"];
const EXTERNAL: &str = "external";

marks! { STOOD = "gang resources of every other PodGang stood"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.another_backend(|target| target == Target::EXTERNAL).await?;
    for name in [EXTERNAL].into_iter().chain(POD_GANGS) {
        test.create("PodGang", &test.manifest(name)?).await?;
    }
    test.until("gang resources of every PodGang", REACTION, |live| {
        POD_GANGS.iter().all(|name| {
            let owner = live.get("PodGang", name);
            let has_group = |owner| live.of("PodGroup").any(|group| is_controlled_by(group, owner));
            live.get("Workload", name).is_some() && owner.is_some_and(has_group)
        })
    })
    .await?;
    test.mark(STOOD, Value::Null);
    Ok(())
}

fn served(history: &History) -> Ruling {
    let gangs = POD_GANGS.map(Gang::made_by_hand);
    gang_resources::owned(history, &history.end(), &gangs)?;
    gang_resources::as_the_pod_gangs_say(history, &history.end(), &gangs)?;
    history.reached(STOOD).map(drop)
}

fn left_to_its_scheduler(history: &History) -> Ruling {
    another_backend::name(history)?;
    history.reached(STOOD)?;
    never_served(history, &Gang::made_by_hand(EXTERNAL))
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding(GANG_04, || all([served(history), left_to_its_scheduler(history)]))]
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_contract::ruling::Broken;
    use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
    use conformance_history::SharedMark;
    use conformance_history::testing::{Story, object, owned};
    use serde_json::json;

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

    #[rstest::rstest]
    #[case::of_another(owned(object("Workload", "labelled"), "PodGang", "labelled"), true)]
    #[case::its_workload(object("Workload", "external"), false)]
    #[case::its_pod_group(object("PodGroup", "external-external-a"), false)]
    #[case::owned_by_it(owned(object("PodGroup", "g"), "PodGang", "external"), false)]
    fn nothing_was_ever_made_for_it(#[case] made: Value, #[case] holds: bool) {
        let story = Story::flat().added(external()).added(made.clone()).deleted(made);
        assert_eq!(never_served(&story.end(), &Gang::made_by_hand(EXTERNAL)).is_ok(), holds);
    }

    fn ruling(made: &[Value], another: Value) -> Ruling {
        let mut story = Story::flat().mark(SharedMark::AnotherBackend, another);
        for gang in grove_yaml::documents(crate::manifest("gang/scheduler-label")).unwrap() {
            story = story.added(gang);
        }
        for name in POD_GANGS {
            let policy = json!({"gang": {"minCount": 2}});
            let podgroup = format!("{name}-a");
            let mut workload = owned(object("Workload", name), "PodGang", name);
            workload["spec"] = json!({"podGroupTemplates": [{"name": podgroup, "schedulingPolicy": policy}]});
            let mut group = owned(object("PodGroup", &format!("{name}-{podgroup}")), "PodGang", name);
            group["spec"] = json!({"schedulingPolicy": policy, "podGroupTemplateRef": {"workload":
                {"workloadName": name, "podGroupTemplateName": podgroup}}});
            story = story.added(workload).added(group);
        }
        judge(&story.all_added(made.iter().cloned()).mark(STOOD, Value::Null).end()).remove(0).ruling
    }

    #[test]
    fn the_case_asks_for_three_and_not_the_fourth() {
        let another = || json!({"scheduler": EXTERNAL_SCHEDULER, "foreign": false});
        assert_eq!(ruling(&[], another()), Ok(()));
        let of_the_fourth = owned(object("Workload", EXTERNAL), "PodGang", EXTERNAL);
        assert!(matches!(ruling(&[of_the_fourth], another()), Err(Broken::Violated(_))));
    }

    #[test]
    fn nothing_is_asked_of_the_fourth_where_its_scheduler_has_no_profile() {
        let none = || json!({"asked": [{"scheduler": EXTERNAL_SCHEDULER}], "foreign": true});
        let by_the_default = owned(object("Workload", EXTERNAL), "PodGang", EXTERNAL);
        assert!(matches!(ruling(&[by_the_default], none()), Err(Broken::NotAsked(_))));
        let nobodys = object("PodGroup", "labelled-labelled-b");
        assert!(matches!(ruling(&[nobodys], none()), Err(Broken::Violated(_))), "the three are asked for");
    }
}
