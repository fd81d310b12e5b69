//! 1 node without GPUs; a gang of 2 sound pods and 1 whose image does not exist (names below `.invalid` never
//! resolve): all 3 fit. The scheduler sees no difference; only the statuses differ. The PodClique reports
//! which clique is not ready. At least the pod reports the reason, because no upstream condition
//! distinguishes an image pull from a normal start.

use conformance_check::kubelets;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang with a missing image is bound whole, and statuses report why")
    .clauses(&[KLT_06])
    .nodes(&[nodes(1)])
    .needs(&[Need::Kubelets]);

const SET: &str = "imageless";
const BROKEN: &str = "broken";

marks! { TOLD = "the statuses tell"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    let told = |live: &Live| tell(live, &gangs).is_ok();
    test.until("statuses that report which clique waits, and why", limits::IMAGE_PULL, told).await?;
    test.mark(TOLD, Value::Null);
    Ok(())
}

fn tell(live: &Live, gangs: &[Gang]) -> Ruling {
    for group in gangs.iter().flat_map(|gang| &gang.groups) {
        match group.template.as_str() {
            BROKEN => {
                kubelets::clique_says(live, group, 0)?;
                kubelets::says_why_not_pulled(live, &group.clique)?;
            }
            _ => kubelets::clique_says(live, group, group.replicas)?,
        }
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding(KLT_06, || {
        history.at(TOLD, |place| {
            let live = history.before(place);
            let gangs = history.gangs(SET)?;
            premise(AON_01, binding::whole(&live, &history.units(SET)?))?;
            tell(&live, &gangs)?;
            kubelets::readiness_is_earned(history, &gangs)
        })
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::message;
    use conformance_history::SharedMark;
    use conformance_history::testing::{Story, running};
    use serde_json::json;

    use super::*;

    fn clique(name: &str, scheduled: u32, ready: u32) -> Value {
        let status = json!({"replicas": scheduled, "scheduledReplicas": scheduled, "readyReplicas": ready});
        json!({"kind": "PodClique", "metadata": {"name": format!("imageless-0-{name}")}, "status": status})
    }

    /// All pods are bound; those of the sound clique run, and the other is in this state.
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
        judge(&story.end()).remove(0).ruling
    }

    #[test]
    fn the_broken_clique_is_told_from_the_sound_one() {
        let story = bound(refused()).all_added([clique("sound", 2, 2), clique(BROKEN, 1, 0)]);
        assert_eq!(ruling(story.mark(TOLD, Value::Null)), Ok(()));
    }

    #[test]
    fn a_status_that_calls_it_ready() {
        let story = bound(refused()).all_added([clique("sound", 2, 2), clique(BROKEN, 1, 1)]);
        let said = message(ruling(story.mark(SharedMark::WaitRanOut, Value::Null)));
        assert_eq!(said, "PodClique imageless-0-broken: readyReplicas is 1, want 0");
    }

    #[test]
    fn a_status_that_holds_the_sound_one_back() {
        let story = bound(refused()).all_added([clique("sound", 2, 0), clique(BROKEN, 1, 0)]);
        let said = message(ruling(story.mark(SharedMark::WaitRanOut, Value::Null)));
        assert_eq!(said, "PodClique imageless-0-sound: readyReplicas is 0, want 2");
    }

    #[test]
    fn nobody_says_why() {
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        let story = bound(creating).all_added([clique("sound", 2, 2), clique(BROKEN, 1, 0)]);
        let said = message(ruling(story.mark(SharedMark::WaitRanOut, Value::Null)));
        assert_eq!(said, "no pod of PodClique imageless-0-broken reports why its image is not pulled");
    }
}
