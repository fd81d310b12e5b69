//! What cases do to gang resources behind the backend's back, and how they wait for it to notice (GANG-12).

use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_expect::{Gang, schedulers};
use serde_json::{Value, json};

/// The name of the gang's first PodGroup.
pub(super) fn pod_group(test: &TestContext, gang: &Gang) -> String {
    let mut resources = schedulers::resources_of(test.target, gang).into_iter();
    resources.find(|resource| resource.kind == "PodGroup").map(|found| found.name.wanted).unwrap_or_default()
}

/// The uid of an object as it is now.
pub(super) fn uid(test: &TestContext, kind: &str, name: &str) -> Option<String> {
    test.look(|live| live.get(kind, name)?["metadata"]["uid"].as_str().map(str::to_owned))
}

/// Waits until there is another object of that name than the one that was lost.
pub(super) async fn until_restored(
    test: &TestContext,
    kind: &str,
    name: &str,
    lost: Option<String>,
) -> Result<(), Stop> {
    test.until(&format!("{kind} {name} restored"), REACTION, |live| {
        live.get(kind, name).is_some_and(|object| object["metadata"]["uid"].as_str() != lost.as_deref())
    })
    .await
}

/// Deletes an object and waits until it has been restored.
pub(super) async fn delete_until_restored(test: &TestContext, kind: &str, name: &str) -> Result<(), Stop> {
    let lost = uid(test, kind, name);
    test.delete(kind, name).await?;
    until_restored(test, kind, name, lost).await
}

/// Deletes every gang resource of a PodGang, one after the other, each until it has been restored.
pub(super) async fn delete_all(test: &TestContext, gang: &Gang) -> Result<(), Stop> {
    for resource in schedulers::resources_of(test.target, gang) {
        delete_until_restored(test, resource.kind, &resource.name.wanted).await?;
    }
    Ok(())
}

/// Takes the finalizers off a PodGroup that is being deleted, so that it goes in spite of its pods.
pub(super) async fn release(test: &TestContext, pod_group: &str) -> Result<(), Stop> {
    test.patch("PodGroup", pod_group, json!({"metadata": {"finalizers": Value::Null}})).await.map(drop)
}
