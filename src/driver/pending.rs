//! Makes a scheduler retry a pending gang. A gang that was not bound at the first try may be bound at the
//! next: a try may leave something assumed, counted or forgotten. A barrier follows each retry, so that the
//! gang has been tried.

use std::time::{Duration, Instant};

use conformance_contract::clauses::Feature;
use conformance_contract::names;
use conformance_expect::resolver::resolved;
use conformance_expect::{Gang, schedulers};
use conformance_history::{Live, SharedMark};
use serde_json::{Value, json};

use super::limits::{CLEANUP, REACTION, SCHEDULING};
use crate::context::{Awaited, Loss, Stop, TestContext};

/// An event after which a scheduler retries a pending gang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The nodes of this step join, but are too few.
    NodesJoin(u32),
    /// One of its pods is lost and replaced.
    PodReplaced,
    /// Its gang resources are deleted. The operator restores them if it declares that, else the harness.
    GangResourcesRestored,
    /// A gang that requests no scarce resource is created, bound and deleted.
    AnotherGang,
    /// The scheduler makes passes for this long.
    Passes(Duration),
}

impl Again {
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
    /// Makes the scheduler retry a pending gang after each of these events. Each adds the mark `tried again`.
    pub async fn is_tried_again(&mut self, gang: &Gang, after: &[Again]) -> Result<(), Stop> {
        for again in after {
            match again {
                Again::NodesJoin(step) => self.nodes_join(*step).await?,
                Again::PodReplaced => self.pending_pod_replaced(gang).await?,
                Again::GangResourcesRestored => self.gang_resources_restored(gang).await?,
                Again::AnotherGang => self.another_gang(gang).await?,
                Again::Passes(length) => {
                    let begin = Instant::now();
                    while begin.elapsed() < *length {
                        self.canaries().await?;
                        // Over minutes, canaries would fill their node.
                        self.canaries_leave().await?;
                    }
                }
            }
            self.until_released(gang).await?;
            self.canaries().await?;
            self.mark(SharedMark::TriedAgain, json!({"after": again.name()}));
        }
        Ok(())
    }

    /// The gang under the current name of its PodGang.
    fn as_it_is_called(&self, gang: &Gang) -> Gang {
        self.look(|live| resolved(live, vec![gang.clone()])).pop().unwrap_or_else(|| gang.clone())
    }

    async fn pending_pod_replaced(&self, gang: &Gang) -> Result<(), Stop> {
        let is_its =
            |clique: Option<&str>| gang.groups.iter().any(|group| Some(group.clique.as_str()) == clique);
        let first = |live: &Live| {
            let mut pods = live.pods().filter(|pod| is_its(pod.pod_clique()));
            pods.next().map(|pod| (pod.name().to_owned(), pod.uid().to_owned(), pods.count() + 1))
        };
        let Some((name, uid, there)) = self.look(first) else { return Ok(()) };
        self.lose_pod_by(Loss::AtOnce, &name).await?;
        let replaced = Awaited::demanded_by("AON-11", format!("pending Pod {name} replaced"));
        self.until(replaced, REACTION, |live| {
            let pods = || live.pods().filter(|pod| is_its(pod.pod_clique()));
            !pods().any(|pod| pod.uid() == uid) && pods().count() == there
        })
        .await
    }

    async fn gang_resources_restored(&self, gang: &Gang) -> Result<(), Stop> {
        for resource in schedulers::resources_of(self.target, &self.as_it_is_called(gang)) {
            let (kind, name) = (resource.kind, resource.name.wanted);
            let Some(was) = self.look(|live| live.get(kind, &name).cloned()) else { continue };
            self.delete(kind, &name).await?;
            if was["metadata"]["finalizers"].is_array() {
                // A finalizer keeps it while it has pods. It may also be deleted already: ignore the
                // response.
                let freed = json!({"metadata": {"finalizers": Value::Null}});
                self.attempt(http::Method::PATCH, kind, &name, &freed).await?;
            }
            let is_another = |found: &Value| found["metadata"]["uid"] != was["metadata"]["uid"];
            if self.target.declares(Feature::SelfHealing) {
                let restored = Awaited::demanded_by("GANG-12", format!("{kind} {name} restored"));
                self.until(restored, REACTION, |live| live.get(kind, &name).is_some_and(is_another)).await?;
            } else {
                let gone = Awaited::of_harness(format!("{kind} {name} deleted"));
                self.until(gone, REACTION, |live| live.get(kind, &name).is_none_or(is_another)).await?;
                if self.look(|live| live.get(kind, &name).is_none()) {
                    self.create(kind, &as_new(was)).await?;
                }
            }
        }
        Ok(())
    }

    /// Creates, binds and deletes a one-pod gang of the first clique. It requests next to nothing.
    async fn another_gang(&mut self, gang: &Gang) -> Result<(), Stop> {
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
        self.until(bound, SCHEDULING, |live| live.bound_of(&name) == 1).await?;
        self.delete("PodCliqueSet", &name).await?;
        let gone = Awaited::demanded_by("DEL-01", format!("PodCliqueSet {name} and its pod deleted"));
        self.until(gone, CLEANUP, |live| {
            let mut pods = live.pods().filter(|pod| pod.label(names::PART_OF) == Some(&name));
            pods.next().is_none() && live.get("PodCliqueSet", &name).is_none()
        })
        .await
    }
}

/// The object without the fields that the API server assigns.
fn as_new(mut was: Value) -> Value {
    for given in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers"]
    {
        without(&mut was["metadata"], given);
    }
    without(&mut was, "status");
    was
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
    fn what_the_api_server_gave_is_not_sent_again() {
        let was = json!({"kind": "PodGroup", "metadata": {
            "name": "g", "uid": "u", "resourceVersion": "7", "finalizers": ["f"], "ownerReferences": [{"name": "o"}],
        }, "spec": {"minMember": 2}, "status": {"phase": "Pending"}});
        let wanted = json!({"kind": "PodGroup", "metadata": {"name": "g", "ownerReferences": [{"name": "o"}]},
            "spec": {"minMember": 2}});
        assert_eq!(as_new(was), wanted);
    }
}
