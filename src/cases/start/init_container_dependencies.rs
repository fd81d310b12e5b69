//! 1 node; three PodCliqueSets of cliques `a`, `a-b` on their own and `b`, `b-a` in a scaling group of 3
//! replicas, 2 of them in the base. Startup is in order, explicit, and, with the cliques of the first, in any
//! order.

use conformance_check::startup;

use crate::prelude::*;

marks! { MADE = "all pods made"; }

const IN_ORDER: &str = "in-order";
const EXPLICIT: &str = "explicit";
const ANY_ORDER: &str = "any-order";
const SETS: [&str; 3] = [IN_ORDER, EXPLICIT, ANY_ORDER];

pub(crate) const CASE: Case =
    case!("Only pods of dependent cliques get an init container, for exactly their dependencies")
        .clauses(&[START_01, START_02, START_10])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in SETS {
        test.submit(set).await?;
    }
    for set in SETS {
        test.until_converged(set).await?;
    }
    test.mark(MADE, Value::Null);
    Ok(())
}

fn of_each(history: &History, sentence: fn(&History, &str) -> Ruling) -> Ruling {
    all(SETS.map(|set| sentence(history, set)))
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding(START_01, || {
            of_each(history, startup::pods_wait)?;
            history.reached(MADE).map(drop)
        }),
        finding(START_02, || {
            of_each(history, startup::for_the_right_ones)?;
            history.reached(MADE).map(drop)
        }),
        finding(START_10, || {
            startup::same_hashes(history, IN_ORDER, ANY_ORDER)?;
            history.reached(MADE).map(drop)
        }),
    ]
}
