//! 1 node; a PodCliqueSet of one clique. A PodClique of another owner already has the needed name. For
//! example, clique `0-worker` of PodCliqueSet `a` and clique `worker` of `a-0` need the same name.

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_expect::resolver::resolved;

use crate::prelude::*;

marks! {
    FREED = "the name is free";
    BOUND = "all are bound";
    OVER = "no taken name is reported";
}

const SET: &str = "obstructed";
const POD_CLIQUE: &str = "obstructed-0-worker";
/// The owner of the other PodClique: an autoscaler whose target does not exist.
const HOLDER: &str = "holder";
const AUTOSCALER: &str = "HorizontalPodAutoscaler";

pub(crate) const CASE: Case =
    case!("A PodCliqueSet reports an object of another owner that has a name it needs")
        .clauses(&[STAT_18])
        .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "of-somebody-else"});
    let holder = json!({
        "apiVersion": "autoscaling/v2", "kind": AUTOSCALER, "metadata": {"name": HOLDER},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2},
    });
    let holder = test.create(AUTOSCALER, &holder).await?;
    test.create("PodClique", &foreign_pod_clique(text(&holder["metadata"]["uid"]))).await?;
    let gangs = test.submit(SET).await?;
    let history = test.history();
    let is_reported = |live: &Live| {
        let gangs = resolved(live, gangs.clone());
        gangs.iter().any(|gang| reasons::is_reported(live, &history, gang, &why()))
    };
    let reported = Awaited::demanded_by(STAT_18, "the taken name reported");
    test.until(reported, REACTION, is_reported).await?;
    test.mark(FREED, Value::Null);
    test.delete("PodClique", POD_CLIQUE).await?;
    test.until_converged(SET).await?;
    test.mark(BOUND, Value::Null);
    let over = Awaited::demanded_by(STAT_18, "the taken name no longer reported");
    test.until(over, REACTION, |live| !is_reported(live)).await?;
    test.mark(OVER, Value::Null);
    Ok(())
}

fn why() -> Why {
    Why::Taken { name: POD_CLIQUE.into(), owner: HOLDER }
}

fn foreign_pod_clique(uid: &str) -> Value {
    let owner = json!({
        "apiVersion": "autoscaling/v2", "kind": AUTOSCALER, "name": HOLDER, "uid": uid, "controller": true,
    });
    let container = json!({"name": "worker", "image": "registry.k8s.io/pause:3.10"});
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodClique",
        "metadata": {"name": POD_CLIQUE, "ownerReferences": [owner]},
        "spec": {"roleName": "worker", "replicas": 1, "minAvailable": 1, "podSpec": {"containers": [container]}},
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(STAT_18, || {
        let gangs = history.gangs(SET)?;
        history.at(FREED, |freed| {
            all(gangs.iter().map(|gang| reasons::reason_reported(&history.upto(freed), gang, &why())))
        })?;
        let (bound, _) = history.reached(BOUND)?;
        all(gangs.iter().map(|gang| reasons::reason_no_longer_reported(history, gang, &why(), bound)))?;
        history.reached(OVER).map(drop)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reporting(message: &str) -> Value {
        let mut pcs = object("PodCliqueSet", SET);
        pcs["status"]["conditions"] = json!([{"type": "T", "status": "True", "message": message}]);
        pcs
    }

    fn submitted() -> Story {
        let pcs = grove_yaml::documents(crate::manifest("stat/name-taken")).unwrap().remove(0);
        Story::flat().submitted(pcs).added(object("PodCliqueSet", SET))
    }

    #[rstest]
    #[case::with_its_owner("PodClique obstructed-0-worker is controlled by an autoscaler, holder", &[])]
    #[case::without_its_owner("not every pod of obstructed-0-worker exists", &["waiting-reason-not-reported"])]
    fn the_object_and_its_owner_must_be_named(#[case] message: &str, #[case] wanted: &[&str]) {
        let reported = submitted().later(1).modified(reporting(message)).later(60).added(object("Node", "n"));
        let reported = reported.mark(FREED, Value::Null);
        let over =
            reported.modified(object("PodCliqueSet", SET)).mark(BOUND, Value::Null).mark(OVER, Value::Null);
        assert_eq!(codes(check(&over.end()).remove(0).ruling), wanted);
    }

    #[test]
    fn a_name_that_is_free_must_not_be_reported_any_more() {
        let message = "PodClique obstructed-0-worker is controlled by an autoscaler, holder";
        let reported = submitted().later(1).modified(reporting(message)).mark(FREED, Value::Null);
        let still =
            reported.mark(BOUND, Value::Null).later(60).added(object("Node", "n")).mark(OVER, Value::Null);
        assert_eq!(codes(check(&still.end()).remove(0).ruling), ["waiting-reason-still-reported"]);
    }
}
