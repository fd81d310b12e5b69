//! A PodCliqueSet with a scaled PodGang selects a node pool that no scheduler in this cluster serves.

use conformance_driver::admission_attempts::clique;
use conformance_expect::resolver::gang_resource;
use conformance_expect::schedulers::kai::POD_GROUP;
use conformance_history::name;

use crate::prelude::*;

const OTHER_POOL: Code = Code::new("other-node-pool");

pub(crate) const CASE: Case =
    case!("One node pool reaches the PodGroup and pods; two node pools are refused").clauses(&[KAI_09]);

const KEY: &str = "kai.scheduler/node-pool";
const POOL: &str = "pool-a";

const NEW: &[Attempt] = &[
    refused("different node pools on two cliques", &[], |pcs| {
        set_pool(clique(pcs, 0), POOL);
        set_pool(clique(pcs, 1), "pool-b");
    }),
    refused("different node pools on a clique and on the PodCliqueSet", &[], |pcs| {
        set_pool(&mut pcs["metadata"], POOL);
        set_pool(clique(pcs, 1), "pool-b");
    }),
    admitted("the same node pool on the PodCliqueSet and on a clique", |pcs| {
        set_pool(&mut pcs["metadata"], POOL);
        set_pool(clique(pcs, 1), POOL);
    }),
];

type Named = (&'static str, fn(&mut Value));

const LIVE: [Named; 2] = [
    ("pool-of-the-set", |pcs| set_pool(&mut pcs["metadata"], POOL)),
    ("pool-of-a-clique", |pcs| set_pool(clique(pcs, 1), POOL)),
];

const MOVED: &[Attempt] =
    &[refused("node pool of a live gang changed", &[], |pcs| set_pool(&mut pcs["metadata"], "pool-b"))];

fn set_pool(holder: &mut Value, pool: &str) {
    holder["labels"][KEY] = pool.into();
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let pooled = test.manifest("pooled")?;
    test.attempt_creates(&pooled, NEW).await?;
    let mut gangs = Vec::new();
    for (name, edit) in LIVE {
        let mut pcs = pooled.clone();
        edit(&mut pcs);
        pcs["metadata"]["name"] = name.into();
        pcs["spec"]["replicas"] = 1.into();
        gangs.extend(test.submit_value(pcs).await?);
    }
    let target = test.target;
    test.until(Awaited::demanded_by(GANG_08, "the PodGroups and pods"), REACTION, |live| {
        let has_all = |gang: &Gang| {
            gang_resource(target, live, gang, POD_GROUP).is_some() && pods(live, gang).count() == size(gang)
        };
        gangs.iter().all(has_all)
    })
    .await?;
    test.attempt_updates(LIVE[0].0, MOVED).await
}

fn pods<'a>(live: &'a Live, gang: &'a Gang) -> impl Iterator<Item = Pod<'a>> {
    let of_gang = |pod: &Pod<'_>| gang.groups.iter().any(|group| pod.pod_clique() == Some(&group.clique));
    live.pods().filter(of_gang)
}

fn size(gang: &Gang) -> usize {
    gang.groups.iter().map(|group| group.replicas).sum()
}

fn pooled(live: &Live, gang: &Gang) -> Ruling {
    let group = gang_resource(Target::KAI, live, gang, POD_GROUP);
    let pods: Vec<_> = pods(live, gang).collect();
    if group.is_none() || pods.len() != size(gang) {
        let name = &gang.name;
        return Err(Broken::NotReached(format!(
            "PodGang {name}: its PodGroup or one of its pods is missing"
        )));
    }
    none(group.into_iter().chain(pods.iter().map(|pod| pod.0)).filter_map(|found| {
        let pool = &found["metadata"]["labels"][KEY];
        (pool != POOL).then(|| {
            let (kind, name) = (text(&found["kind"]), name(found));
            let message = format!("{kind} {name}: node pool is {pool}, want {POOL}");
            violation(OTHER_POOL, message).shown_by_object("the object", found)
        })
    }))
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KAI_09, || {
        answers(history, NEW)?;
        let end = history.end();
        all(LIVE.map(|(name, _)| {
            history.base(name)?;
            let gangs = history.gangs(name)?;
            all(gangs.iter().map(|gang| pooled(&end, gang)))
        }))?;
        answers(history, MOVED)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_expect::testing::named_gangs;

    use super::*;

    #[rstest]
    #[case::in_the_pool(|_: &mut Vec<Value>| {}, &[])]
    #[case::pod_group_in_another(
        |objects: &mut Vec<Value>| set_pool(&mut objects[0]["metadata"], "pool-b"),
        &["other-node-pool"]
    )]
    #[case::pod_in_none(
        |objects: &mut Vec<Value>| objects[1]["metadata"]["labels"][KEY] = Value::Null,
        &["other-node-pool"]
    )]
    fn the_pod_group_and_pods_are_in_the_node_pool(
        #[case] edit: fn(&mut Vec<Value>),
        #[case] wanted: &[&str],
    ) {
        let cliques = json!([{"name": "router", "spec": {}}, {"name": "worker", "spec": {}}]);
        let pcs =
            json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {"cliques": cliques}}});
        let pod = |clique: &str| {
            let mut pod = object("Pod", clique);
            pod["metadata"]["labels"] = json!({names::POD_CLIQUE: clique});
            pod
        };
        let mut objects = vec![object(POD_GROUP, "w-0"), pod("w-0-router"), pod("w-0-worker")];
        objects.iter_mut().for_each(|object| set_pool(&mut object["metadata"], POOL));
        edit(&mut objects);
        let without_a_pod = Story::on(Target::KAI).all_added(objects[..2].to_vec()).end().end();
        let undecided = pooled(&without_a_pod, &named_gangs(&pcs)[0]);
        assert!(matches!(undecided, Err(Broken::NotReached(_))), "{undecided:?}");
        let live = Story::on(Target::KAI).all_added(objects).end().end();
        assert_eq!(codes(pooled(&live, &named_gangs(&pcs)[0])), wanted);
    }
}
