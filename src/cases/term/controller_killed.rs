//! 1 node; PodCliqueSets of a clique of 2 pods and a scaling group of 2 replicas of one pod. A control is
//! terminated without a kill, and a proxy counts the operator's writes. For two others, the case kills the
//! operator after its n-th write, before it receives the response. The run's seed chooses n; with `--depth
//! full`, a run tries every n. The operator is also down while another PodCliqueSet's delay of 12 s expires.

use std::time::Duration;

use conformance_proxy::ProxyHandle;

use super::replica;
use crate::crash_points::{Crash, KILLED_SETS, crash_points, writes_of};
use crate::prelude::*;

marks! {
    /// A pod is about to crash: `{"name"}`.
    CRASHED = "crash of a pod";
    /// The replica is recreated. `killed` is true if the operator was killed meanwhile: `{"name", "killed"}`.
    ENDED = "gang termination over";
    ALL_ENDED = "all gang terminations over";
}

const CONTROL: &str = "control";
const CLOCK: &str = "long-delay";
/// Long enough that slowness alone cannot explain a delay that starts again with the new operator.
const LONG_DELAY: Duration = Duration::from_secs(12);

pub(crate) const CASE: Case =
    case!("Gang termination completes in time although the controller is killed at any write", restored)
        .clauses(&[TERM_14])
        .nodes(&[nodes(1).pods(60)])
        .needs(&[Need::SimulatedNodes])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let (proxy, ()) = test.proxy(Part::Controller, |_| Ok(())).await?;
    let sets: Vec<_> =
        [CONTROL, CLOCK].map(str::to_owned).into_iter().chain((0..KILLED_SETS).map(set_name)).collect();
    for set in &sets {
        submit(test, set).await?;
    }
    for set in &sets {
        test.until_started(set).await?;
    }
    let before = proxy.count(&writes_of(test));
    crash_pod(test, CONTROL).await?;
    until_replaced(test, CONTROL, false).await?;
    let points = crash_points(test, &[proxy.count(&writes_of(test)) - before]);
    for (number, n) in points.into_iter().flatten().flatten().enumerate() {
        if number >= KILLED_SETS {
            submit(test, &set_name(number)).await?;
            test.until_started(&set_name(number)).await?;
        }
        killed_after(test, &proxy, &set_name(number), n).await?;
    }
    terminate_while_down(test, CLOCK).await?;
    test.mark(ALL_ENDED, Value::Null);
    Ok(())
}

async fn submit(test: &mut TestContext, name: &str) -> Result<(), Stop> {
    let mut pcs = test.manifest(CONTROL)?;
    pcs["metadata"]["name"] = name.into();
    if name == CLOCK {
        pcs["spec"]["template"]["terminationDelay"] = format!("{}s", LONG_DELAY.as_secs()).into();
    }
    test.submit_value(pcs).await.map(drop)
}

async fn crash_pod(test: &TestContext, set: &str) -> Result<(), Stop> {
    test.mark(CRASHED, json!({"name": set}));
    let pods = test.pods_of(&format!("{set}-0-worker"));
    test.set_pod_status(pods.first().map_or("", String::as_str), Containers::Crashing).await
}

async fn until_replaced(test: &TestContext, set: &str, killed: bool) -> Result<(), Stop> {
    let history = test.history();
    let crashed = history.marks(CRASHED).filter(|(_, mark)| mark.detail["name"] == set).last();
    let before = history.before(crashed.map_or(0, |(place, _)| place));
    let cliques =
        [format!("{set}-0-worker"), format!("{set}-0-pool-0-helper"), format!("{set}-0-pool-1-helper")];
    let is_of_set =
        |clique: Option<&str>| clique.is_some_and(|clique| cliques.iter().any(|name| name == clique));
    let old: Vec<_> =
        before.pods().filter(|pod| is_of_set(pod.pod_clique())).map(|pod| pod.name().to_owned()).collect();
    let cliques: Vec<_> = cliques.iter().map(String::as_str).collect();
    test.until_recreated(set, TERM_14, &cliques, &old, true).await?;
    test.mark(ENDED, json!({"name": set, "killed": killed}));
    Ok(())
}

async fn killed_after(test: &mut TestContext, proxy: &ProxyHandle, set: &str, n: u64) -> Result<(), Stop> {
    let crash = Crash::after(test, proxy, n, "a gang termination")?;
    crash_pod(test, set).await?;
    if crash.is_reached_before(until_replaced(test, set, false)).await? {
        crash.replace_controller(test).await?;
        until_replaced(test, set, true).await?;
    }
    Ok(())
}

async fn terminate_while_down(test: &mut TestContext, set: &str) -> Result<(), Stop> {
    crash_pod(test, set).await?;
    test.until_breach_is("True", &format!("{set}-0-worker")).await?;
    test.kill_part(Part::Controller).await?;
    // The check detects a delay that starts again only if this takes longer than a termination may be late.
    let patience = Duration::try_from(termination::patience(&test.history())).unwrap_or_default();
    test.watch_for(LONG_DELAY.max(patience.saturating_add(Duration::from_secs(2)))).await?;
    test.start_ready(Part::Controller).await?;
    until_replaced(test, set, true).await
}

fn set_name(number: usize) -> String {
    format!("killed-{number}")
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(TERM_14, || {
        let crashed =
            history.marks(CRASHED).filter_map(|(at, mark)| Some((at, mark.detail["name"].as_str()?)));
        let end_of = |set: &str| {
            let ended = history.marks(ENDED).find(|(_, mark)| mark.detail["name"] == set);
            ended.map_or(history.entries.len(), |(at, _)| at)
        };
        history.waited_for(ENDED)?;
        all(crashed.map(|(crashed, set)| {
            termination::replaced_once_or_twice(history, &replica(history, set, 0)?, crashed, end_of(set))
        }))?;
        if history.marks(CRASHED).any(|(_, mark)| mark.detail["name"] == CLOCK) {
            let late = replica(history, CLOCK, 0)?;
            termination::after_the_delay(history, &late, &late.scope(), LONG_DELAY)?;
        }
        history.reached(ALL_ENDED)?;
        if history.marks(ENDED).any(|(_, mark)| mark.detail["killed"] == true) {
            Ok(())
        } else {
            Err(Broken::NotReached("the controller was never killed".into()))
        }
    })]
}
