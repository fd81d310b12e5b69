//! Racks a and b of one node each; `passing`, 2 pods in one rack, comes and goes, and the topology resources stay.
//! Then the binding that all trials share goes, and takes them with it. Before it is made again, somebody else makes
//! a topology resource of a name that one of them had: it stays what it is until he removes it himself.

use conformance_contract::names;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits::{CLEANUP, REACTION};
use conformance_driver::test_cluster::{TOPOLOGY, binding};
use conformance_expect::domains::LEVELS;
use conformance_expect::hyper_nodes::{self, mentions};
use conformance_expect::schedulers;
use conformance_history::{History, Kind, Live};
use conformance_judge::finding;
use conformance_judge::topology_resources::{
    BINDING, follow, is_in_sync, outlived, says_out_of_sync, untouched, went_with,
};
use serde_json::{Value, json};

/// TOPO-09, DEL-09.
pub(super) const CASE: Case = Case {
    id: "del/topology-resources",
    title: "Topology resources outlive workloads, go with their binding, and are never taken from somebody else",
    clauses: &["TOPO-09", "DEL-09"],
    nodes: &[nodes(1).rack("a"), nodes(1).rack("b")],
    manifest: include_str!("topology_resources.yaml"),
    // There is one binding, and all trials need it.
    lane: Lane::Alone,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const BOUND: &str = "the workload is bound";
const WORKLOAD_GONE: &str = "the workload is gone";
const BINDING_GONE: &str = "the binding's resources are gone";
const TAKEN: &str = "a name is taken";
const OUT_OF_SYNC: &str = "the binding says that a name is taken";
const FOLLOWS_AGAIN: &str = "the binding's resources are back";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("passing").await?;
    trial.until_bound(2).await?;
    trial.mark(BOUND, Value::Null);
    trial.delete("PodCliqueSet", "passing").await?;
    let gone = |live: &Live| live.get("PodGang", "passing-0").is_none() && live.pods().next().is_none();
    trial.until(WORKLOAD_GONE, CLEANUP, gone).await?;
    trial.mark(WORKLOAD_GONE, Value::Null);
    let outcome = without_the_binding(trial).await;
    // The next trial needs the binding, whatever became of this one.
    let back = trial.attempt(http::Method::POST, BINDING, TOPOLOGY, &binding(TOPOLOGY, &LEVELS)).await;
    outcome?;
    back?;
    let follows = |live: &Live| is_whole(trial, live);
    trial.until_in_cluster(FOLLOWS_AGAIN, REACTION, follows).await?;
    trial.mark(FOLLOWS_AGAIN, Value::Null);
    Ok(())
}

async fn without_the_binding(trial: &Trial) -> Result<(), Stop> {
    let kind = kind(trial)?;
    let is_known = |object: &&Value| kind.name != hyper_nodes::KIND || mentions(object, &trial.namespace);
    let name = trial.ground.recorder.look("", |live| {
        live.of(kind.name)
            .find(is_known)
            .and_then(|known| known["metadata"]["name"].as_str())
            .map(str::to_owned)
    });
    let name = name.unwrap_or_default();
    trial.delete(BINDING, TOPOLOGY).await?;
    trial.until_in_cluster(BINDING_GONE, CLEANUP, |live| live.of(kind.name).next().is_none()).await?;
    trial.mark(BINDING_GONE, Value::Null);
    let made = trial.create(kind.name, &of_somebody_else(kind, &name, &trial.namespace)).await?;
    trial.mark(TAKEN, made["metadata"]["uid"].clone());
    trial.attempt(http::Method::POST, BINDING, TOPOLOGY, &binding(TOPOLOGY, &LEVELS)).await?;
    let backend = trial.target.backend();
    let told = |live: &Live| is_in_sync(live, TOPOLOGY, backend) == Some(false);
    trial.until_in_cluster(OUT_OF_SYNC, REACTION, told).await?;
    trial.mark(OUT_OF_SYNC, Value::Null);
    trial.delete(kind.name, &name).await
}

/// The kind of the target's topology resources.
fn kind(trial: &Trial) -> Result<&'static Kind, Stop> {
    let kind = schedulers::of(trial.target).topology_kind().and_then(Kind::named);
    kind.ok_or_else(|| Stop::Refused {
        action: "look for topology resources".into(),
        reason: format!("{} has none", trial.target),
    })
}

/// A topology resource that nobody controls, and that no binding would become.
fn of_somebody_else(kind: &Kind, name: &str, pool: &str) -> Value {
    let spec = match kind.name {
        hyper_nodes::KIND => {
            let nobody = json!({"exactMatch": {"name": format!("{pool}-nobody")}});
            json!({"tier": 9, "members": [{"type": "Node", "selector": nobody}]})
        }
        _ => json!({"levels": [{"nodeLabel": names::HOST}]}),
    };
    json!({"apiVersion": kind.api_version, "kind": kind.kind(), "metadata": {"name": name}, "spec": spec})
}

/// Whether the binding has become topology resources again, and says so.
fn is_whole(trial: &Trial, live: &Live) -> bool {
    let faults = |binding| schedulers::of(trial.target).topology_faults(binding, live, &trial.namespace);
    live.get(BINDING, TOPOLOGY).is_some_and(|binding| faults(binding).is_empty())
        && is_in_sync(live, TOPOLOGY, trial.target.backend()) == Some(true)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TOPO-09", || {
            let (_, taken) = history.reached(TAKEN)?;
            let told = history.waited_for(OUT_OF_SYNC)?;
            untouched(history, taken.detail.as_str().unwrap_or_default(), told)?;
            says_out_of_sync(history, &history.before(told), TOPOLOGY)?;
            history.reached(OUT_OF_SYNC)?;
            follow(history, &history.before(history.waited_for(FOLLOWS_AGAIN)?), TOPOLOGY)?;
            history.reached(FOLLOWS_AGAIN).map(drop)
        }),
        finding("DEL-09", || {
            let (bound, _) = history.reached(BOUND)?;
            outlived(history, bound, history.waited_for(WORKLOAD_GONE)?)?;
            history.reached(WORKLOAD_GONE)?;
            went_with(history, TOPOLOGY, history.waited_for(BINDING_GONE)?)?;
            history.reached(BINDING_GONE).map(drop)
        }),
    ]
}
