//! 1 node; two cliques of 2 pods, and a scaling group of 2 replicas of one pod. Only `changed` changes.

use std::collections::BTreeSet;

use crate::prelude::*;

marks! {
    CHANGE = "the template of one clique changes";
    ENDED = "the update is over";
}

const SET: &str = "partly";
const CHANGED: &str = "changed";
const KEPT: [&str; 3] = ["partly-0-kept", "partly-0-group-0-member", "partly-0-group-1-member"];

const REPLACED_UNCHANGED: Code = Code::new("replaced-though-its-template-is-unchanged");

pub(crate) const CASE: Case = case!("An update of one clique replaces only that clique's pods")
    .clauses(&[UPD_02, UPD_26])
    .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    test.mark(CHANGE, Value::Null);
    let revised = |clique: &mut Value| {
        if clique["name"] == CHANGED {
            clique["labels"]["example.com/revision"] = json!("2");
        }
    };
    if test.change_templates(SET, revised).await? {
        test.until_updated(SET, UPD_02).await?;
        test.mark(ENDED, Value::Null);
    }
    Ok(())
}

fn uids(live: &Live, clique: &str) -> BTreeSet<String> {
    pods_of(live, clique).map(|pod| pod.uid().to_owned()).collect()
}

fn kept(before: &Live, after: &Live, clique: &str) -> Ruling {
    let (old, new) = (uids(before, clique), uids(after, clique));
    ensure(old == new, || {
        let message =
            format!("PodClique {clique}: pods were replaced, want none because its template did not change");
        violation(REPLACED_UNCHANGED, message)
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        update_finding(history, UPD_02, || {
            updates::ended(history, SET)?;
            history.reached(ENDED).map(drop)
        }),
        update_finding(history, UPD_26, || {
            let ended = history.waited_for(ENDED)?;
            let (change, _) = history.reached(CHANGE)?;
            let (before, after) = (history.before(change), history.before(ended));
            all(KEPT.map(|clique| kept(&before, &after, clique)))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::changed("partly-0-changed", &[])]
    #[case::standalone(KEPT[0], &["replaced-though-its-template-is-unchanged"])]
    #[case::member(KEPT[2], &["replaced-though-its-template-is-unchanged"])]
    fn only_pods_of_the_changed_clique_are_replaced(#[case] clique: &str, #[case] wanted: &[&str]) {
        let pod = |clique: &str, name: &str| running(&format!("{clique}-{name}"), "partly-0", clique, "n");
        let old = |clique: &str| pod(clique, "old");
        let before = Story::flat().all_added(KEPT.map(old)).added(old("partly-0-changed"));
        let change = before.mark(CHANGE, Value::Null).deleted(old(clique)).added(pod(clique, "new"));
        let history = change.mark(ENDED, Value::Null).end();
        assert_eq!(codes(check(&history).remove(1).ruling), wanted);
    }
}
