//! 1 node; a PodCliqueSet of one clique is deleted and created again under its name. Meanwhile, a finalizer
//! keeps the PodClique of the first PodCliqueSet.

use std::collections::BTreeSet;

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_expect::resolver::resolved;

use crate::prelude::*;

marks! {
    AGAIN = "submitted again";
    FREED = "the finalizer is removed";
    BOUND = "the second PodCliqueSet is bound";
    OVER = "no kept name is reported";
}

const SET: &str = "survived";
const POD_CLIQUE: &str = "survived-0-worker";
const PODS: usize = 2;

pub(crate) const CASE: Case =
    case!("A PodCliqueSet reports an object of its predecessor that a finalizer keeps")
        .clauses(&[STAT_18])
        .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_bound(PODS).await?;
    let first: BTreeSet<String> = test.look(|live| live.pods().map(|pod| pod.uid().to_owned()).collect());
    test.patch("PodClique", POD_CLIQUE, finalizers(&json!(["example.com/review"]))).await?;
    test.delete("PodCliqueSet", SET).await?;
    let deleted = Awaited::demanded_by(DEL_01, "the first PodCliqueSet deleted");
    test.until(deleted, limits::CLEANUP, |live| live.get("PodCliqueSet", SET).is_none()).await?;
    test.mark(AGAIN, Value::Null);
    let gangs = test.submit(SET).await?;
    let history = test.history();
    let is_reported = |live: &Live| {
        let gangs = resolved(live, gangs.clone());
        gangs.iter().any(|gang| reasons::is_reported(live, &history, gang, &why()))
    };
    let reported = Awaited::demanded_by(STAT_18, "the kept name reported");
    test.until(reported, REACTION, is_reported).await?;
    test.mark(FREED, Value::Null);
    test.patch("PodClique", POD_CLIQUE, finalizers(&Value::Null)).await?;
    let bound = Awaited::demanded_by(DEL_08, "the second PodCliqueSet bound");
    test.until(bound, SCHEDULING, |live| {
        live.bound() == PODS && live.pods().all(|pod| !first.contains(pod.uid()))
    })
    .await?;
    test.mark(BOUND, Value::Null);
    let over = Awaited::demanded_by(STAT_18, "the kept name no longer reported");
    test.until(over, REACTION, |live| !is_reported(live)).await?;
    test.mark(OVER, Value::Null);
    Ok(())
}

fn finalizers(all: &Value) -> Value {
    json!({"metadata": {"finalizers": all}})
}

fn why() -> Why {
    Why::Taken { name: POD_CLIQUE.into(), owner: SET }
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(STAT_18, || {
        let (again, _) = history.reached(AGAIN)?;
        let second = history.since(again);
        let gangs = history.gangs(SET)?;
        history.at(FREED, |freed| {
            let waiting = second.upto(freed.saturating_sub(again));
            all(gangs.iter().map(|gang| reasons::reason_reported(&waiting, gang, &why())))
        })?;
        let (bound, _) = history.reached(BOUND)?;
        all(gangs.iter().map(|gang| reasons::reason_no_longer_reported(history, gang, &why(), bound)))?;
        history.reached(OVER).map(drop)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "PodClique survived-0-worker, which PodCliqueSet survived needs, is being deleted";

    fn reporting(message: &str) -> Value {
        let mut pcs = object("PodCliqueSet", SET);
        pcs["status"]["conditions"] = json!([{"type": "T", "status": "True", "message": message}]);
        pcs
    }

    fn ruling(message: &str, last: &str) -> Ruling {
        let pcs = grove_yaml::documents(crate::manifest("stat/name-held")).unwrap().remove(0);
        let first = Story::flat().submitted(pcs).added(object("PodCliqueSet", SET)).later(60);
        let again = first.deleted(object("PodCliqueSet", SET)).mark(AGAIN, Value::Null);
        let waits = again.added(object("PodCliqueSet", SET)).later(1).modified(reporting(message));
        let freed = waits.later(60).added(object("Node", "n")).mark(FREED, Value::Null);
        let bound = freed.modified(reporting(last)).mark(BOUND, Value::Null).later(60);
        let over = bound.added(object("Node", "m")).mark(OVER, Value::Null);
        check(&over.end()).remove(0).ruling
    }

    #[rstest]
    #[case::the_object_and_its_owner(MESSAGE, "", &[])]
    #[case::nothing("not every pod exists", "", &["waiting-reason-not-reported"])]
    #[case::for_too_long(MESSAGE, MESSAGE, &["waiting-reason-still-reported"])]
    fn a_kept_name_is_reported_until_it_is_free(
        #[case] message: &str,
        #[case] last: &str,
        #[case] wanted: &[&str],
    ) {
        assert_eq!(codes(ruling(message, last)), wanted);
    }
}
