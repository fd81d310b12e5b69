//! Three PodGangs without a PodCliqueSet. Once the valid `plain` has its tree, the backend has processed all.

use conformance_check::fail_closed::failed_closed;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A PodGang that no tree can represent gets an error and no resources")
    .clauses(&[KUBE_12])
    .in_scope("Tree")
    .needs(&[Need::PodGangsByHand]);

/// Invalid PodGangs. The operator chooses the words of the warnings about them.
const REFUSED: [&str; 2] = ["wide", "empty"];
const PLAIN: &str = "plain";
const ANY_WORDS: &str = "";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for name in REFUSED.into_iter().chain([PLAIN]) {
        test.create("PodGang", &test.manifest(name)?).await?;
    }
    for name in REFUSED {
        test.until_warned(&Gang::named_only(name), ANY_WORDS).await?;
    }
    let tree = Awaited::demanded_by(KUBE_10, "the tree of the valid PodGang");
    test.until(tree, REACTION, |live| live.get("CompositePodGroup", PLAIN).is_some()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_12, || {
        REFUSED.iter().try_for_each(|name| failed_closed(history, &Gang::named_only(name), ANY_WORDS))?;
        // Without this tree, the operator may not have processed the other PodGangs yet.
        let processed = history.end().get("CompositePodGroup", PLAIN).is_some();
        if processed { Ok(()) } else { Err(Broken::NotReached(format!("PodGang {PLAIN} has no tree"))) }
    })]
}
