//! Causes the scheduler to retry a pending gang: a first try may leave wrong state in the scheduler, so that
//! a later try binds only a part. After each retry, canaries prove that the scheduler has tried the gang.

use std::time::{Duration, Instant};

use conformance_contract::clauses::Feature;
use conformance_contract::names;
use conformance_expect::resolver::resolved;
use conformance_expect::{Gang, schedulers};
use conformance_history::{Live, SharedMark};
use serde_json::{Value, json};

use super::limits::{CLEANUP, REACTION, SCHEDULING};
use crate::context::{Awaited, Disruption, Stop, TestContext};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The nodes of this step join, but the gang still does not fit.
    NodesJoin(u32),
    PodReplaced,
    /// The gang resources are deleted, and restored by an operator with self-healing or else by the harness.
    GangResourcesRestored,
    /// A gang that requests no scarce resource is created, bound and deleted.
    AnotherGang,
    /// The scheduler continues to make passes for this long.
    Passes(Duration),
}

impl Retry {
    fn name(self) -> &'static str {
        match self {
            Self::NodesJoin(_) => "nodes joined",
            Self::PodReplaced => "a pod was replaced",
            Self::GangResourcesRestored => "its gang resources were restored",
            Self::AnotherGang => "another gang was created and deleted",
            Self::Passes(_) => "the scheduler's gang timeout passed",
        }
    }
}

impl TestContext {
    pub async fn retry_pending_gang(&mut self, gang: &Gang, events: &[Retry]) -> Result<(), Stop> {
        for event in events {
            match event {
                Retry::NodesJoin(step) => self.add_nodes(*step).await?,
                Retry::PodReplaced => self.replace_pending_pod(gang).await?,
                Retry::GangResourcesRestored => self.restore_gang_resources(gang).await?,
                Retry::AnotherGang => self.bind_another_gang(gang).await?,
                Retry::Passes(length) => {
                    let begin = Instant::now();
                    while begin.elapsed() < *length {
                        self.canaries().await?;
                        self.delete_canaries().await?;
                    }
                }
            }
            self.until_released(gang).await?;
            self.canaries().await?;
            self.mark(SharedMark::Retried, json!({"after": event.name()}));
        }
        Ok(())
    }

    fn with_current_name(&self, gang: &Gang) -> Gang {
        self.look(|live| resolved(live, vec![gang.clone()])).pop().unwrap_or_else(|| gang.clone())
    }

    async fn replace_pending_pod(&self, gang: &Gang) -> Result<(), Stop> {
        let is_of_gang =
            |clique: Option<&str>| gang.groups.iter().any(|group| Some(group.clique.as_str()) == clique);
        let first = |live: &Live| {
            let mut pods = live.pods().filter(|pod| is_of_gang(pod.pod_clique()));
            pods.next().map(|pod| (pod.name().to_owned(), pod.uid().to_owned(), pods.count() + 1))
        };
        let Some((name, uid, count)) = self.look(first) else { return Ok(()) };
        self.disrupt_pod(Disruption::AtOnce, &name).await?;
        let replaced = Awaited::demanded_by("AON-11", format!("pending Pod {name} replaced"));
        self.until(replaced, REACTION, |live| {
            let pods = || live.pods().filter(|pod| is_of_gang(pod.pod_clique()));
            !pods().any(|pod| pod.uid() == uid) && pods().count() == count
        })
        .await
    }

    async fn restore_gang_resources(&self, gang: &Gang) -> Result<(), Stop> {
        for resource in schedulers::resources_of(self.target, &self.with_current_name(gang)) {
            let (kind, name) = (resource.kind, resource.name.wanted);
            let Some(original) = self.look(|live| live.get(kind, &name).cloned()) else { continue };
            self.delete(kind, &name).await?;
            if original["metadata"]["finalizers"].is_array() {
                // A finalizer blocks the deletion while the gang has pods. The object may already be deleted.
                let patch = json!({"metadata": {"finalizers": Value::Null}});
                self.attempt(http::Method::PATCH, kind, &name, &patch).await?;
            }
            let is_new = |found: &Value| found["metadata"]["uid"] != original["metadata"]["uid"];
            if self.target.declares(Feature::SelfHealing) {
                let restored = Awaited::demanded_by("GANG-12", format!("{kind} {name} restored"));
                self.until(restored, REACTION, |live| live.get(kind, &name).is_some_and(is_new)).await?;
            } else {
                let deleted = Awaited::of_harness(format!("{kind} {name} deleted"));
                self.until(deleted, REACTION, |live| live.get(kind, &name).is_none_or(is_new)).await?;
                if self.look(|live| live.get(kind, &name).is_none()) {
                    self.create(kind, &as_new(original)).await?;
                }
            }
        }
        Ok(())
    }

    async fn bind_another_gang(&mut self, gang: &Gang) -> Result<(), Stop> {
        let name = format!("{}-by", gang.set);
        let mut set = self.manifest(&gang.set)?;
        let template = &mut set["spec"]["template"];
        let mut clique = template["cliques"][0].clone();
        clique["spec"]["replicas"] = 1.into();
        clique["spec"]["minAvailable"] = 1.into();
        clique["spec"]["podSpec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1m"}});
        without(&mut clique, "topologyConstraint");
        without(&mut clique["spec"], "startsAfter");
        *template = json!({"cliques": [clique]});
        set["metadata"]["name"] = name.clone().into();
        set["spec"]["replicas"] = 1.into();
        self.submit_value(set).await?;
        let bound =
            Awaited::demanded_by("AON-10", format!("PodCliqueSet {name} bound while the other gang waits"));
        self.until(bound, SCHEDULING, |live| live.bound_pods_of_set(&name) == 1).await?;
        self.delete("PodCliqueSet", &name).await?;
        let deleted = Awaited::demanded_by("DEL-01", format!("PodCliqueSet {name} and its pod deleted"));
        self.until(deleted, CLEANUP, |live| {
            let mut pods = live.pods().filter(|pod| pod.label(names::PART_OF) == Some(&name));
            pods.next().is_none() && live.get("PodCliqueSet", &name).is_none()
        })
        .await
    }
}

fn as_new(mut object: Value) -> Value {
    for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers"]
    {
        without(&mut object["metadata"], field);
    }
    without(&mut object, "status");
    object
}

fn without(value: &mut Value, key: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_the_api_server_assigned_are_not_sent_again() {
        let stored = json!({"kind": "PodGroup", "metadata": {
            "name": "g", "uid": "u", "resourceVersion": "7", "finalizers": ["f"], "ownerReferences": [{"name": "o"}],
        }, "spec": {"minMember": 2}, "status": {"phase": "Pending"}});
        let wanted = json!({"kind": "PodGroup", "metadata": {"name": "g", "ownerReferences": [{"name": "o"}]},
            "spec": {"minMember": 2}});
        assert_eq!(as_new(stored), wanted);
    }
}
