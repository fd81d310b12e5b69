//! A gang of 1 + 1 + 1 pods. Third parties add two scheduling gates to the first clique's pod and to its
//! replacement, and another one to the second clique's pod.

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_contract::names::FOREIGN_GATE;

use crate::prelude::*;

marks! {
    /// This gate of a third party is removed from this pod: `{"pod", "gate"}`.
    OPENED = "a foreign gate removed";
    BOUND = "all bound again";
}

/// A PodClique, and the gates that third parties add to its pods.
type Gated = (&'static str, &'static [&'static str]);

const SET: &str = "quota";
const HELD: &str = "quota-0-held";
/// Each gate is on one pod, so the PodGang must not name it after its removal.
const GATES: [Gated; 2] =
    [(HELD, &[FOREIGN_GATE, "example.org/quota"]), ("quota-0-placed", &["example.net/topology"])];

pub(crate) const CASE: Case =
    case!("A gang waiting for foreign scheduling gates reports each gate and its pod")
        .clauses(&[STAT_09, STAT_15])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (clique, gates) in GATES {
        test.add_foreign_gates(Some(clique), gates).await?;
    }
    test.submit(SET).await?;
    remove_gates_once_reported(test, &GATES, None).await?;
    test.until_converged(SET).await?;
    let former = test.pods_of(HELD).pop().unwrap_or_default();
    test.force_delete_pod(&former).await?;
    remove_gates_once_reported(test, &GATES[..1], Some(&former)).await?;
    test.until_converged(SET).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

/// Removes one gate after the other, the last one first.
async fn remove_gates_once_reported(
    test: &TestContext,
    gated: &[Gated],
    former: Option<&str>,
) -> Result<(), Stop> {
    let alone = Awaited::demanded_by(GANG_07, "pods with only foreign scheduling gates");
    test.until(alone, REACTION, |live| waiting(live, gated, former).is_some()).await?;
    let mut left = test.look(|live| waiting(live, gated, former)).unwrap_or_default();
    let history = test.history();
    let gangs = history.gangs(SET).unwrap_or_default();
    let is_reported = |live: &Live, pod: &str, gate: &str| {
        let why = Why::Gate { pod: pod.to_owned(), gate: gate.to_owned() };
        gangs.iter().all(|gang| reasons::is_reported(live, &history, gang, &why))
    };
    let reported = Awaited::demanded_by(STAT_09, "each foreign gate reported");
    test.until(reported, REACTION, |live| left.iter().all(|(pod, gate)| is_reported(live, pod, gate)))
        .await?;
    while let Some((pod, gate)) = left.pop() {
        test.mark(OPENED, json!({"pod": pod, "gate": gate}));
        let kept = left.iter().filter(|(other, _)| *other == pod);
        let kept: Vec<_> = kept.map(|(_, gate)| json!({"name": gate})).collect();
        test.patch("Pod", &pod, json!({"spec": {"schedulingGates": kept}})).await?;
        let removed = Awaited::demanded_by(STAT_15, format!("gate {gate} no longer reported"));
        test.until(removed, REACTION, |live| !is_reported(live, &pod, gate)).await?;
    }
    Ok(())
}

/// Each foreign gate with its pod, once the pods have no other gates.
fn waiting(live: &Live, gated: &[Gated], former: Option<&str>) -> Option<Vec<(String, &'static str)>> {
    let mut found = Vec::new();
    for (clique, gates) in gated {
        let has_only_these = |pod: &Pod<'_>| {
            pod.gates().len() == gates.len() && gates.iter().all(|gate| pod.gates().contains(gate))
        };
        let mut pods = pods_of(live, clique).filter(|pod| Some(pod.name()) != former);
        let pod = pods.find(has_only_these)?;
        found.extend(gates.iter().map(|gate| (pod.name().to_owned(), *gate)));
    }
    Some(found)
}

fn at_each_opening(history: &History, rule: impl Fn(&History, &Gang, &Why, usize) -> Ruling) -> Ruling {
    let gangs = history.gangs(SET)?;
    let gang = gangs.first().ok_or_else(|| Broken::NotReached("the PodCliqueSet has no gang".into()))?;
    all(history.marks(OPENED).map(|(opened, mark)| {
        let text = |key: &str| mark.detail[key].as_str().unwrap_or_default().to_owned();
        rule(history, gang, &Why::Gate { pod: text("pod"), gate: text("gate") }, opened)
    }))?;
    history.reached(BOUND).map(drop)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(STAT_09, || {
            at_each_opening(history, |history, gang, why, opened| {
                reasons::reason_reported(&history.upto(opened), gang, why)
            })
        }),
        finding(STAT_15, || at_each_opening(history, reasons::reason_no_longer_reported)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "example.com/review (quota-0-worker-0), example.org/quota (quota-0-worker-0)";
    const ONE: &str = "example.com/review (quota-0-worker-0)";

    fn reporting(message: &str) -> Value {
        let mut gang = one_clique_gang(SET, 1);
        gang["status"]["conditions"] = json!([{"type": "Any", "status": "False", "message": message}]);
        gang
    }

    /// The second gate is removed first. `first` and `second` are reported before and after that.
    fn broken(first: &str, second: &str) -> Vec<&'static str> {
        let pod = worker(SET, 0, None);
        let opened = |gate: &str| json!({"pod": "quota-0-worker-0", "gate": gate});
        let gated = Story::flat().submitted(one_clique(SET, 1)).added(pod).added(reporting(first)).later(6);
        let one_left = gated.added(object("Node", "a")).mark(OPENED, opened("example.org/quota"));
        let one_left = one_left.modified(reporting(second)).later(6).added(object("Node", "b"));
        let none_left = one_left.mark(OPENED, opened(FOREIGN_GATE)).modified(reporting("bound"));
        let history = none_left.later(6).added(object("Node", "c")).mark(BOUND, Value::Null).end();
        let found = check(&history).into_iter();
        found
            .filter(|found| matches!(found.ruling, Err(Broken::Violated(_))))
            .map(|found| found.clause)
            .collect()
    }

    #[test]
    fn a_gate_that_is_not_reported_breaks_one_clause_only() {
        assert!(broken(BOTH, ONE).is_empty());
        assert_eq!(broken(ONE, ONE), ["STAT-09"]);
    }

    #[test]
    fn a_removed_gate_that_is_still_reported_breaks_one_clause_only() {
        assert_eq!(broken(BOTH, BOTH), ["STAT-15"]);
    }
}
