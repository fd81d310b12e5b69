//! The case creates three PodGangs without a PodCliqueSet. Once `well-named` has its PodGroup, the backend
//! has processed all three.

use conformance_check::fail_closed::failed_closed;
use conformance_expect::schedulers::kai::POD_GROUP;

use crate::prelude::*;

const GANG_RESOURCE_MISSING: Code = Code::new("gang-resource-missing");

pub(crate) const CASE: Case =
    case!("A constraint without a topology name fails closed, with an error, at any level")
        .clauses(&[KAI_08])
        .needs(&[Need::PodGangsByHand]);

const UNNAMED: [&str; 2] = ["root", "leaf"];
const NAMED: &str = "well-named";
const ABOUT: &str = "topology";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for name in UNNAMED.into_iter().chain([NAMED]) {
        test.create("PodGang", &test.manifest(name)?).await?;
    }
    for name in UNNAMED {
        test.until_warned(&Gang::named_only(name), ABOUT).await?;
    }
    test.until("the PodGroup of the PodGang with a topology name", REACTION, |live| {
        live.get(POD_GROUP, NAMED).is_some()
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KAI_08, || {
        UNNAMED.iter().try_for_each(|name| failed_closed(history, &Gang::named_only(name), ABOUT))?;
        ensure(history.end().get(POD_GROUP, NAMED).is_some(), || {
            violation(
                GANG_RESOURCE_MISSING,
                format!("PodGang {NAMED}: no PodGroup exists, want one because its topology has a name"),
            )
        })
    })]
}
