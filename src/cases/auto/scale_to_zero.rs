//! 4 nodes x 8 GPUs; a gang of cliques `front` and `back`, 2 pods x 8 GPUs each, and a scaling group of 2
//! replicas (minimum 1) without requests. The case scales `back` to 0 for longer than the termination delay
//! of 4 s. An occupant of 1 pod x 8 GPUs takes one of the free nodes. When `back` is scaled to 2 again, it is
//! one pod short until the occupant is deleted.

use conformance_check::lifecycle::idle;
use conformance_facts::cliques::have_left;
use conformance_facts::health::is_ready;
use conformance_history::counted_pods;

use crate::prelude::*;

marks! {
    IDLE = "idle for a termination delay";
    REPLACED = "a lost pod of the others is replaced";
    SHORT = "one pod short";
    WHOLE = "back and whole";
    GROUP_IDLE = "the group is idle";
    GROUP_WHOLE = "the group is back and whole";
    DELAY_OVER = "a termination delay is over";
}

const DELAY: &str = "4s";

const SET: &str = "idle";
const OCCUPANT: &str = "occupant";
const FRONT: &str = "idle-0-front";
const BACK: &str = "idle-0-back";
const GROUP: &str = "idle-0-pool";
const MEMBERS: [&str; 2] = ["idle-0-pool-0-unit", "idle-0-pool-1-unit"];

pub(crate) const CASE: Case = case!("Scaling a clique or group to 0 and back keeps the gang whole")
    .clauses(&[AUTO_06, AUTO_14])
    .nodes(&[nodes(4).gpus(8)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let clock = test.start_clock(DELAY).await?;
    test.scale_as_an_autoscaler("PodClique", BACK, 0).await?;
    until_idle(test, &[BACK]).await?;
    test.until_converged(SET).await?;
    test.run_clock(&clock, 1, DELAY_OVER).await?;
    test.canaries().await?;
    test.mark(IDLE, Value::Null);
    // Otherwise the lost pod's gang may be terminated on a slow machine before the pod is replaced.
    test.delay_termination(SET, "1h").await?;
    if let Some(lost) = test.pods_of(FRONT).first() {
        test.force_delete_pod(lost).await?;
    }
    until_ready(test, AUTO_06, FRONT, 2).await?;
    test.until_converged(SET).await?;
    test.delay_termination(SET, DELAY).await?;
    test.mark(REPLACED, Value::Null);
    test.submit_and_converge(OCCUPANT).await?;
    test.scale_as_an_autoscaler("PodClique", BACK, 2).await?;
    let released = Awaited::demanded_by(AUTO_14, format!("2 pods of {BACK} released to the scheduler"));
    test.until(released, REACTION, |live| {
        pods_of(live, BACK).count() == 2 && pods_of(live, BACK).all(|pod| pod.gates().is_empty())
    })
    .await?;
    test.scheduler_passes().await?;
    test.run_clock(&clock, 1, DELAY_OVER).await?;
    test.canaries().await?;
    test.mark(SHORT, Value::Null);
    test.delete("PodCliqueSet", OCCUPANT).await?;
    until_ready(test, AUTO_14, BACK, 2).await?;
    test.until_converged(SET).await?;
    test.mark(WHOLE, Value::Null);
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 0).await?;
    until_idle(test, &MEMBERS).await?;
    test.until_converged(SET).await?;
    test.canaries().await?;
    test.mark(GROUP_IDLE, Value::Null);
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 1).await?;
    until_ready(test, AUTO_14, MEMBERS[0], 1).await?;
    test.until_converged(SET).await?;
    test.mark(GROUP_WHOLE, Value::Null);
    Ok(())
}

async fn until_idle(test: &TestContext, cliques: &[&str]) -> Result<(), Stop> {
    let awaited =
        Awaited::demanded_by(AUTO_06, format!("{} without pods and in no PodGang", cliques.join(" and ")));
    test.until(awaited, REACTION, |live| have_left(live, cliques)).await
}

async fn until_ready(
    test: &TestContext,
    clause: &'static str,
    clique: &str,
    count: usize,
) -> Result<(), Stop> {
    let awaited =
        Awaited::demanded_by(clause, format!("{} of {clique} bound and Ready", counted_pods(count)));
    test.until(awaited, SCHEDULING, |live| {
        pods_of(live, clique).count() == count && pods_of(live, clique).all(is_ready)
    })
    .await
}

fn scaled(history: &History, n: usize) -> Result<usize, Broken> {
    let found = history.marks(SharedMark::Scaled).nth(n);
    found
        .map(|(at, _)| at)
        .ok_or_else(|| Broken::NotReached(format!("the object was scaled fewer than {} times", n + 1)))
}

fn gangs(history: &History, scaled: usize) -> Result<Vec<Gang>, Broken> {
    Ok(scaling::gangs(history, history.submitted(SET)?, scaled + 1))
}

fn others_untouched(history: &History, from: usize, until: usize, cliques: &[&str]) -> Result<(), Broken> {
    let before = history.before(from);
    let is_excluded = |pod: &Pod<'_>| pod.pod_clique().is_some_and(|clique| cliques.contains(&clique));
    let excluded: Vec<_> = before.pods().filter(is_excluded).map(Pod::name).collect();
    binding::others_untouched(&history.upto(until), from, &excluded)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AUTO_06, || check_idle(history)), finding(AUTO_14, || check_return(history))]
}

fn check_idle(history: &History) -> Ruling {
    let target = history.header.target;
    let from = scaled(history, 0)?;
    history.at(IDLE, |until| {
        others_untouched(history, from, until, &[BACK])?;
        let live = history.before(until);
        idle::has_left_gang(target, &live, &gangs(history, from)?, &[BACK])?;
        idle::is_no_breach(&live, ("PodClique", BACK), SET)
    })?;
    history.at(REPLACED, |until| {
        let (lost_at, lost) = history.reached(SharedMark::PodLost)?;
        let lost = lost.detail["name"].as_str().unwrap_or_default();
        binding::replaced(&history.upto(until), lost_at, lost)?;
        binding::others_untouched(&history.upto(until), lost_at, &[lost])
    })?;
    let from = scaled(history, 2)?;
    history.at(GROUP_IDLE, |until| {
        others_untouched(history, from, until, &MEMBERS)?;
        let live = history.before(until);
        idle::has_left_gang(target, &live, &gangs(history, from)?, &MEMBERS)?;
        idle::is_no_breach(&live, ("PodCliqueScalingGroup", GROUP), SET)
    })
}

fn check_return(history: &History) -> Ruling {
    let target = history.header.target;
    let from = scaled(history, 1)?;
    history.at(SHORT, |until| {
        idle::none_bound(history, &[BACK], from, until)?;
        others_untouched(history, from, until, &[])
    })?;
    history.at(WHOLE, |until| {
        others_untouched(history, from, until, &["occupant-0-only"])?;
        let (live, whole) = (history.before(until), gangs(history, from)?);
        binding::all(&live, &whole)?;
        idle::has_returned(target, &live, &whole)
    })?;
    let from = scaled(history, 3)?;
    history.at(GROUP_WHOLE, |until| {
        others_untouched(history, from, until, &[])?;
        let (live, whole) = (history.before(until), gangs(history, from)?);
        binding::all(&live, &whole)?;
        idle::has_returned(target, &live, &whole)
    })
}
