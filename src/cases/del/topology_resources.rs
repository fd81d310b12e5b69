//! Racks a and b have one node each. PodCliqueSet `passing` has 2 pods in one rack and is deleted. Then the
//! case deletes the ClusterTopologyBinding that all cases share, and creates it again. Meanwhile, a third
//! party creates a topology resource with the name of one of the binding's resources.

use conformance_check::topology_resources::{
    deleted_with_binding, match_binding, outlived, reports_out_of_sync, untouched,
};
use conformance_contract::names::TOPOLOGY;
use conformance_driver::limits::CLEANUP;
use conformance_driver::test_cluster::binding;
use conformance_expect::domains::LEVELS;
use conformance_expect::hyper_nodes::{self, mentions};
use conformance_facts::topology::{BINDING, is_in_sync};
use conformance_history::Kind;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Topology resources are deleted with their binding only, and foreign ones are kept")
        .clauses(&[TOPO_09, TOPO_17, DEL_09, DEL_13])
        .nodes(&[nodes(1).rack("a"), nodes(1).rack("b")])
        // There is only one binding, and all other cases need it.
        .isolation(Isolation::Dedicated);

marks! {
    BOUND = "the workload is bound";
    WORKLOAD_DELETED = "the workload is deleted";
    BINDING_DELETED = "the binding's resources are deleted";
    TAKEN = "a name is taken";
    OUT_OF_SYNC = "the binding reports that a name is taken";
    FOLLOWS_AGAIN = "the binding's resources exist again";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("passing").await?;
    test.until_bound(2).await?;
    test.mark(BOUND, Value::Null);
    test.delete("PodCliqueSet", "passing").await?;
    let is_deleted = |live: &Live| live.of("PodGang").next().is_none() && live.pods().next().is_none();
    test.until(Awaited::demanded_by(DEL_01, WORKLOAD_DELETED.as_str()), CLEANUP, is_deleted).await?;
    test.mark(WORKLOAD_DELETED, Value::Null);
    let outcome = without_the_binding(test).await;
    // The next case needs the binding, regardless of the outcome.
    let back = test.attempt(http::Method::POST, BINDING, TOPOLOGY, &binding(TOPOLOGY, &LEVELS)).await;
    outcome?;
    back?;
    let follows = |live: &Live| is_whole(test, live);
    test.until_in_cluster(FOLLOWS_AGAIN.as_str(), REACTION, follows).await?;
    test.mark(FOLLOWS_AGAIN, Value::Null);
    Ok(())
}

async fn without_the_binding(test: &TestContext) -> Result<(), Stop> {
    let kind = kind(test)?;
    let is_known = |object: &&Value| kind.name != hyper_nodes::KIND || mentions(object, &test.namespace);
    let name = test.test_cluster.recorder.look("", |live| {
        live.of(kind.name)
            .find(is_known)
            .and_then(|resource| resource["metadata"]["name"].as_str())
            .map(str::to_owned)
    });
    let name = name.unwrap_or_default();
    test.delete(BINDING, TOPOLOGY).await?;
    let awaited = Awaited::demanded_by(DEL_09, BINDING_DELETED.as_str());
    let is_deleted =
        |live: &Live| live.of(kind.name).next().is_none() && live.get(BINDING, TOPOLOGY).is_none();
    test.until_in_cluster(awaited, CLEANUP, is_deleted).await?;
    test.mark(BINDING_DELETED, Value::Null);
    let created = test.create(kind.name, &foreign_resource(kind, &name, &test.namespace)).await?;
    test.mark(TAKEN, created["metadata"]["uid"].clone());
    test.attempt(http::Method::POST, BINDING, TOPOLOGY, &binding(TOPOLOGY, &LEVELS)).await?;
    let backend = test.target.backend();
    let is_reported = |live: &Live| is_in_sync(live, TOPOLOGY, backend) == Some(false);
    test.until_in_cluster(OUT_OF_SYNC.as_str(), REACTION, is_reported).await?;
    test.mark(OUT_OF_SYNC, Value::Null);
    test.delete(kind.name, &name).await
}

fn kind(test: &TestContext) -> Result<&'static Kind, Stop> {
    let kind = schedulers::of(test.target).topology_kind().and_then(Kind::named);
    kind.ok_or_else(|| Stop::Refused {
        action: "read topology resources".into(),
        reason: format!("{} has no topology resources", test.target),
    })
}

fn foreign_resource(kind: &Kind, name: &str, pool: &str) -> Value {
    let spec = match kind.name {
        hyper_nodes::KIND => {
            let selector = json!({"exactMatch": {"name": format!("{pool}-nobody")}});
            json!({"tier": 9, "members": [{"type": "Node", "selector": selector}]})
        }
        _ => json!({"levels": [{"nodeLabel": names::HOST}]}),
    };
    json!({"apiVersion": kind.api_version, "kind": kind.kind(), "metadata": {"name": name}, "spec": spec})
}

fn is_whole(test: &TestContext, live: &Live) -> bool {
    let faults = |binding| schedulers::of(test.target).topology_faults(binding, live, &test.namespace);
    live.get(BINDING, TOPOLOGY).is_some_and(|binding| faults(binding).is_empty())
        && is_in_sync(live, TOPOLOGY, test.target.backend()) == Some(true)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TOPO_09, || {
            // If the operator adopts the foreign resource, the binding is reported in sync.
            precondition(TOPO_17, foreign_is_untouched(history))?;
            history
                .at(OUT_OF_SYNC, |place| reports_out_of_sync(history, &history.before(place), TOPOLOGY))?;
            history.at(FOLLOWS_AGAIN, |place| match_binding(history, &history.before(place), TOPOLOGY))
        }),
        finding(TOPO_17, || {
            foreign_is_untouched(history)?;
            history.reached(OUT_OF_SYNC).map(drop)
        }),
        finding(DEL_09, || {
            history.reached(WORKLOAD_DELETED)?;
            history.at(BINDING_DELETED, |place| deleted_with_binding(history, place))
        }),
        finding(DEL_13, || {
            let (bound, _) = history.reached(BOUND)?;
            history.at(WORKLOAD_DELETED, |place| outlived(history, bound, place))
        }),
    ]
}

fn foreign_is_untouched(history: &History) -> Ruling {
    let (_, taken) = history.reached(TAKEN)?;
    untouched(history, taken.detail.as_str().unwrap_or_default(), history.waited_for(OUT_OF_SYNC)?)
}
