//! A PodCliqueSet of 2 replicas, each with a base gang and two scaled gangs of 2 pods x 8 GPUs: 6 pods. Racks
//! a and b fit 6 pods each. Rack c fits 4, and a scheduler that packs gangs one by one would start there.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("All gangs of a PodCliqueSet replica, scaled ones included, share one rack")
        .clauses(&[TOPO_12])
        .nodes(&[
            nodes(1).gpus(24).rack("a"),
            nodes(1).gpus(24).rack("b"),
            nodes(2).gpus(16).rack("c"),
            nodes(1).gpus(24).rack("a"),
            nodes(1).gpus(24).rack("b"),
        ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("whole-replicas").await?;
    test.until_bound(12).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_12, || {
        let gangs = history.gangs("whole-replicas")?;
        placement::set_replicas_in_one_domain(history, &gangs, RACK)?;
        binding::all(&history.end(), &gangs)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses;
    use conformance_contract::target::TARGETS;

    use super::*;

    fn submitted() -> Value {
        grove_yaml::documents(crate::manifest("topo/replica-shares-rack")).unwrap().remove(0)
    }

    fn pod_gang(gang: &Gang, name: &str) -> Value {
        let podgroups: Vec<_> =
            gang.groups.iter().map(|group| json!({"name": group.clique, "minReplicas": group.min})).collect();
        json!({"kind": "PodGang", "spec": {"podgroups": podgroups}, "metadata": {"name": name,
            "labels": {names::PART_OF: "whole-replicas"},
            "ownerReferences": [{"kind": "PodCliqueSet", "name": "whole-replicas", "uid": "s", "controller": true}]}})
    }

    fn ruling(racks: [&str; 6]) -> Ruling {
        let pcs = submitted();
        let nodes = ["a", "b", "c"]
            .map(|rack| json!({"kind": "Node", "metadata": {"name": rack, "labels": {RACK: rack}}}));
        let mut story = Story::flat().submitted(pcs.clone()).all_added(nodes);
        for (index, (gang, rack)) in conformance_expect::gangs(&pcs).iter().zip(racks).enumerate() {
            let name = format!("gang-{index}");
            story = story.added(pod_gang(gang, &name));
            for pod in 0..2 {
                let labels = json!({names::POD_GANG: name, names::POD_CLIQUE: gang.groups[0].clique});
                story = story.added(json!({"kind": "Pod", "spec": {"nodeName": rack},
                    "metadata": {"name": format!("{name}-{pod}"), "labels": labels}}));
            }
        }
        check(&story.end()).remove(0).ruling
    }

    #[test]
    fn gangs_of_a_replica_in_two_racks_are_a_violation() {
        assert_eq!(ruling(["a", "a", "a", "b", "b", "b"]), Ok(()));
        let apart = ruling(["a", "a", "b", "b", "b", "a"]);
        assert!(matches!(apart, Err(Broken::Violated(_))), "{apart:?}");
        let base_apart = ruling(["c", "a", "a", "b", "b", "b"]);
        assert!(matches!(base_apart, Err(Broken::Violated(_))), "{base_apart:?}");
    }

    #[test]
    fn no_built_in_target_owes_topo_12() {
        let clause = clauses::clause("TOPO-12").unwrap();
        assert!(TARGETS.into_iter().all(|target| !target.owes(clause)));
    }
}
