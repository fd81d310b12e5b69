//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs runs and, if updates are admitted, is updated. A second
//! replica waits. Then the PodCliqueSet is deleted, and created again while its first objects terminate.

use std::collections::BTreeSet;

use conformance_check::end_state;
use conformance_history::Version;

use crate::prelude::*;

marks! {
    /// The first PodCliqueSet is deleted, and the second one submitted: `{"name"}`.
    pub(super) AGAIN = "submitted again";
}

const OUTLIVED_DELETION: Code = Code::new("outlived-deletion");

pub(crate) const CASE: Case =
    case!("A PodCliqueSet recreated under a deleted one's name is scheduled like the first")
        .clauses(&[DEL_08, DEL_12])
        .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("again").await?;
    test.until_bound(4).await?;
    if test.revise("again", "2").await? {
        test.until_updated("again", UPD_02).await?;
    }
    test.scale("PodCliqueSet", "again", 2).await?;
    test.until(Awaited::demanded_by(GANG_10, "the pods of the second replica"), limits::REACTION, |live| {
        live.pods().count() == 8
    })
    .await?;
    let first = test.look(|live| uids_of(live, "again"));
    test.delete("PodCliqueSet", "again").await?;
    test.until(Awaited::demanded_by(DEL_01, "the first PodCliqueSet deleted"), limits::CLEANUP, |live| {
        live.get("PodCliqueSet", "again").is_none()
    })
    .await?;
    test.submit("again").await?;
    test.mark(AGAIN, json!({"name": "again"}));
    let bound = Awaited::demanded_by(DEL_08, "the second PodCliqueSet bound");
    test.until(bound, limits::SCHEDULING, |live| {
        live.bound() == 4 && uids_of(live, "again").is_disjoint(&first)
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(DEL_08, || {
            history.reached(AGAIN)?;
            binding::whole(&history.end(), &history.units("again")?)
        }),
        finding(DEL_12, || {
            let (deleted, _) = history.reached(SharedMark::Deleted)?;
            nothing_survived(history, deleted, "again")
        }),
    ]
}

pub(super) fn uids_of(live: &Live, set: &str) -> BTreeSet<String> {
    end_state::objects(live, set).map(|object| Version::of(object).uid().to_owned()).collect()
}

/// Fails if an object of the first PodCliqueSet, which existed at `since`, still exists at the end.
pub(super) fn nothing_survived(history: &History, since: usize, set: &str) -> Ruling {
    let (first, end) = (uids_of(&history.before(since), set), history.end());
    if end.get("PodCliqueSet", set).is_none() {
        return Err(Broken::NotReached(format!("PodCliqueSet {set} was not created a second time")));
    }
    none(end_state::objects(&end, set).map(Version::of).filter(|version| first.contains(version.uid())).map(
        |version| {
            violation(
                OUTLIVED_DELETION,
                format!("{} {} of the first PodCliqueSet still exists", version.kind(), version.name()),
            )
            .shown_by_object("at the end", version.object)
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(is_gang_kept: bool, bound: usize) -> [Ruling; 2] {
        let numbered = |mut object: Value, uid: &str| {
            object["metadata"]["uid"] = uid.into();
            object
        };
        let [first, second] = ["first", "second"].map(|uid| numbered(one_clique("again", 4), uid));
        let [old, new] = ["old", "new"].map(|uid| numbered(one_clique_gang("again", 4), uid));
        let story = Story::flat().submitted(one_clique("again", 4));
        let story = story.added(first.clone()).added(old.clone()).mark(SharedMark::Deleted, Value::Null);
        let story = story.deleted(first).added(second).mark(AGAIN, json!({"name": "again"}));
        let story = if is_gang_kept { story } else { story.deleted(old).added(new) };
        let found = check(&story.workers("again", 4, bound).end()).into_iter();
        found.map(|finding| finding.ruling).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn each_fault_of_the_second_pod_clique_set_breaks_one_clause() {
        assert_eq!(rulings(false, 4), [Ok(()), Ok(())]);
        let [scheduling, adoption] = rulings(false, 3);
        assert!(matches!(scheduling, Err(Broken::Violated(_))), "{scheduling:?}");
        assert_eq!(adoption, Ok(()));
        let [scheduling, adoption] = rulings(true, 4);
        assert_eq!(scheduling, Ok(()));
        assert!(matches!(adoption, Err(Broken::Violated(_))), "{adoption:?}");
    }

    #[test]
    fn without_a_second_pod_clique_set_nothing_is_decided() {
        let story = Story::flat().submitted(one_clique("again", 4)).workers("again", 4, 0);
        let deleted = story.mark(SharedMark::Deleted, Value::Null).end();
        let undecided = |ruling: &Ruling| matches!(ruling, Err(Broken::NotReached(_)));
        assert!(check(&deleted).iter().all(|finding| undecided(&finding.ruling)));
    }
}
