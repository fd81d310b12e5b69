//! 1 node; two PodCliqueSet replicas, each of a parent clique `a` of 2 pods, a clique `a-b` of 2 pods with
//! the same name prefix, and a clique `c` of 1 pod that starts after `a`. The order of watch events decides
//! which pod started first, because timestamps have whole seconds.

use std::time::Duration;

use conformance_check::startup;
use conformance_facts::health;
use conformance_facts::startup::{has_started, init_container_runs};

use crate::prelude::*;

marks! {
    /// Both pods of `a` in replica 1, one pod of `a` in replica 0 and all pods of `a-b` are Ready.
    OTHERS_READY = "others Ready";
    OTHER_STARTED = "the waiting pod of replica 1 started";
    STARTED = "all started";
    REPLACED = "the replacement in replica 1 started";
    AGAIN = "the recreated pod of replica 0 started";
}

const SET: &str = "dependent";
const PARENTS: [&str; 2] = ["dependent-0-a", "dependent-1-a"];
const NAMESAKES: [&str; 2] = ["dependent-0-a-b", "dependent-1-a-b"];
const WAITING: [&str; 2] = ["dependent-0-c", "dependent-1-c"];
const TERMINATION_DELAY: Duration = Duration::from_secs(30);

pub(crate) const CASE: Case = case!("Containers start only after the cliques that they depend on are Ready")
    .clauses(&[START_04, START_06, START_07])
    .nodes(&[nodes(1)])
    .needs(&[Need::Kubelets]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    until_held(test, &WAITING).await?;
    let parents = test.pods_of(PARENTS[0]);
    let (one, others) = parents.split_at(parents.len().min(1));
    let namesakes = NAMESAKES.into_iter().flat_map(|clique| test.pods_of(clique));
    let all_but_one: Vec<_> = namesakes.chain(one.iter().cloned()).collect();
    until_ready(test, &all_but_one).await?;
    until_ready(test, &test.pods_of(PARENTS[1])).await?;
    test.mark(OTHERS_READY, Value::Null);
    until_containers_started(test, START_04, WAITING[1], &[]).await?;
    test.mark(OTHER_STARTED, Value::Null);

    // In replica 0, one pod of `a` is still not Ready. While the lost pod of replica 1 is replaced, the
    // waiting pod of replica 0 has time to start too early.
    let lost = test.pods_of(WAITING[1]);
    for pod in &lost {
        test.force_delete_pod(pod).await?;
    }
    until_containers_started(test, START_07, WAITING[1], &lost).await?;
    test.mark(REPLACED, Value::Null);
    until_ready(test, others).await?;
    until_containers_started(test, START_04, WAITING[0], &[]).await?;
    test.mark(STARTED, Value::Null);

    let cliques = [PARENTS[0], NAMESAKES[0], WAITING[0]];
    let old: Vec<_> = cliques.iter().flat_map(|clique| test.pods_of(clique)).collect();
    let node = test.delete_pod_and_cordon_node(one.first().map_or("", String::as_str)).await?;
    test.watch_for(TERMINATION_DELAY).await?;
    test.until_recreated("replica 0 of PodCliqueSet dependent", TERM_02, &cliques, &old, false).await?;
    test.cordon(&node, false).await?;
    until_held(test, &WAITING[..1]).await?;
    until_ready(test, &test.pods_of(PARENTS[0])).await?;
    until_containers_started(test, START_07, WAITING[0], &old).await?;
    test.mark(AGAIN, Value::Null);
    Ok(())
}

async fn until_ready(test: &TestContext, pods: &[String]) -> Result<(), Stop> {
    for pod in pods {
        test.allow_ready(pod).await?;
    }
    let ready = Awaited::of_harness(format!("pods {} Ready", pods.join(", ")));
    let is_ready =
        |live: &Live, name: &String| live.get("Pod", name).is_some_and(|pod| health::is_ready(Pod(pod)));
    test.until(ready, limits::CONTAINERS, |live| pods.iter().all(|name| is_ready(live, name))).await
}

async fn until_held(test: &TestContext, waiting: &[&str]) -> Result<(), Stop> {
    let held = Awaited::demanded_by(
        START_04,
        format!("pods of {} waiting in their init containers", waiting.join(", ")),
    );
    let is_held = |live: &Live| {
        let pods: Vec<_> = live.pods().filter(|pod| !pod.is_terminating() && !pod.is_canary()).collect();
        let waits = |pod: &Pod<'_>| pod.pod_clique().is_some_and(|clique| WAITING.contains(&clique));
        let held = |clique: &&str| {
            pods.iter().any(|pod| pod.pod_clique() == Some(*clique) && init_container_runs(*pod))
        };
        waiting.iter().all(held) && pods.iter().filter(|pod| !waits(pod)).all(|pod| has_started(*pod))
    };
    test.until(held, limits::CONTAINERS, is_held).await
}

async fn until_containers_started(
    test: &TestContext,
    clause: &'static str,
    clique: &str,
    except: &[String],
) -> Result<(), Stop> {
    let started = Awaited::demanded_by(clause, format!("a pod of PodClique {clique} started"));
    test.until(started, limits::CONTAINERS, |live| {
        let mut pods = pods_of(live, clique);
        pods.any(|pod| has_started(pod) && !except.iter().any(|name| name == pod.name()))
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    // Pods that are created after this mark are replacements, which START-07 checks.
    let replaced = history.marks(OTHER_STARTED).next().map_or(usize::MAX, |(place, _)| place);
    vec![
        finding(START_04, || {
            startup::parents_first(history, SET, 0..replaced)?;
            history.reached(STARTED).map(drop)
        }),
        finding(START_06, || {
            let others = history.marks(OTHERS_READY).next().map(|(place, _)| place);
            // The last parent of replica 0 may be Ready from this mark on.
            let last = history.marks(REPLACED).next().map(|(place, _)| place);
            startup::none_starts(history, WAITING[0], others, last)?;
            history.reached(REPLACED).map(drop)
        }),
        finding(START_07, || {
            startup::parents_first(history, SET, replaced..usize::MAX)?;
            history.at(AGAIN, |_| history.reached(REPLACED).map(drop))
        }),
    ]
}
