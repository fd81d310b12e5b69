//! 1 node; a base PodGang of 3 podgroups with 2 + 1 + 2 required pods, one of them with surplus pods, and a
//! scaled PodGang. The case sets Volcano's own fields in the base PodGroup, and makes the backend write it.

use conformance_check::{foreign_fields, pods};
use conformance_expect::schedulers::volcano::{OWN_GROUP_NAME, POD_GROUP};
use conformance_history::Change;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodGang becomes one PodGroup, and Volcano's own fields in it are kept")
        .clauses(&[VOL_01, VOL_02, VOL_06, VOL_09])
        .nodes(&[nodes(1)]);

const SET: &str = "mapped";
const NOT_ANNOTATED: Code = Code::new("not-annotated");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let own = json!({
        "metadata": {"annotations": {"volcano.sh/job-allocated-hypernode": "somewhere"}},
        "spec": {"minResources": {"cpu": "10m"}},
    });
    let gang = test.base_gang(SET)?;
    test.patch_as_another_client(POD_GROUP, &gang.name, own).await?;
    test.provoke_repair(POD_GROUP, &gang.name, "minMember", json!(1)).await
}

fn annotated(history: &History, gangs: &[Gang]) -> Ruling {
    none(history.pods().filter(|version| version.change != Change::Deleted).filter_map(|version| {
        let clique = version.pod().pod_clique()?;
        let gang = gangs.iter().find(|gang| gang.groups.iter().any(|group| group.clique == clique))?;
        let found = &version.object["metadata"]["annotations"][OWN_GROUP_NAME];
        (*found != gang.name.as_str()).then(|| {
            let message =
                format!("Pod {}: annotation {OWN_GROUP_NAME} is {found}, want {}", version.name(), gang.name);
            violation(NOT_ANNOTATED, message).shown_by("the pod", version)
        })
    }))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(VOL_01, || {
            history.waited_for(SharedMark::Converged)?;
            gang_resources::match_pod_gangs(history, &history.end(), &history.gangs(SET)?)
        }),
        finding(VOL_02, || pods::created_as_members(history, &history.gangs(SET)?)),
        finding(VOL_06, || {
            history.waited_for(SharedMark::Converged)?;
            gang_resources::were_created(history, &history.gangs(SET)?)?;
            foreign_fields::kept(history)
        }),
        finding(VOL_09, || {
            annotated(history, &history.gangs(SET)?)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::both(true, true)]
    #[case::without_its_own(false, false)]
    fn a_missing_group_annotation_is_a_violation(#[case] own: bool, #[case] passes: bool) {
        let mut gang = conformance_expect::gangs(&one_clique(SET, 1)).remove(0);
        gang.name = "mapped-0".into();
        let mut pod = worker(SET, 0, None);
        pod["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": "mapped-0"});
        if own {
            pod["metadata"]["annotations"][OWN_GROUP_NAME] = json!("mapped-0");
        }
        let history = Story::on(Target::VOLCANO).added(pod).end();
        let named = history
            .pods()
            .next()
            .and_then(|version| schedulers::of(Target::VOLCANO).named_by(version.pod()).map(str::to_owned));
        assert_eq!(named.as_deref(), Some("mapped-0"), "VOL-02 checks the other annotation only");
        assert_eq!(annotated(&history, &[gang]).is_ok(), passes);
    }
}
