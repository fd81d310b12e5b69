use conformance_contract::names;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::schedulers;
use conformance_history::{Live, Pod, SharedMark};
use serde_json::{Value, json};

use crate::plain_gang::PlainGang;

pub(crate) trait PlainGangSteps {
    async fn submit_plain_gang(&mut self, name: &str) -> Result<PlainGang, Stop>;

    /// Adds the nodes of this step. The history's mark precedes the change.
    async fn add_capacity(&mut self, step: u32) -> Result<(), Stop>;

    /// Waits until all pods of a gang are Ready. A timeout violates `clause`.
    async fn until_gang_ready(&self, clause: &'static str, gang: &PlainGang) -> Result<(), Stop>;

    async fn until_one_gang_ready(&self, clause: &'static str, gangs: &[PlainGang]) -> Result<usize, Stop>;

    async fn delete_plain_gang(&self, clause: &'static str, gang: &PlainGang) -> Result<(), Stop>;
}

impl PlainGangSteps for TestContext {
    async fn submit_plain_gang(&mut self, name: &str) -> Result<PlainGang, Stop> {
        let manifest = self.document("Pod", name)?;
        let gang = PlainGang::of(&manifest);
        self.submitted(name, &manifest);
        self.mark(SharedMark::Submitted, json!({"name": name}));
        for (kind, object) in schedulers::of(self.target).plain_gang(&gang.name, gang.pods) {
            match kind {
                "Pod" => {
                    for name in gang.pod_names() {
                        let pod = plain_pod(self, &gang, &name, object.clone(), &manifest);
                        self.create("Pod", &pod).await?;
                    }
                }
                _ => drop(self.create(kind, &object).await?),
            }
        }
        Ok(gang)
    }

    async fn add_capacity(&mut self, step: u32) -> Result<(), Stop> {
        self.mark(SharedMark::RoomAvailable, Value::Null);
        self.add_nodes(step).await
    }

    async fn until_gang_ready(&self, clause: &'static str, gang: &PlainGang) -> Result<(), Stop> {
        self.until_one_gang_ready(clause, std::slice::from_ref(gang)).await.map(drop)
    }

    async fn until_one_gang_ready(&self, clause: &'static str, gangs: &[PlainGang]) -> Result<usize, Stop> {
        let names = gangs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        let bound = Awaited::demanded_by(clause, format!("all pods of {names} bound"));
        let is_bound = |pod: Pod<'_>| pod.node().is_some();
        self.until(bound, limits::SCHEDULING, |live| gangs.iter().any(|gang| all_pods(live, gang, is_bound)))
            .await?;
        // On real nodes, the containers of a bound pod still have to start, so this wait has its own limit.
        let ready = Awaited::demanded_by(clause, format!("all pods of {names} Ready"));
        let first_ready = |live: &Live| gangs.iter().position(|gang| all_pods(live, gang, is_ready));
        self.until(ready, limits::CONTAINERS, |live| first_ready(live).is_some()).await?;
        Ok(self.look(first_ready).unwrap_or_default())
    }

    async fn delete_plain_gang(&self, clause: &'static str, gang: &PlainGang) -> Result<(), Stop> {
        for name in gang.pod_names() {
            self.delete("Pod", &name).await?;
        }
        let scheduler = schedulers::of(self.target);
        if let Some(kind) = scheduler.kind_of_plain_gang() {
            self.delete(kind, &gang.name).await?;
        }
        for (kind, _) in scheduler.plain_gang(&gang.name, gang.pods) {
            if kind != "Pod" {
                self.delete(kind, &gang.name).await?;
            }
        }
        let condition = Awaited::demanded_by(clause, format!("the pods of {gang} deleted"));
        self.until(condition, limits::CLEANUP, |live| !live.pods().any(|pod| gang.has(pod))).await
    }
}

/// A pod of a gang: the membership fields that the scheduler reads, and the containers of the manifest.
fn plain_pod(test: &TestContext, gang: &PlainGang, name: &str, mut pod: Value, manifest: &Value) -> Value {
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["labels"][names::GANG] = gang.name.as_str().into();
    let spec = &mut pod["spec"];
    spec["containers"] = manifest["spec"]["containers"].clone();
    spec["nodeSelector"] = json!({names::POOL: test.namespace});
    spec["tolerations"] = json!([{"key": names::POOL, "value": test.namespace, "effect": "NoSchedule"}]);
    spec["terminationGracePeriodSeconds"] = 0.into();
    pod
}

fn is_ready(pod: Pod<'_>) -> bool {
    pod.condition("Ready").is_some_and(|ready| ready["status"] == "True")
}

fn all_pods(live: &Live, gang: &PlainGang, condition: impl Fn(Pod<'_>) -> bool) -> bool {
    live.pods().filter(|pod| gang.has(*pod) && condition(*pod)).count() == gang.pods
}
