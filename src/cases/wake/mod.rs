//! A gang of 2 pods x 8 GPUs waits for one reason, and that reason ends.
//!
//! kube-scheduler has its default flush interval here, five minutes. Volcano and KAI look at every gang in
//! each cycle, every 200 ms. koord-scheduler flushes pods of an age of 5 s, every 30 s, which could hide an
//! event without effect. So `wake/koordinator` restores the scheduler's default age.

pub(crate) mod claim_freed;
pub(crate) mod gang_deleted;
pub(crate) mod gang_resource_created;
pub(crate) mod gang_scaled_in;
pub(crate) mod koordinator;
pub(crate) mod node_joins;
pub(crate) mod node_uncordoned;
pub(crate) mod pod_terminated;
pub(crate) mod priority_class_created;
pub(crate) mod queue_created;
pub(crate) mod queue_limit_raised;
pub(crate) mod rack_completed;
pub(crate) mod rack_joins;
pub(crate) mod scaling_group_scaled_in;
pub(crate) mod taint_removed;
pub(crate) mod volcano_queue;
pub(crate) mod volume_created;

use conformance_check::wake_up;
use conformance_contract::names::BLOCK;
use conformance_expect::Unit;
use conformance_history::{Change, Version, is_of_canary, name};

use crate::prelude::*;

marks! {
    /// `{"set", "freedBy"}`: the PodCliqueSet, and the clause about the deletion of the pods in its room.
    ENDED = "the reason ends";
    /// `{"set"}`: the PodCliqueSet.
    FREED = "the pods in its room are deleted";
    BOUND = "the waiting gang is bound";
}

const PODS: usize = 2;

const ROOM_NOT_FREED: Code = Code::new("room-not-freed");

#[derive(Debug, Clone, Copy)]
enum Reason {
    NodeMissing,
    Cordoned,
    Tainted,
    /// The last node is in no rack, and the gang must be in one.
    Unlabelled,
    /// This PodCliqueSet occupies the room, and is deleted.
    HeldBy(&'static str),
    /// This PodCliqueSet of 2 replicas occupies the room, and is scaled in to one.
    HeldByReplicaOf(&'static str),
    /// The scaling group `model` of this PodCliqueSet occupies the room, and is scaled in to one replica.
    HeldByGroupOf(&'static str),
    /// This PodCliqueSet was deleted, and its only pod is still Terminating.
    Terminating(&'static str),
    /// The claim of this name has no volume.
    VolumeMissing(&'static str),
}

impl Reason {
    async fn begin(self, test: &mut TestContext) -> Result<(), Stop> {
        match self {
            Self::NodeMissing | Self::Unlabelled => Ok(()),
            Self::Cordoned => test.cordon(&last_node(test), true).await,
            Self::Tainted => test.close(&last_node(test), true).await,
            Self::HeldBy(holder) | Self::HeldByReplicaOf(holder) | Self::HeldByGroupOf(holder) => {
                hold_room(test, holder).await
            }
            Self::Terminating(holder) => {
                hold_room(test, holder).await?;
                let pod = pod_of(test, holder);
                test.hold_pod(&pod).await?;
                test.delete("PodCliqueSet", holder).await?;
                let terminating = Awaited::demanded_by(DEL_01, format!("Pod {pod} deleted, and terminating"));
                test.until(terminating, REACTION, |live| {
                    live.get("Pod", &pod).is_some_and(|pod| Pod(pod).is_terminating())
                })
                .await
            }
            Self::VolumeMissing(claim) => test.create_claim(claim).await,
        }
    }

    async fn end(self, test: &mut TestContext) -> Result<(), Stop> {
        match self {
            Self::NodeMissing => test.add_nodes(1).await,
            Self::Cordoned => test.cordon(&last_node(test), false).await,
            Self::Tainted => test.close(&last_node(test), false).await,
            Self::Unlabelled => {
                let labels = json!({(RACK): test.domain("a"), (BLOCK): test.domain("block")});
                let node = last_node(test);
                test.patch("Node", &node, json!({"metadata": {"labels": labels}})).await.map(drop)
            }
            Self::HeldBy(holder) => test.delete("PodCliqueSet", holder).await,
            Self::HeldByReplicaOf(holder) => test.scale("PodCliqueSet", holder, 1).await,
            Self::HeldByGroupOf(holder) => {
                test.scale("PodCliqueScalingGroup", &format!("{holder}-0-model"), 1).await
            }
            Self::Terminating(holder) => test.release_pod(&pod_of(test, holder)).await,
            Self::VolumeMissing(claim) => test.bind_claim(claim).await,
        }
    }

    /// The PodCliqueSet in the room, the clause that demands that its pods are deleted, and how many stay.
    fn holder(self) -> Option<(&'static str, &'static str, usize)> {
        match self {
            Self::HeldBy(holder) => Some((holder, DEL_01, 0)),
            Self::HeldByReplicaOf(holder) | Self::HeldByGroupOf(holder) => Some((holder, GANG_10, 1)),
            _ => None,
        }
    }
}

fn last_node(test: &TestContext) -> String {
    test.nodes.last().map(|node| node.name.clone()).unwrap_or_default()
}

async fn hold_room(test: &mut TestContext, holder: &str) -> Result<(), Stop> {
    let gangs = test.submit(holder).await?;
    test.until_bound(gangs.iter().map(Gang::pods).sum()).await
}

/// The first pod of a PodCliqueSet, even if it is terminating.
fn pod_of(test: &TestContext, set: &str) -> String {
    let name = test.look(|live| {
        let pod = live.pods().find(|pod| pod.label(names::PART_OF) == Some(set));
        pod.map(|pod| pod.name().to_owned())
    });
    name.unwrap_or_default()
}

async fn drive(test: &mut TestContext, set: &str, reason: Reason) -> Result<(), Stop> {
    let pcs = test.manifest(set)?;
    drive_value(test, pcs, reason).await
}

async fn drive_value(test: &mut TestContext, pcs: Value, reason: Reason) -> Result<(), Stop> {
    reason.begin(test).await?;
    let set = submit_and_wait(test, pcs).await?;
    let clause = reason.holder().map(|(_, clause, _)| clause);
    test.mark(ENDED, json!({"set": set, "freedBy": clause}));
    reason.end(test).await?;
    if let Some((holder, clause, left)) = reason.holder() {
        let deleted = Awaited::demanded_by(clause, format!("pods of PodCliqueSet {holder} deleted"));
        let is_of_holder = |pod: &Pod<'_>| pod.label(names::PART_OF) == Some(holder);
        test.until(deleted, limits::CLEANUP, |live| live.pods().filter(is_of_holder).count() == left).await?;
        test.mark(FREED, json!({"set": set}));
    }
    until_bound(test, &set).await
}

/// Submits a PodCliqueSet, and waits until the scheduler has decided not to bind it. Returns its name.
async fn submit_and_wait(test: &mut TestContext, pcs: Value) -> Result<String, Stop> {
    let set = name(&pcs).to_owned();
    for gang in test.submit_value(pcs).await? {
        test.scheduler_passes_over(&gang).await?;
    }
    Ok(set)
}

fn mark_end(test: &TestContext, set: &str) {
    test.mark(ENDED, json!({"set": set}));
}

async fn until_bound(test: &TestContext, set: &str) -> Result<(), Stop> {
    let bound = format!("the pods of PodCliqueSet {set} bound");
    test.until(&bound, SCHEDULING, |live| live.bound_pods_of_set(set) == PODS).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History, clause: &'static str, set: &str) -> Vec<Finding> {
    vec![finding(clause, || {
        let (units, ended) = waiting(history, set)?;
        // Another gang of the case may have been bound before.
        history
            .since(ended)
            .at(BOUND, |count| is_bound_soon(&history.upto(ended + count), &units, set, ended))
    })]
}

/// If another PodCliqueSet occupied the room, the time starts when its last pod or claim is deleted, because
/// the operator determines how long that takes.
fn is_bound_soon(history: &History, units: &[Unit], set: &str, ended: usize) -> Ruling {
    let is_of_another = |pod: &Version<'_>| {
        !is_of_canary(pod.object) && Pod(pod.object).label(names::PART_OF).is_some_and(|other| other != set)
    };
    let held = history.of("Pod").filter(is_of_another).chain(history.of("ResourceClaim"));
    let deleted = held.filter(|held| held.index > ended && held.change == Change::Deleted);
    let last = deleted.map(|held| held.index).max();
    wake_up::is_bound_soon(history, units, last.unwrap_or(ended))
}

/// No pod was bound before the entry at which the reason for waiting ended. Pods in the room were deleted.
fn waiting(history: &History, set: &str) -> Result<(Vec<Unit>, usize), Broken> {
    let ended = history.marks(ENDED).find(|(_, mark)| mark.detail["set"] == set);
    let not_reached =
        || Broken::NotReached(format!("the case did not end the reason why PodCliqueSet {set} waits"));
    let (ended, mark) = ended.ok_or_else(not_reached)?;
    let units = history.units(set)?;
    precondition(AON_02, binding::never(history, &units, Some(ended)))?;
    let is_freed = || history.marks(FREED).any(|(_, freed)| freed.detail["set"] == set);
    let timed_out = || {
        let mut timeouts = history.marks(SharedMark::WaitTimedOut);
        timeouts.any(|(index, timeout)| index > ended && timeout.detail["tooSlow"].is_null())
    };
    if let Some(clause) = [DEL_01, GANG_10].into_iter().find(|clause| mark.detail["freedBy"] == *clause)
        && !is_freed()
        && timed_out()
    {
        let message = format!("the pods in the room for PodCliqueSet {set} were not deleted");
        let violations = vec![violation(ROOM_NOT_FREED, message)];
        return Err(Broken::Precondition { clause, violations });
    }
    Ok((units, ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(before: usize, after: usize) -> Ruling {
        let waits = Story::flat().submitted(one_clique("waiting", 2)).workers("waiting", 2, before);
        let ended = waits.mark(ENDED, json!({"set": "waiting"})).workers("waiting", 0, after);
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

    #[rstest]
    #[case::slow_operator(20, 9, true)]
    #[case::slow_scheduler(1, 11, false)]
    fn the_time_starts_when_the_last_pod_of_the_other_gang_is_deleted(
        #[case] deleted_after: i64,
        #[case] bound_after: i64,
        #[case] is_satisfied: bool,
    ) {
        let story = Story::flat().submitted(one_clique("waiting", 2)).workers("waiting", 2, 0);
        let ended = story.workers("holder", 1, 1).mark(ENDED, json!({"set": "waiting"}));
        let deleted = ended.later(deleted_after).deleted(worker("holder", 0, Some("n")));
        let bound = deleted.later(bound_after).workers("waiting", 0, 2).mark(BOUND, Value::Null);
        let found = check(&bound.end(), WAKE_04, "waiting").remove(0).ruling;
        assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
    }

    #[rstest]
    #[case::deleted(true, true)]
    #[case::kept(false, false)]
    fn pods_that_stay_in_the_room_break_the_precondition(#[case] is_freed: bool, #[case] is_satisfied: bool) {
        let story = Story::flat().submitted(one_clique("waiting", 2)).workers("waiting", 2, 0);
        let held = story.workers("holder", 1, 1);
        let ended = held.mark(ENDED, json!({"set": "waiting", "freedBy": DEL_01}));
        let story = if is_freed {
            let deleted =
                ended.deleted(worker("holder", 0, Some("n"))).mark(FREED, json!({"set": "waiting"}));
            deleted.workers("waiting", 0, 2).mark(BOUND, Value::Null)
        } else {
            ended.mark(SharedMark::WaitTimedOut, json!({"condition": "the pods deleted"}))
        };
        let found = check(&story.end(), WAKE_04, "waiting").remove(0).ruling;
        let is_broken = matches!(found, Err(Broken::Precondition { clause: DEL_01, .. }));
        assert_eq!((found.is_ok(), is_broken), (is_satisfied, !is_satisfied), "{found:?}");
    }

    #[test]
    fn the_time_starts_when_the_claim_of_the_other_gang_is_deleted() {
        let claim = || conformance_history::testing::object("ResourceClaim", "c");
        let story = Story::flat().submitted(one_clique("waiting", 2)).workers("waiting", 2, 0).added(claim());
        let ended = story.mark(ENDED, json!({"set": "waiting"})).later(20).deleted(claim());
        let bound = ended.later(9).workers("waiting", 0, 2).mark(BOUND, Value::Null);
        assert_eq!(check(&bound.end(), WAKE_10, "waiting").remove(0).ruling, Ok(()));
    }

    #[test]
    fn a_gang_that_is_bound_before_breaks_the_precondition() {
        assert!(matches!(ruling(2, 2), Err(Broken::Precondition { clause: "AON-02", .. })));
    }
}
