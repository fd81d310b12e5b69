//! 1 node; a clique of 2 pods (minimum 1) and a scaling group of 2 replicas (minimum 1). A proxy disturbs
//! about half of the operator's status writes, but at most two attempts of one write in a row. A run that
//! tries every crash point also disturbs only the n-th write, for every n.

use conformance_check::lifecycle::counts;
use conformance_proxy::{Action, Match, ProxyHandle, Rule, Verb, When};

use super::rests::{self, at_every_rest};
use crate::prelude::*;

marks! {
    /// Status writes were disturbed: `{"by", "times", "rests"}`.
    DISTURBED = "status writes disturbed";
}

const SET: &str = "write-faults";
const CLIQUE: &str = "write-faults-0-router";
const GROUP: &str = "write-faults-0-pool";

const RESTS: usize = 4;
const HALF: &str = "half of the writes";

pub(crate) const CASE: Case =
    case!("Statuses equal a recount despite lost, duplicated or conflicting status writes", restored)
        .clauses(&[STAT_05])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes])
        .isolation(Isolation::Dedicated);

fn disturbances() -> [(&'static str, Action); 4] {
    [
        ("conflict", Action::Refuse { code: 409, retry_after_seconds: None }),
        ("response dropped", Action::LoseAnswer),
        ("lost", Action::Drop),
        ("sent twice", Action::Duplicate),
    ]
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let (proxy, ()) = test.proxy(Part::Controller, |_| Ok(())).await?;
    test.submit_and_converge(SET).await?;
    let before = proxy.count(&statuses(test));
    round(test, "without faults").await?;
    let writes = proxy.count(&statuses(test)) - before;
    for (name, action) in disturbances() {
        let irregular = When { irregular: true, ..When::default() };
        disturbed_round(test, &proxy, &format!("{HALF}: {name}"), action.clone(), irregular).await?;
        let single_faults = if test.test_cluster.thorough.every_crash_point { writes } else { 0 };
        for n in 1..=single_faults {
            disturbed_round(test, &proxy, &format!("write {n}: {name}"), action.clone(), When::nth(n))
                .await?;
        }
    }
    Ok(())
}

async fn disturbed_round(
    test: &mut TestContext,
    proxy: &ProxyHandle,
    name: &str,
    action: Action,
    when: When,
) -> Result<(), Stop> {
    let rule = proxy.add(Rule { when, ..Rule::new(name, statuses(test), action) })?;
    let ended = round(test, name).await;
    proxy.release(rule);
    test.mark(DISTURBED, json!({"by": name, "times": proxy.applied(rule)}));
    ended
}

fn statuses(test: &TestContext) -> Match {
    let kinds = ["podcliques", "podcliquescalinggroups", "podcliquesets", "podgangs"];
    let statuses = kinds.map(|kind| format!("{kind}/status"));
    let statuses: Vec<_> = statuses.iter().map(String::as_str).collect();
    Match::of(&[Verb::Patch, Verb::Update], &statuses).in_namespace(&test.namespace)
}

async fn round(test: &mut TestContext, what: &str) -> Result<(), Stop> {
    let pods = test.pods_of(CLIQUE);
    for (containers, then) in [(Containers::Crashing, "crash"), (Containers::Ready, "are Ready again")] {
        for pod in &pods {
            test.set_pod_status(pod, containers).await?;
        }
        rests::rest(test, SET, STAT_05, &format!("{what}: all pods {then}")).await?;
    }
    for replicas in [1, 2] {
        test.scale("PodCliqueScalingGroup", GROUP, replicas).await?;
        // Otherwise the statuses may equal a recount of gated pods, but change before the rest is recorded.
        test.until_converged(SET).await?;
        rests::rest(test, SET, STAT_05, &format!("{what}: {replicas} replicas")).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(STAT_05, || {
        let rounds = history.marks(DISTURBED).count() + 1;
        let pcs = history.submitted(SET)?;
        at_every_rest(history, SET, rounds * RESTS, |live, replicas| {
            let recounts = [rests::cliques, rests::groups, rests::breaches];
            let faults = recounts.iter().flat_map(|recount| recount(live, replicas));
            faults.chain(counts::of_set(live, pcs)).collect()
        })?;
        let idle = history.marks(DISTURBED).find(|(_, mark)| mark.detail["times"] == 0);
        match idle {
            Some((_, mark)) if mark.detail["by"].as_str().is_some_and(|by| by.starts_with(HALF)) => {
                Err(Broken::NotReached(format!("API fault {} was never applied", mark.detail["by"])))
            }
            _ if rounds > disturbances().len() => Ok(()),
            _ => Err(Broken::NotReached(format!("there were only {rounds} rounds"))),
        }
    })]
}
