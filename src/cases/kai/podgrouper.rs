//! A base PodGang of 2 podgroups and a scaled one of one. Then a pod that is nobody's, for which KAI's podgrouper makes a
//! PodGroup: it has been past all pods that were there before.

use conformance_contract::names;
use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_expect::schedulers::kai::{POD_GROUP, QUEUE};
use conformance_expect::{Expected, Gang};
use conformance_history::{History, MarkName, Version};
use conformance_judge::gang_resources::{self, is_gang_resource};
use conformance_judge::{Shown, finding, none, violation};
use serde_json::json;

const GANG_RESOURCE_OF_NO_GANG: Code = Code::new("gang-resource-of-no-gang");

/// KAI-07.
pub(crate) const CASE: Case = Case::new(
    "With KAI's podgrouper beside, each PodGang has one PodGroup, and none is the podgrouper's",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["KAI-07"])
.nodes(&[nodes(1)])
.only(&[Target::KAI])
.needs(&[Need::Process("kai-podgrouper")]);

const SET: &str = "ungrouped";
/// A pod that is no gang's.
const LOOSE: &str = "loose";
/// Mark: the podgrouper has made a PodGroup for it.
const GROUPED: MarkName = MarkName::of_case("podgrouper passed");

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
    test.until("a PodGroup of the podgrouper for a pod of nobody", REACTION, |live| {
        live.of(POD_GROUP).any(|found| is_owned_by(found, LOOSE))
    })
    .await?;
    test.mark(GROUPED, serde_json::Value::Null);
    Ok(())
}

fn is_owned_by(object: &serde_json::Value, owner: &str) -> bool {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(|found| found["name"] == owner)
}

/// There never was a PodGroup but those of the PodGangs, by name, and that of the loose pod.
fn no_other(history: &History, gangs: &[Gang]) -> Ruling {
    let is_known = |version: &Version<'_>| {
        gangs.iter().any(|gang| gang.name == version.name()) || is_owned_by(version.object, LOOSE)
    };
    let others =
        history.of(POD_GROUP).filter(|version| is_gang_resource(version.object) && !is_known(version));
    none(others.map(|version| {
        violation(GANG_RESOURCE_OF_NO_GANG, format!("PodGroup {} is no PodGang's", version.name()))
            .shown_by("one too many", version)
    }))
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KAI-07", || {
        history.reached(GROUPED)?;
        let gangs = history.gangs(SET)?;
        gang_resources::as_the_pod_gangs_say(history, &history.end(), &gangs)?;
        no_other(history, &gangs)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_history::testing::{Story, object, owned};

    #[test]
    fn of_pod_gangs_and_of_the_loose_pod() {
        let gangs = [Gang::made_by_hand("ungrouped-0")];
        let told = |other| {
            let known =
                [object(POD_GROUP, "ungrouped-0"), owned(object(POD_GROUP, "pg-loose-1"), "Pod", LOOSE)];
            no_other(&Story::on(Target::KAI).all_added(known).added(other).end(), &gangs)
        };
        assert_eq!(told(object("PodGroup.scheduling.volcano.sh", "pg-x")), Ok(()));
        assert!(told(owned(object(POD_GROUP, "pg-ungrouped-1"), "PodCliqueSet", SET)).is_err());
        assert!(told(object(POD_GROUP, "ungrouped-1")).is_err());
    }
}
