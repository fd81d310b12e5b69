//! 2 nodes x 32 GPUs, shared by all schedulers of the cluster; a gang of 2 pods x 4 GPUs for each of up to 4
//! schedulers. Each node has room for all these gangs, so no two schedulers can assign the same GPU. Then the
//! target's scheduler gets a gang of 8 pods x 8 GPUs: at most 6 fit. The audit log shows who bound a pod.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use conformance_check::{audit, coexistence};
use conformance_contract::target::TARGETS;
use conformance_driver::limits::SETTLE;
use conformance_install::schedulers::{self, installation};
use jiff::Timestamp;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Each scheduler binds only its own gangs, and each backend only its resources")
        .clauses(&[COEX_01, COEX_02, COEX_03])
        .nodes(&[nodes(2).gpus(32)])
        .needs(&[Need::AuditLog, Need::SeveralSchedulers]);

/// Poll interval for the audit log, which has no watch.
const PACE: Duration = Duration::from_millis(50);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let begin = Timestamp::now();
    let mut pods = 0;
    for target in targets(test) {
        let mut alongside = test.manifest_for(target, "alongside")?;
        alongside["metadata"]["name"] = name(test.target, target.backend()).into();
        pods += test.submit_value(alongside).await?.iter().map(|gang| gang.pods()).sum::<usize>();
    }
    test.until_bound(pods).await?;
    for gang in test.submit("too-big-alongside").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.record_operator_writes(begin)?;
    note_binders(test).await
}

/// KAI identifies PodGroups by name alone, so the names differ between targets.
fn name(target: Target, scheduler: &str) -> String {
    let number = TARGETS.into_iter().take_while(|other| *other != target).count();
    format!("alongside-{number}-{scheduler}")
}

/// Returns one target for each running scheduler; for the scheduler of the test's target, that target.
pub(super) fn targets(test: &TestContext) -> Vec<Target> {
    let mut targets = Vec::new();
    for &scheduler in &test.test_cluster.schedulers {
        if test.test_cluster.cluster.scheduler_failed(scheduler).is_some() {
            continue;
        }
        if test.target.scheduler() == scheduler {
            targets.push(test.target);
        } else {
            targets.extend(TARGETS.into_iter().find(|target| target.scheduler() == scheduler));
        }
    }
    targets
}

async fn note_binders(test: &TestContext) -> Result<(), Stop> {
    let cluster = test.local()?;
    let begin = Instant::now();
    loop {
        let bindings = cluster.bindings(&test.namespace, test.audit_from)?;
        let is_logged = |pod: &str| bindings.iter().any(|binding| binding.pod == pod);
        let is_complete =
            test.look(|live| live.pods().filter(|pod| pod.node().is_some()).all(|pod| is_logged(pod.name())));
        if is_complete || begin.elapsed() > test.length(SETTLE) {
            let bound: Vec<_> = bindings.iter().map(|b| json!({"pod": b.pod, "user": b.user})).collect();
            let users: BTreeMap<_, _> =
                schedulers::all().map(|scheduler| (scheduler.name(), installation(scheduler).user)).collect();
            let stood_in_for = cluster.spec().stood_in_for();
            test.mark(
                SharedMark::BoundBy,
                json!({"bindings": bound, "users": users, "stoodInFor": stood_in_for}),
            );
            return Ok(());
        }
        tokio::time::sleep(PACE).await;
    }
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(COEX_01, || {
            coexistence::bound_by_own_scheduler(history)?;
            // The binder of an unbound pod is unknown, so every gang must be bound.
            precondition(COEX_03, each_is_whole(history))
        }),
        finding(COEX_02, || {
            coexistence::resources_of_own_gangs(history)?;
            audit::only_existing_gang_resources_written(history)
        }),
        finding(COEX_03, || {
            each_is_whole(history)?;
            all([
                binding::never(history, &history.units("too-big-alongside")?, None),
                scheduler_passed(history),
            ])
        }),
    ]
}

fn each_is_whole(history: &History) -> Ruling {
    let end = history.end();
    for scheduler in coexistence::schedulers(history)? {
        binding::whole(&end, &history.units(&name(history.header.target, scheduler))?)?;
    }
    Ok(())
}
