//! 1 node; a gang of 2 pods that request more CPU than the namespace's LimitRange allows.

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_cluster::deploy;
use conformance_driver::enrichment::Enrichment;
use conformance_expect::resolver::resolved;

use crate::prelude::*;

marks! {
    ALLOWED = "the pods may be created";
    BOUND = "all are bound";
    OVER = "no refusal reported";
}

const SET: &str = "rationed";
/// The start of the API server's message.
const REFUSED: &str = "maximum cpu usage per Container";

pub(crate) const CASE: Case =
    case!("A gang whose pods the API server refuses reports that until they are created")
        .clauses(&[STAT_09, STAT_15])
        .nodes(&[nodes(1)])
        .leaving_out(&[
            (Enrichment::Container, "1 container is over the limit; the LimitRange adds limits to others"),
            (
                Enrichment::InitContainers,
                "1 container is over the limit; the LimitRange adds limits to others",
            ),
        ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    allow(test, "10m").await?;
    let gangs = test.submit(SET).await?;
    let history = test.history();
    let is_reported = |live: &Live| {
        let gangs = resolved(live, gangs.clone());
        gangs.iter().any(|gang| reasons::is_reported(live, &history, gang, &why()))
    };
    let reported = Awaited::demanded_by(STAT_09, "the refusal of the pods reported");
    test.until(reported, REACTION, is_reported).await?;
    allow(test, "1").await?;
    test.mark(ALLOWED, Value::Null);
    test.until_converged(SET).await?;
    test.mark(BOUND, Value::Null);
    let over = Awaited::demanded_by(STAT_15, "the refusal no longer reported");
    test.until(over, REACTION, |live| !is_reported(live)).await?;
    test.mark(OVER, Value::Null);
    Ok(())
}

fn why() -> Why {
    Why::Refused(REFUSED.into())
}

async fn allow(test: &TestContext, most: &str) -> Result<(), Stop> {
    let range = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": SET, "namespace": test.namespace},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": most}}]},
    });
    Ok(deploy::apply(&test.test_cluster.client, &range).await?)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(STAT_09, || {
            history.at(ALLOWED, |allowed| {
                let gangs = history.gangs(SET)?;
                all(gangs.iter().map(|gang| reasons::reason_reported(&history.upto(allowed), gang, &why())))
            })
        }),
        finding(STAT_15, || {
            let gangs = history.gangs(SET)?;
            let (bound, _) = history.reached(BOUND)?;
            all(gangs.iter().map(|gang| reasons::reason_no_longer_reported(history, gang, &why(), bound)))?;
            history.reached(OVER).map(drop)
        }),
    ]
}
