//! The case creates three PodGangs without a PodCliqueSet. Once `plain`, which is valid, has its tree, the
//! backend has processed all three.

use conformance_check::fail_closed::failed_closed;

use crate::prelude::*;

const GANG_RESOURCE_MISSING: Code = Code::new("gang-resource-missing");

pub(crate) const CASE: Case = case!("A PodGang that no tree can represent gets an error and no resources")
    .clauses(&[KUBE_12])
    .in_scope("Tree")
    .needs(&[Need::PodGangsByHand]);

/// Invalid PodGangs, each with the text that the warning about it must contain.
const REFUSED: [(&str, &str); 2] = [("wide", "9"), ("empty", "minReplicas 0")];
const PLAIN: &str = "plain";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for name in REFUSED.map(|(name, _)| name).into_iter().chain([PLAIN]) {
        test.create("PodGang", &test.manifest(name)?).await?;
    }
    for (name, about) in REFUSED {
        test.until_warned(&Gang::named_only(name), about).await?;
    }
    test.until("the tree of the valid PodGang", REACTION, |live| {
        live.get("CompositePodGroup", PLAIN).is_some()
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_12, || {
        REFUSED
            .iter()
            .try_for_each(|(name, about)| failed_closed(history, &Gang::named_only(name), about))?;
        ensure(history.end().get("CompositePodGroup", PLAIN).is_some(), || {
            violation(
                GANG_RESOURCE_MISSING,
                format!("PodGang {PLAIN}: no tree exists, want one because a tree can represent it"),
            )
        })
    })]
}
