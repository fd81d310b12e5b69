//! Three PodGangs without a PodCliqueSet. Once `well-named` has its PodGroup, the backend has processed all.

use conformance_check::fail_closed::failed_closed;
use conformance_expect::schedulers::kai::POD_GROUP;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A constraint without a topology name fails closed, with an error, at any level")
        .clauses(&[KAI_08])
        .needs(&[Need::PodGangsByHand]);

const UNNAMED: [&str; 2] = ["root", "leaf"];
const NAMED: &str = "well-named";
/// The operator chooses the words of the warnings.
const ANY_WORDS: &str = "";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for name in UNNAMED.into_iter().chain([NAMED]) {
        test.create("PodGang", &test.manifest(name)?).await?;
    }
    for name in UNNAMED {
        test.until_warned(&Gang::named_only(name), ANY_WORDS).await?;
    }
    let created = Awaited::demanded_by(GANG_08, "the PodGroup of the PodGang with a topology name");
    test.until(created, REACTION, |live| live.get(POD_GROUP, NAMED).is_some()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KAI_08, || {
        UNNAMED.iter().try_for_each(|name| failed_closed(history, &Gang::named_only(name), ANY_WORDS))?;
        // Without this PodGroup, the operator may not have processed the other PodGangs yet.
        let processed = history.end().get(POD_GROUP, NAMED).is_some();
        if processed { Ok(()) } else { Err(Broken::NotReached(format!("PodGang {NAMED} has no PodGroup"))) }
    })]
}
