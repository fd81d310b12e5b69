//! 1 node; a clique of 3 pods (minimum 2), a scaling group of 3 replicas (minimum 1), and a control
//! PodCliqueSet. The containers of the new templates never start, as with a missing image.

use conformance_driver::pod_health::UNSTARTED;
use conformance_driver::updates::set_revision;
use conformance_facts::health::is_bound;

use super::at_any_time;
use crate::prelude::*;

marks! {
    OUTLASTED = "a later update has finished";
    REPAIRED = "every pod is as it was at first";
}

const SET: &str = "never-ready";
const CONTROL: &str = "control-ready";
const CLIQUE: &str = "never-ready-0-front";
const GROUP: &str = "never-ready-0-pool";

pub(crate) const CASE: Case =
    case!("An update whose pods never start stops after one step until it is repaired")
        .clauses(&[UPD_04, UPD_12, UPD_30, UPD_32])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CONTROL] {
        test.submit_and_converge(set).await?;
    }
    let breaking = |clique: &mut Value| {
        set_revision(clique, "2");
        clique["labels"][UNSTARTED] = "true".into();
    };
    if !test.change_templates(SET, breaking).await? {
        return Ok(());
    }
    let runs = |live: &Live, clique: &str| {
        let is_of_clique = |pod: &Pod<'_>| pod.pod_clique().is_some_and(|name| name.starts_with(clique));
        live.pods().any(|pod| is_of_clique(&pod) && is_of_revision(pod, "2") && is_bound(pod))
    };
    // An operator may update the clique and the group one after the other.
    let started = Awaited::demanded_by(UPD_01, "the first update step started");
    test.until(started, limits::SCHEDULING, |live| runs(live, CLIQUE) || runs(live, GROUP)).await?;
    test.revise(CONTROL, "2").await?;
    test.until_updated(CONTROL, UPD_02).await?;
    test.mark(OUTLASTED, Value::Null);
    let repairing = |clique: &mut Value| {
        set_revision(clique, "1");
        if let Some(labels) = clique["labels"].as_object_mut() {
            labels.remove(UNSTARTED);
        }
    };
    test.change_templates(SET, repairing).await?;
    test.until_updated(SET, UPD_32).await?;
    test.mark(REPAIRED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(UPD_04, || at_any_time(history, REPAIRED, || updates::steps_do_not_overlap(history, SET))),
        update_finding(history, UPD_12, || {
            history.at(OUTLASTED, |outlasted| updates::stopped_after_first_step(history, SET, outlasted))
        }),
        finding(UPD_30, || at_any_time(history, REPAIRED, || updates::minimum_stays(history, SET))),
        update_finding(history, UPD_32, || {
            history.reached(OUTLASTED)?;
            history.at(REPAIRED, |repaired| updates::is_complete(history, repaired, SET))
        }),
    ]
}
