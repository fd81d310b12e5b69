//! 1 node; a gang of two cliques and a scaling group of one replica, one pod each. The case scales to 0 and
//! back without a pause, so an operator may see only the last change.

use conformance_check::gangs;
use conformance_facts::health::is_ready;

use crate::prelude::*;

marks! { BACK = "both are back"; }

const SET: &str = "briefly-idle";
const PODCLIQUES: [&str; 3] =
    ["briefly-idle-0-unchanged", "briefly-idle-0-changed", "briefly-idle-0-group-0-member"];

const NOT_READY: Code = Code::new("not-ready-after-scale-up");

pub(crate) const CASE: Case = case!("A clique and scaling group scaled to 0 and back are bound again")
    .clauses(&[AUTO_14])
    .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    for (kind, name) in [("PodClique", PODCLIQUES[1]), ("PodCliqueScalingGroup", "briefly-idle-0-group")] {
        test.scale_as_an_autoscaler(kind, name, 0).await?;
        test.scale_as_an_autoscaler(kind, name, 1).await?;
        test.until_converged(SET).await?;
    }
    test.mark(BACK, Value::Null);
    Ok(())
}

fn has_ready_pod(live: &Live, clique: &str) -> Ruling {
    ensure(pods_of(live, clique).any(is_ready), || {
        violation(NOT_READY, format!("PodClique {clique}: no pod is Ready, want at least 1"))
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AUTO_14, || {
        history.at(BACK, |back| {
            let live = history.before(back);
            let all_gangs = scaling::gangs(history, history.submitted(SET)?, back);
            gangs::base(&live, SET, &all_gangs)?;
            gangs::references_are_the_pods(&live, &all_gangs)?;
            all(PODCLIQUES.map(|clique| binding::exactly(&live, clique, 1)))?;
            all(PODCLIQUES.map(|clique| has_ready_pod(&live, clique)))
        })
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(ready: &str) -> Ruling {
        let manifests =
            grove_yaml::documents(crate::manifest("auto/scale-to-zero-briefly")).expect("the manifest");
        let podgroup = |clique: &str| {
            let pod = format!("{clique}-0");
            json!({"name": clique, "minReplicas": 1, "podReferences": [{"name": pod}]})
        };
        let mut gang = owned(object("PodGang", "briefly-idle-0"), "PodCliqueSet", SET);
        gang["spec"]["podgroups"] = json!(PODCLIQUES.map(podgroup));
        let mut pods =
            PODCLIQUES.map(|clique| running(&format!("{clique}-0"), "briefly-idle-0", clique, "n"));
        pods[1]["status"]["conditions"][0]["status"] = json!(ready);
        let story = manifests.into_iter().fold(Story::flat(), Story::submitted);
        let story = story.added(object("PodCliqueSet", SET)).added(gang).all_added(pods);
        check(&story.mark(BACK, Value::Null).end()).remove(0).ruling
    }

    #[test]
    fn an_unready_pod_after_scaling_back_is_a_violation() {
        assert_eq!(ruling("True"), Ok(()));
        assert_eq!(codes(ruling("False")), ["not-ready-after-scale-up"]);
    }
}
