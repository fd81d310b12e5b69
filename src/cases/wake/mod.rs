//! A gang of 2 pods x 8 GPUs waits for one reason, and that reason ends. Most cases differ in the reason only.
//!
//! kube-scheduler has its default flush interval here, five minutes. Volcano and KAI look at every gang in each
//! session, every 200 ms. koord-scheduler flushes every 5 s, which would hide an event that has no effect, so
//! it does not owe these clauses.

pub(crate) mod gang_deleted;
pub(crate) mod gang_scaled_in;
pub(crate) mod node_joins;
pub(crate) mod node_uncordoned;
pub(crate) mod priority_class_created;
pub(crate) mod taint_removed;

use conformance_check::wake_up;

use crate::prelude::*;

marks! {
    ENDED = "the reason ends";
    BOUND = "the waiting gang is bound";
}

/// The pods of each waiting gang.
const PODS: usize = 2;

/// Why a gang waits.
#[derive(Debug, Clone, Copy)]
enum Reason {
    /// A node has not joined yet.
    NodeMissing,
    /// The last node is cordoned.
    Cordoned,
    /// The last node has a taint.
    Tainted,
    /// This PodCliqueSet has the room, and is deleted.
    HeldBy(&'static str),
    /// This PodCliqueSet of 2 replicas has the room, and is scaled in to one.
    HeldByReplicaOf(&'static str),
}

impl Reason {
    async fn begin(self, test: &mut TestContext) -> Result<(), Stop> {
        match self {
            Self::NodeMissing => Ok(()),
            Self::Cordoned => test.cordon(&last_node(test), true).await,
            Self::Tainted => test.close(&last_node(test), true).await,
            Self::HeldBy(holder) | Self::HeldByReplicaOf(holder) => {
                test.submit(holder).await?;
                test.until_bound(PODS).await
            }
        }
    }

    async fn end(self, test: &mut TestContext) -> Result<(), Stop> {
        match self {
            Self::NodeMissing => test.add_nodes(1).await,
            Self::Cordoned => test.cordon(&last_node(test), false).await,
            Self::Tainted => test.close(&last_node(test), false).await,
            Self::HeldBy(holder) => test.delete("PodCliqueSet", holder).await,
            Self::HeldByReplicaOf(holder) => test.scale("PodCliqueSet", holder, 1).await,
        }
    }
}

fn last_node(test: &TestContext) -> String {
    test.nodes.last().map(|node| node.name.clone()).unwrap_or_default()
}

async fn drive(test: &mut TestContext, set: &str, reason: Reason) -> Result<(), Stop> {
    reason.begin(test).await?;
    for gang in test.submit(set).await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.mark(ENDED, Value::Null);
    reason.end(test).await?;
    until_bound(test, set).await
}

async fn until_bound(test: &TestContext, set: &str) -> Result<(), Stop> {
    let bound = format!("the pods of PodCliqueSet {set} bound");
    test.until(&bound, SCHEDULING, |live| live.bound_pods_of_set(set) == PODS).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History, clause: &'static str, set: &str) -> Vec<Finding> {
    vec![finding(clause, || {
        let (ended, _) = history.reached(ENDED)?;
        let units = history.units(set)?;
        precondition(AON_02, binding::never(history, &units, Some(ended)))?;
        history.at(BOUND, |_| wake_up::is_bound_soon(history, &units, ended))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, one_clique};
    use rstest::rstest;

    use super::*;

    fn ruling(before: usize, after: usize) -> Ruling {
        let waits = Story::flat().submitted(one_clique("waiting", 2)).workers("waiting", 2, before);
        let ended = waits.mark(ENDED, Value::Null).workers("waiting", 0, after);
        check(&ended.mark(BOUND, Value::Null).end(), WAKE_01, "waiting").remove(0).ruling
    }

    #[rstest]
    #[case::whole(2, true)]
    #[case::in_part(1, false)]
    #[case::not_at_all(0, false)]
    fn a_gang_is_bound_when_its_reason_has_ended(#[case] after: usize, #[case] is_satisfied: bool) {
        let found = ruling(0, after);
        assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
    }

    #[test]
    fn a_gang_that_is_bound_before_breaks_the_precondition() {
        assert!(matches!(ruling(2, 2), Err(Broken::Precondition { clause: "AON-02", .. })));
    }
}
