//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs runs; its template changes, where that is admitted, and every pod is replaced
//! in place; the PodCliqueSet is scaled to a second replica, which waits; it is deleted, and created again under the same name
//! as soon as the API server lets it, while the first one's objects are still on their way out.

use std::collections::BTreeSet;

use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::violation::Code;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::{History, Live, SharedMark, Version};
use conformance_judge::{Shown, binding, end_state, finding, none, violation};

const OUTLIVED_DELETION: Code = Code::new("outlived-deletion");

/// DEL-08.
pub(crate) const CASE: Case = Case::new(
    "A PodCliqueSet of a deleted one's name is scheduled as if it were the first",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["DEL-08"])
.nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("again").await?;
    test.until_bound(4).await?;
    if test.revise("again", "2").await? {
        test.until_updated("again", "UPD-02").await?;
    }
    test.scale("PodCliqueSet", "again", 2).await?;
    test.until(Awaited::demanded_by("GANG-10", "the pods of a second replica"), limits::REACTION, |live| {
        live.pods().count() == 8
    })
    .await?;
    let first = test.look(|live| all_of(live, "again"));
    test.delete("PodCliqueSet", "again").await?;
    test.until(Awaited::demanded_by("DEL-01", "the first one gone"), limits::CLEANUP, |live| {
        live.get("PodCliqueSet", "again").is_none()
    })
    .await?;
    test.submit("again").await?;
    test.until("the second one bound", limits::SCHEDULING, |live| {
        live.bound() == 4 && all_of(live, "again").is_disjoint(&first)
    })
    .await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-08", || {
        let (deleted, _) = history.reached(SharedMark::Deleted)?;
        binding::whole(&history.end(), &history.units("again")?)?;
        nothing_survived(history, deleted, "again")
    })]
}

/// The uids of all that a PodCliqueSet of that name is and has.
pub(super) fn all_of(live: &Live, set: &str) -> BTreeSet<String> {
    end_state::objects(live, set).map(|object| Version::of(object).uid().to_owned()).collect()
}

/// Nothing of the first PodCliqueSet of a name is taken over by the second: no object that was there at `since` is there
/// at the end.
pub(super) fn nothing_survived(history: &History, since: usize, set: &str) -> Ruling {
    let (first, end) = (all_of(&history.before(since), set), history.end());
    none(end_state::objects(&end, set).map(Version::of).filter(|version| first.contains(version.uid())).map(
        |version| {
            violation(
                OUTLIVED_DELETION,
                format!("{} {} of the first one is still there", version.kind(), version.name()),
            )
            .shown_by_object("at the end", version.object)
        },
    ))
}
