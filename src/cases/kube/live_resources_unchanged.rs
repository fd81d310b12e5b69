//! 1 node; a running PodCliqueSet of 6 pods: a base PodGang of 3 + 1 surplus, and a scaled PodGang of 2 pods.
//! The case scales the clique, the scaling group and the PodCliqueSet. Then it changes the gang's minimum in
//! the PodGang, and in the PodCliqueSet, where admission refuses the change.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Gang resources of a live gang are never patched or recreated on changes")
        .clauses(&[KUBE_04])
        .nodes(&[nodes(1)]);

const SET: &str = "kept";

marks! { DONE = "every change was tried"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    for (kind, name, replicas) in [
        ("PodClique", "kept-0-router", 4),
        ("PodCliqueScalingGroup", "kept-0-model", 3),
        ("PodCliqueSet", SET, 2),
    ] {
        test.scale(kind, name, replicas).await?;
        test.until_converged(SET).await?;
    }
    // The next two updates may be refused or admitted: ADM-03 checks the answers.
    let gang = test.base_gang(SET)?;
    let mut podgroups = test.look(|live| gang.find(live).map(|found| found["spec"]["podgroups"].clone()));
    if let Some(podgroup) = podgroups.as_mut().and_then(|podgroups| podgroups.get_mut(0)) {
        podgroup["minReplicas"] = json!(2);
    }
    let body = json!({"spec": {"podgroups": podgroups}});
    test.attempt(http::Method::PATCH, "PodGang", &gang.name, &body).await?;
    test.attempt(http::Method::PATCH, "PodCliqueSet", SET, &larger_minimum(&test.manifest(SET)?)).await?;
    // Once the operator has processed this last change, it has processed all earlier changes too.
    test.scale("PodClique", "kept-0-router", 2).await?;
    test.until_converged(SET).await?;
    test.mark(DONE, Value::Null);
    Ok(())
}

fn larger_minimum(pcs: &Value) -> Value {
    let mut cliques = pcs["spec"]["template"]["cliques"].clone();
    cliques[0]["spec"]["minAvailable"] = cliques[0]["spec"]["replicas"].clone();
    json!({"spec": {"template": {"cliques": cliques}}})
}

fn gang_resources_existed(history: &History) -> Ruling {
    history.waited_for(SharedMark::Converged)?;
    gang_resources::were_created(history, &history.gangs(SET)?)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_04, || {
        let reshaped = gang_resources::never_reshaped(history, history.entries.len());
        all([reshaped, gang_resources_existed(history), history.reached(DONE).map(drop)])
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD_GANG: &str = "kept-0";

    fn converged(resources: &[(&str, &str)]) -> Story {
        let sent = Story::flat().submitted(one_clique(SET, 2)).added(one_clique_gang(SET, 2));
        let with_resources = sent.all_added(resources.iter().map(|(kind, name)| object(kind, name)));
        with_resources.mark(SharedMark::Converged, Value::Null)
    }

    fn ruling(story: Story) -> Ruling {
        check(&story.mark(DONE, Value::Null).end()).remove(0).ruling
    }

    const RESOURCES: &[(&str, &str)] = &[("Workload", POD_GANG), ("PodGroup", "kept-0-kept-0-worker")];

    fn patched() -> Value {
        let mut workload = object("Workload", POD_GANG);
        workload["spec"] = json!({"podGroupTemplates": []});
        workload
    }

    #[test]
    fn a_changed_gang_resource_is_a_violation() {
        assert_eq!(ruling(converged(RESOURCES)), Ok(()));
        assert!(matches!(ruling(converged(RESOURCES).modified(patched())), Err(Broken::Violated(_))));
        assert!(matches!(ruling(converged(&RESOURCES[..1]).modified(patched())), Err(Broken::Violated(_))));
        let early = check(&converged(RESOURCES).end()).remove(0).ruling;
        assert!(matches!(early, Err(Broken::NotReached(_))), "not every change was tried");
    }

    #[test]
    fn missing_gang_resources_break_the_precondition() {
        for with_resources in [&RESOURCES[..0], &RESOURCES[..1]] {
            let ruling = ruling(converged(with_resources));
            assert!(matches!(ruling, Err(Broken::Precondition { clause: "GANG-08", .. })), "{ruling:?}");
        }
        let stopped = check(&Story::flat().submitted(one_clique(SET, 2)).end()).remove(0).ruling;
        assert!(matches!(stopped, Err(Broken::NotReached(_))), "{stopped:?}");
    }
}
