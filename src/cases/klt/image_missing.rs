//! 1 node without GPUs; a gang of 2 pods whose image exists and 1 pod whose image does not (host names below
//! `.invalid` never resolve). The pod's status must report the reason. Conditions need not, because upstream
//! has none that distinguishes an image pull from a normal start.

use conformance_check::kubelets;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang with a missing image is bound whole, and statuses report why")
    .clauses(&[KLT_06])
    .nodes(&[nodes(1)])
    .needs(&[Need::Kubelets]);

const SET: &str = "imageless";
const BROKEN: &str = "broken";

marks! { REPORTED = "the statuses report"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    let is_reported = |live: &Live| status_reports(live, &gangs).is_ok();
    test.until("the status that reports that a clique waits, and why", limits::IMAGE_PULL, is_reported)
        .await?;
    test.mark(REPORTED, Value::Null);
    Ok(())
}

fn status_reports(live: &Live, gangs: &[Gang]) -> Ruling {
    let groups = gangs.iter().flat_map(|gang| &gang.groups);
    for group in groups.filter(|group| group.template == BROKEN) {
        kubelets::clique_is_not_ready(live, &group.clique)?;
        kubelets::reports_image_failure(live, &group.clique)?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KLT_06, || {
        history.at(REPORTED, |place| {
            let live = history.before(place);
            precondition(AON_01, binding::whole(&live, &history.units(SET)?))?;
            status_reports(&live, &history.gangs(SET)?)
        })
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clique(name: &str, scheduled: u32, ready: u32) -> Value {
        let status = json!({"replicas": scheduled, "scheduledReplicas": scheduled, "readyReplicas": ready});
        json!({"kind": "PodClique", "metadata": {"name": format!("imageless-0-{name}")}, "status": status})
    }

    fn bound(state: Value) -> Story {
        let pod =
            |name: &str, clique: &str| running(name, "imageless-0", &format!("imageless-0-{clique}"), "n");
        let mut waiting = pod("c", BROKEN);
        waiting["status"] =
            json!({"phase": "Pending", "containerStatuses": [{"name": "worker", "state": state}]});
        let manifests = grove_yaml::documents(crate::manifest("klt/image-missing")).expect("the manifest");
        let story = manifests.into_iter().fold(Story::flat(), Story::submitted);
        story.all_added([pod("a", "sound"), pod("b", "sound"), waiting])
    }

    fn refused() -> Value {
        json!({"waiting": {"reason": "ErrImagePull", "message": "no such host"}})
    }

    fn ruling(story: Story) -> Ruling {
        check(&story.end()).remove(0).ruling
    }

    #[test]
    fn a_status_that_shows_an_unready_clique_passes() {
        let story = bound(refused()).all_added([clique("sound", 2, 2), clique(BROKEN, 1, 0)]);
        assert_eq!(ruling(story.mark(REPORTED, Value::Null)), Ok(()));
    }

    #[test]
    fn a_broken_clique_counted_as_ready_is_a_violation() {
        let story = bound(refused()).all_added([clique("sound", 2, 2), clique(BROKEN, 1, 1)]);
        let found = message(ruling(story.mark(SharedMark::WaitTimedOut, Value::Null)));
        assert_eq!(found, "PodClique imageless-0-broken: readyReplicas is 1, want 0");
    }

    #[test]
    fn a_running_clique_counted_as_unready_is_a_matter_of_another_clause() {
        let story = bound(refused()).all_added([clique("sound", 2, 0), clique(BROKEN, 1, 0)]);
        assert_eq!(ruling(story.mark(REPORTED, Value::Null)), Ok(()));
    }

    #[test]
    fn a_missing_reason_is_a_violation() {
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        let story = bound(creating).all_added([clique("sound", 2, 2), clique(BROKEN, 1, 0)]);
        let found = message(ruling(story.mark(SharedMark::WaitTimedOut, Value::Null)));
        assert_eq!(found, "no pod of PodClique imageless-0-broken reports why its image is not pulled");
    }
}
