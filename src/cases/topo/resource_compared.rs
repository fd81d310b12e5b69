//! A topology binding that only this case uses refers to a topology resource that a third party must create.
//! The backend must compare the two, and must not create a topology resource.

use conformance_check::topology_resources::{
    explains_drift, names_reference, never_created_for, reports_in_sync, reports_out_of_sync, untouched,
};
use conformance_driver::test_cluster::binding;
use conformance_expect::domains::LEVELS;
use conformance_facts::topology::{BINDING, is_in_sync};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A topology resource managed by a third party is compared and never changed")
        .clauses(&[TOPO_15, TOPO_17, TOPO_19])
        // Without nodes, a binding has no domains, so a Volcano backend would create nothing anyway.
        .nodes(&[nodes(1).rack("a")]);

marks! {
    MISSING = "the topology resource is missing";
    SAME = "the topology resource matches the binding";
    OTHER = "the topology resource differs from the binding";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let reference = test.domain("theirs");
    let mut compared = binding(&name(&test.namespace), &LEVELS[1..]);
    compared["spec"]["schedulerTopologyBindings"] =
        json!([{"schedulerName": test.target.backend(), "topologyReference": reference}]);
    test.create(BINDING, &compared).await?;
    until_sync_is(test, false, MISSING, Value::Null).await?;
    // Volcano's backend defines when an administrator's HyperNode matches, so only KAI's match is checked.
    if test.target != Target::KAI {
        return Ok(());
    }
    let topology = json!({"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": reference},
        "spec": {"levels": [{"nodeLabel": names::RACK}, {"nodeLabel": names::HOST}]}});
    let created = test.create("Topology", &topology).await?;
    until_sync_is(test, true, SAME, created["metadata"]["uid"].clone()).await?;
    let levels = &binding("", &LEVELS)["spec"]["levels"];
    test.patch(BINDING, &name(&test.namespace), json!({"spec": {"levels": levels}})).await?;
    until_sync_is(test, false, OTHER, Value::Null).await
}

fn name(namespace: &str) -> String {
    format!("{namespace}-compared")
}

async fn until_sync_is(test: &TestContext, in_sync: bool, mark: MarkName, detail: Value) -> Result<(), Stop> {
    let (name, backend) = (name(&test.namespace), test.target.backend());
    let is_reported = |live: &Live| is_in_sync(live, &name, backend) == Some(in_sync);
    test.until_in_cluster(
        &format!("the binding's status for the topology resource ({mark})"),
        REACTION,
        is_reported,
    )
    .await?;
    test.mark(mark, detail);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let name = name(&history.header.namespace);
    vec![
        finding(TOPO_15, || {
            let at = |mark| history.waited_for(mark).map(|index| history.before(index));
            let missing = at(MISSING)?;
            reports_out_of_sync(history, &missing, &name)?;
            names_reference(history, &missing, &name)?;
            history.reached(MISSING)?;
            if history.header.target != Target::KAI {
                return Ok(());
            }
            reports_in_sync(history, &at(SAME)?, &name)?;
            history.reached(SAME)?;
            reports_out_of_sync(history, &at(OTHER)?, &name)?;
            history.reached(OTHER).map(drop)
        }),
        finding(TOPO_17, || {
            // Without this mark, the case has created no topology resource.
            let until = history.reached(MISSING).map_or(history.entries.len(), |(index, _)| index);
            never_created_for(history, &name, until)?;
            history.reached(MISSING)?;
            if history.header.target != Target::KAI {
                return Ok(());
            }
            let (_, same) = history.reached(SAME)?;
            untouched(history, same.detail.as_str().unwrap_or_default(), history.entries.len())?;
            history.reached(OTHER).map(drop)
        }),
        finding(TOPO_19, || {
            history.at(MISSING, |missing| explains_drift(history, &history.before(missing), &name))?;
            if history.header.target != Target::KAI {
                return Ok(());
            }
            history.reached(SAME)?;
            history.at(OTHER, |other| explains_drift(history, &history.before(other), &name))
        }),
    ]
}
