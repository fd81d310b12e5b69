//! PodCliqueSet `read`, 2 + 3 pods, selects a scheduler that reads PodGangs itself and does not run.

use crate::prelude::*;

pub(super) fn pod_group(test: &TestContext, gang: &Gang) -> String {
    let mut resources = schedulers::resources_of(test.target, gang).into_iter();
    resources.find(|resource| resource.kind == "PodGroup").map(|found| found.name.wanted).unwrap_or_default()
}

pub(super) fn uid(test: &TestContext, kind: &str, name: &str) -> Option<String> {
    test.look(|live| live.get(kind, name)?["metadata"]["uid"].as_str().map(str::to_owned))
}

pub(super) async fn until_restored(
    test: &TestContext,
    kind: &str,
    name: &str,
    deleted_uid: Option<String>,
) -> Result<(), Stop> {
    test.until(&format!("{kind} {name} restored"), REACTION, |live| {
        live.get(kind, name)
            .is_some_and(|object| object["metadata"]["uid"].as_str() != deleted_uid.as_deref())
    })
    .await
}

pub(super) async fn delete_until_restored(test: &TestContext, kind: &str, name: &str) -> Result<(), Stop> {
    let deleted_uid = uid(test, kind, name);
    test.delete(kind, name).await?;
    until_restored(test, kind, name, deleted_uid).await
}

pub(super) async fn delete_all(test: &TestContext, gang: &Gang) -> Result<(), Stop> {
    for resource in schedulers::resources_of(test.target, gang) {
        delete_until_restored(test, resource.kind, &resource.name.wanted).await?;
    }
    Ok(())
}

pub(super) async fn release(test: &TestContext, pod_group: &str) -> Result<(), Stop> {
    test.patch("PodGroup", pod_group, json!({"metadata": {"finalizers": Value::Null}})).await.map(drop)
}

fn restored(history: &History, set: &str, wanted: usize) -> Ruling {
    let units = history.units(set)?;
    history.waited_for(SharedMark::SchedulerPassed)?;
    gang_resources::were_created(history, &history.gangs(set)?)?;
    let deleted: Vec<_> = history.marks(SharedMark::Deleted).collect();
    if let Some((first, _)) = deleted.first() {
        binding::was_pending(history, &units, *first)?;
    }
    for (index, mark) in &deleted {
        let text = |key: &str| mark.detail[key].as_str().unwrap_or_default();
        gang_resources::restored(history, *index, text("kind"), text("name"))?;
    }
    if deleted.len() < wanted {
        return Err(Broken::NotReached("not every gang resource was deleted".into()));
    }
    Ok(())
}

pub(super) fn restored_and_bound(history: &History, set: &str, wanted: usize) -> Vec<Finding> {
    vec![
        finding(GANG_12, || restored(history, set, wanted)),
        finding(GANG_26, || {
            precondition(GANG_12, restored(history, set, wanted))?;
            binding::whole(&history.end(), &history.units(set)?)
        }),
    ]
}
