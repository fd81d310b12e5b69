//! 2 nodes x 8 GPUs; two gangs with the same name in two namespaces. One of 3 pods x 8 GPUs never fits, one
//! of 1 pod fits. Koordinator is excluded, because its pending gangs sometimes block small ones (AON-10).

use conformance_cluster::deploy;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Two gangs with the same name in different namespaces are bound independently")
        .clauses(&[AON_01, AON_02])
        .nodes(&[nodes(2).gpus(8)])
        .with(&[Property::PendingGangsDoNotBlock]);

marks! {
    /// Counts of the pods in the other namespace: `{"pods", "bound"}`.
    ELSEWHERE = "in the other namespace";
}

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
    deploy::create_unless_exists(&test.test_cluster.client, &small).await?;
    match test
        .until_in(&elsewhere, "the pod of the small gang bound", SCHEDULING, |live| live.bound() == 1)
        .await
    {
        // After a timeout, the check of the small gang fails, and the large gang is still checked.
        Ok(()) | Err(Stop::Timeout(_)) => {}
        Err(stop) => return Err(stop),
    }
    let (pods, bound) =
        test.test_cluster.recorder.look(&elsewhere, |live| (live.pods().count(), live.bound()));
    test.mark(ELSEWHERE, json!({"pods": pods, "bound": bound}));
    test.canaries().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AON_01, || small_is_bound(history)),
        finding(AON_02, || {
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
    use super::*;

    #[test]
    fn an_unbound_small_gang_is_a_violation() {
        let passes = |detail: Value| small_is_bound(&Story::flat().mark(ELSEWHERE, detail).end()).is_ok();
        assert!(passes(json!({"pods": 1, "bound": 1})));
        assert!(!passes(json!({"pods": 1, "bound": 0})));
        assert!(!passes(json!({"pods": 0, "bound": 0})));
    }
}
