//! 2 nodes x 8 GPUs; two gangs with the same name in two namespaces: one of 3 pods x 8 GPUs, which never
//! fits, and one of 1 pod x 8 GPUs, which does. If the scheduler confuses them, either the small one waits
//! for the other's minimum, or the large one is partially bound. Koordinator is excluded: its pending gangs
//! sometimes block small ones (AON-10), which would hide the result.

use conformance_cluster::deploy;
use conformance_contract::names;
use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::target::Target;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::SCHEDULING;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::binding::{self, scheduler_passed};
use conformance_judge::{all, ensure, finding, violation};
use serde_json::json;

pub(crate) const CASE: Case = Case::new(
    "Two gangs with the same name in different namespaces are bound independently",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AON-01", "AON-02"])
.nodes(&[nodes(2).gpus(8)])
.only(&[Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG, Target::KUBE_TREE, Target::VOLCANO, Target::KAI]);

/// Mark: the pods of the other namespace, `{"pods", "bound"}`.
const ELSEWHERE: MarkName = MarkName::of_case("in the other namespace");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("namesake").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    let elsewhere = test.domain("elsewhere");
    test.track(elsewhere.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": elsewhere, "labels": {names::RUN: test.test_cluster.run}}});
    test.create("Namespace", &namespace).await?;
    let mut small = test.manifest("namesake")?;
    small["metadata"]["namespace"] = elsewhere.clone().into();
    small["spec"]["template"]["cliques"][0]["spec"]["replicas"] = 1.into();
    deploy::create_unless_there(&test.test_cluster.client, &small).await?;
    match test
        .until_in(&elsewhere, "the pod of the small gang bound", SCHEDULING, |live| live.bound() == 1)
        .await
    {
        // The check decides on a timeout; the large gang is checked in any case.
        Ok(()) | Err(Stop::Wait(_)) => {}
        Err(stop) => return Err(stop),
    }
    let (pods, bound) =
        test.test_cluster.recorder.look(&elsewhere, |live| (live.pods().count(), live.bound()));
    test.mark(ELSEWHERE, json!({"pods": pods, "bound": bound}));
    test.canaries().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("AON-01", || small_is_bound(history)),
        finding("AON-02", || {
            let never = binding::never(history, &history.units("namesake")?, None);
            all([never, scheduler_passed(history), history.reached(ELSEWHERE).map(drop)])
        }),
    ]
}

fn small_is_bound(history: &History) -> Ruling {
    let (_, mark) = history.reached(ELSEWHERE)?;
    let count = |key: &str| mark.detail[key].as_u64().unwrap_or_default();
    ensure(count("bound") == 1, || {
        violation(
            binding::PODS_UNBOUND,
            format!("{} of {} pods of the gang that fits are bound", count("bound"), count("pods")),
        )
    })
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_small_one_must_be_bound() {
        let told = |detail: Value| small_is_bound(&Story::flat().mark(ELSEWHERE, detail).end()).is_ok();
        assert!(told(json!({"pods": 1, "bound": 1})));
        assert!(!told(json!({"pods": 1, "bound": 0})));
        assert!(!told(json!({"pods": 0, "bound": 0})));
    }
}
