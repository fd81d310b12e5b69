//! PodCliqueSet `pair` has a clique and a scaling group of one clique: two podgroups. `solo` has one clique.

use conformance_driver::admission_attempts::{clique, group, required, template};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("MNNVL and unsupported topology levels are refused with the reason").clauses(&[KOORD_04, KOORD_12]);

const AUTO: &str = "grove.io/auto-mnnvl";
const GROUP: &str = "grove.io/mnnvl-group";

const MNNVL: &[Attempt] = &[
    refused("MNNVL by the annotation of the proposals", &[AUTO, "MNNVL"], |pcs| {
        annotate(pcs, AUTO, "enabled")
    }),
    refused("MNNVL by the current annotation", &[GROUP, "MNNVL"], |pcs| annotate(pcs, GROUP, "fast")),
    refused("MNNVL of one clique", &[GROUP, "MNNVL"], |pcs| annotate(clique(pcs, 0), GROUP, "fast")),
    admitted("no MNNVL by either annotation", |pcs| {
        annotate(pcs, AUTO, "disabled");
        annotate(pcs, GROUP, "none");
    }),
];

const PAIR: &[Attempt] = &[
    refused("a level of a scaling group", &["topologyConstraint"], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    refused("a level of one of two cliques", &["topologyConstraint"], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    admitted("a level of the PodCliqueSet", |pcs| template(pcs)["topologyConstraint"] = required("rack")),
];

const SOLO: &[Attempt] = &[admitted("a level of the only clique", |pcs| {
    clique(pcs, 0)["topologyConstraint"] = required("rack");
})];

/// A clique's template has its annotations outside of metadata.
fn annotate(object: &mut Value, key: &str, value: &str) {
    let holder = if object["metadata"].is_object() { &mut object["metadata"] } else { object };
    holder["annotations"][key] = value.into();
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut pair = test.manifest("pair")?;
    test.attempt_creates(&pair, MNNVL).await?;
    pair["metadata"]["name"] = "packed-pair".into();
    test.attempt_creates(&pair, PAIR).await?;
    test.attempt_creates(&test.manifest("solo")?, SOLO).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KOORD_04, || answers(history, MNNVL)),
        finding(KOORD_12, || {
            answers(history, PAIR)?;
            answers(history, SOLO)
        }),
    ]
}
