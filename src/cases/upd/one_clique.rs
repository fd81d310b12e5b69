//! A standalone clique of 2 pods, another of 2, and a scaling group of 2 replicas of one pod. Then a label
//! changes in the template of the first clique only.

use std::collections::BTreeSet;

use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::violation::Code;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, Live, MarkName};
use conformance_judge::life::updates;
use conformance_judge::{all, ensure, finding, violation};
use serde_json::{Value, json};

const CHANGE: MarkName = MarkName::of_case("the template of one clique changes");
const ENDED: MarkName = MarkName::of_case("the update is over");

const SET: &str = "partly";
const CHANGED: &str = "changed";
const KEPT: [&str; 3] = ["partly-0-kept", "partly-0-group-0-member", "partly-0-group-1-member"];

const REPLACED_UNCHANGED: Code = Code::new("replaced-though-its-template-is-unchanged");

pub(crate) const CASE: Case = Case::new(
    "An update of one clique replaces only that clique's pods",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["UPD-02", "UPD-26"])
.nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    test.mark(CHANGE, Value::Null);
    let revised = |clique: &mut Value| {
        if clique["name"] == CHANGED {
            clique["labels"]["example.com/revision"] = json!("2");
        }
    };
    if test.change_templates(SET, revised).await? {
        test.until_updated(SET, "UPD-02").await?;
        test.mark(ENDED, Value::Null);
    }
    Ok(())
}

fn uids(live: &Live, clique: &str) -> BTreeSet<String> {
    let its = live.pods().filter(|pod| pod.pod_clique() == Some(clique) && !pod.is_terminating());
    its.map(|pod| pod.uid().to_owned()).collect()
}

fn kept(before: &Live, after: &Live, clique: &str) -> Ruling {
    let (old, new) = (uids(before, clique), uids(after, clique));
    ensure(old == new, || {
        let message =
            format!("PodClique {clique}: pods were replaced, want none because its template did not change");
        violation(REPLACED_UNCHANGED, message)
    })
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("UPD-02", || {
            updates::are_admitted(history)?;
            updates::ended(history, SET)?;
            history.reached(ENDED).map(drop)
        }),
        finding("UPD-26", || {
            updates::are_admitted(history)?;
            let ended = history.waited_for(ENDED)?;
            let (change, _) = history.reached(CHANGE)?;
            let (before, after) = (history.before(change), history.before(ended));
            all(KEPT.map(|clique| kept(&before, &after, clique)))
        }),
    ]
}
