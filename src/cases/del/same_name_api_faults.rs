//! 4 nodes x 72 GPUs; nine gangs of 4 pods x 8 GPUs, which all fit. Each gang is deleted and created again
//! under its name, each time with a different fault between the operator and the API server. For the last
//! gang, events about gang resources reach the scheduler half a second late. The scheduler then sees the
//! second gang's pods together with the first gang's resources.

use conformance_proxy::Action;

use super::same_name_again::{AGAIN, nothing_survived, uids_of};
use crate::disturbances::{self, Disturbed, proxy_gang_resource_watches};
use crate::prelude::*;

marks! {
    /// Events about gang resources reached the scheduler late: `{"set", "rules", "times"}`.
    LATE = "gang resources delayed for the scheduler";
}

pub(crate) const CASE: Case =
    case!("A PodCliqueSet recreated under the same name is scheduled despite API faults", restored)
        .clauses(&[DEL_08, DEL_12])
        .nodes(&[nodes(4).gpus(72)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut disturbed = Disturbed::start(test).await?;
    let mut before = 0;
    while disturbed.next(test).await? {
        run_twice(test, before).await?;
        before += 4;
    }
    let late = Action::DelayEvents { milliseconds: 500 };
    let late = proxy_gang_resource_watches(test, &format!("*{}*", set_name(before)), &late).await?;
    run_twice(test, before).await?;
    let times: u64 = late.iter().map(|(proxy, rule)| proxy.applied(*rule)).sum();
    test.mark(LATE, json!({"set": set_name(before), "rules": late.len(), "times": times}));
    Ok(())
}

fn set_name(before: usize) -> String {
    format!("disturbed-{before}")
}

async fn run_twice(test: &mut TestContext, before: usize) -> Result<(), Stop> {
    let mut pcs = test.manifest("disturbed")?;
    let name = set_name(before);
    pcs["metadata"]["name"] = name.as_str().into();
    test.submit_value(pcs.clone()).await?;
    test.until_bound(before + 4).await?;
    let old = test.look(|live| uids_of(live, &name));
    test.delete("PodCliqueSet", &name).await?;
    let deleted = Awaited::demanded_by(DEL_01, format!("the first PodCliqueSet {name} deleted"));
    test.until(deleted, limits::CLEANUP, |live| live.get("PodCliqueSet", &name).is_none()).await?;
    test.submit_value(pcs).await?;
    test.mark(AGAIN, json!({"name": name}));
    let bound = Awaited::demanded_by(DEL_08, format!("the second PodCliqueSet {name} bound"));
    test.until(bound, limits::RECOVERY, |live| {
        live.bound() == before + 4 && uids_of(live, &name).is_disjoint(&old)
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    let deletions = || {
        let marks = history.marks(SharedMark::Deleted);
        marks.map(|(deleted, mark)| (deleted, mark.detail["name"].as_str().unwrap_or_default()))
    };
    vec![
        finding(DEL_08, || {
            history.reached(SharedMark::Deleted)?;
            let end = history.end();
            for (_, mark) in history.marks(AGAIN) {
                let set = mark.detail["name"].as_str().unwrap_or_default();
                binding::whole(&end, &history.units(set)?)?;
            }
            disturbances::all_applied(history)?;
            let (_, late) = history.reached(LATE)?;
            if late.detail["times"] != 0 || late.detail["rules"] == 0 {
                return Ok(());
            }
            let last = late.detail["set"].as_str().unwrap_or_default();
            gang_resources::were_created(history, &history.gangs(last)?)?;
            Err(Broken::NotReached("no event of a gang resource reached the scheduler late".into()))
        }),
        finding(DEL_12, || {
            history.reached(SharedMark::Deleted)?;
            for (deleted, set) in deletions() {
                nothing_survived(history, deleted, set)?;
            }
            disturbances::all_applied(history)
        }),
    ]
}
