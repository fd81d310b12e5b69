//! 1 node; three PodCliqueSets: one starts its cliques in order, one in an explicit order, and one in any
//! order. Each has standalone cliques `a` and `a-b`, and a scaling group of cliques `b` and `b-a`. The group
//! has 3 replicas, 2 of them in the base gang.

use conformance_check::startup;
use conformance_driver::enrichment::Enrichment;

use crate::prelude::*;

marks! { CREATED = "all pods created"; }

const IN_ORDER: &str = "in-order";
const EXPLICIT: &str = "explicit";
const ANY_ORDER: &str = "any-order";
const SETS: [&str; 3] = [IN_ORDER, EXPLICIT, ANY_ORDER];

pub(crate) const CASE: Case =
    case!("Only pods of dependent cliques get an init container, for exactly their dependencies")
        .clauses(&[START_01, START_02, START_10])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes])
        .leaving_out(&[(
            Enrichment::InitContainers,
            "each pod has exactly one init container of its own before the one that waits",
        )]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in SETS {
        test.submit(set).await?;
    }
    for set in SETS {
        test.until_converged(set).await?;
    }
    test.mark(CREATED, Value::Null);
    Ok(())
}

fn for_each_set(history: &History, rule: fn(&History, &str) -> Ruling) -> Ruling {
    all(SETS.map(|set| rule(history, set)))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(START_01, || {
            for_each_set(history, startup::pods_wait)?;
            history.reached(CREATED).map(drop)
        }),
        finding(START_02, || {
            for_each_set(history, startup::wait_for_right_cliques)?;
            history.reached(CREATED).map(drop)
        }),
        finding(START_10, || {
            startup::same_hashes(history, IN_ORDER, ANY_ORDER)?;
            history.reached(CREATED).map(drop)
        }),
    ]
}
