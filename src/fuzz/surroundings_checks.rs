//! The checks of a generated workload's surroundings, and of admission's answer.

use conformance_check::{binding, ensure, gangs, none, violation};
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_expect::refusals::{Refusal, refusal, refused_name};
use conformance_expect::resolver::{gang_resource, resolved};
use conformance_expect::schedulers::{kai, volcano};
use conformance_expect::{self as expect, Gang};
use conformance_facts::attempts::Reply;
use conformance_facts::cliques::cliques_lacking_pods;
use conformance_history::{History, Live, SharedMark, text};
use serde_json::Value;

use crate::contention::preemptor_of;
use crate::drive::ADMISSION;
use crate::surroundings::QUEUES;

const PODS_MISSING: Code = Code::new("admitted-without-pods");
const PART_NOT_NAMED: Code = Code::new("part-not-named");
const COLLISION_ADMITTED: Code = Code::new("collision-admitted");
const WRONG_ANSWER: Code = Code::new("unexpected-answer");
const WRONG_QUEUE: Code = Code::new("wrong-queue");

pub(crate) const OF_ADMISSION: [&str; 4] = ["ADM-15", "ADM-24", "KUBE-22", "KUBE-23"];

/// Admission's answer; `None` if the driver did not ask admission.
pub(crate) fn answer(history: &History) -> Option<Reply> {
    let (_, mark) = history.marks(ADMISSION).last()?;
    serde_json::from_value(mark.detail.clone()).ok()
}

pub(crate) fn admission(history: &History, pcs: &Value, clause: &str) -> Ruling {
    let not_asked = || Broken::NotReached("the case sent no PodCliqueSet to admission".into());
    let reply = answer(history).ok_or_else(not_asked)?;
    match clause {
        "KUBE-22" | "KUBE-23" => priority(history, pcs, &reply),
        "ADM-24" => match refused_name(pcs) {
            Some(Refusal::SameName(parts)) if reply.is_refused() => {
                none(parts.iter().filter(|part| !reply.mentions(part)).map(|part| {
                    violation(PART_NOT_NAMED, format!("the refusal does not name {part:?}: {reply}"))
                }))
            }
            Some(Refusal::SameName(parts)) => {
                let message = format!(
                    "the PodCliqueSet was admitted, but {} lead to objects of one name: {reply}",
                    parts.join(" and ")
                );
                Err(violation(COLLISION_ADMITTED, message).into())
            }
            _ => Err(Broken::NotAsked("no PodCliqueSet was refused for names that collide".into())),
        },
        _ if reply.is_refused() => Ok(()),
        _ => {
            // An admitted PodCliqueSet is deleted when all its pods exist.
            let deleted = history.marks(SharedMark::Deleted).next();
            let end = deleted.map_or(history.entries.len(), |(index, _)| index);
            let lacking = cliques_lacking_pods(&history.before(end), &expect::gangs(pcs));
            none(lacking.into_iter().map(|lack| {
                violation(PODS_MISSING, format!("the PodCliqueSet was admitted, but {lack}: {reply}"))
            }))
        }
    }
}

fn priority(history: &History, pcs: &Value, reply: &Reply) -> Ruling {
    let target = history.header.target;
    if target.scheduler() != Scheduler::KUBE {
        return Err(Broken::NotAsked("only kube-scheduler restricts the priorities of gangs".into()));
    }
    let refusal = refusal(pcs, target);
    let wanted = if refusal.is_some() { "refused" } else { "admitted" };
    let is_wanted = if refusal.is_some() { reply.is_refused() } else { reply.is_admitted() };
    ensure(is_wanted, || {
        violation(WRONG_ANSWER, format!("priority of the gang: want the PodCliqueSet {wanted}, but {reply}"))
    })?;
    let Some(Refusal::SystemPriority(class)) = refusal else { return Ok(()) };
    ensure(reply.mentions(&class), || {
        violation(PART_NOT_NAMED, format!("the refusal does not name {class:?}: {reply}"))
    })
}

pub(crate) fn queue(history: &History, live: &Live, pcs: &Value, all: &[Gang]) -> Ruling {
    let target = history.header.target;
    let used = QUEUES.into_iter().find(|(of, ..)| of.scheduler() == target.scheduler());
    let Some((of, place, key)) = used else {
        return Err(Broken::NotAsked("the scheduler has no queues".into()));
    };
    let kind = if of == Target::KAI { kai::POD_GROUP } else { volcano::POD_GROUP };
    let wanted = text(&pcs["metadata"][place][key]);
    none(all.iter().filter_map(|gang| {
        let found = gang_resource(target, live, gang, kind).unwrap_or(&Value::Null);
        let queue = &found["spec"]["queue"];
        let message = || format!("PodGroup of PodGang {}: queue is {queue}, want {wanted:?}", gang.name);
        (*queue != wanted).then(|| violation(WRONG_QUEUE, message()))
    }))
}

/// The other PodCliqueSets have their base PodGangs, and all their pods are bound.
pub(crate) fn neighbors_are_bound(history: &History, live: &Live, pcs: &str) -> Ruling {
    let is_neighbor = |name: &str| name != pcs && name != preemptor_of(pcs);
    for (name, neighbor) in history.header.submitted.iter().filter(|(name, _)| is_neighbor(name)) {
        let all = resolved(live, expect::gangs(neighbor));
        gangs::base(live, name, &all)?;
        binding::all(live, &all)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, object, one_clique};
    use serde_json::json;

    use super::*;

    fn asked(story: Story, code: u16, message: &str) -> History {
        let reply = json!({"name": "w", "verb": "create", "code": code, "message": message, "warnings": []});
        story.mark(ADMISSION, reply).end()
    }

    /// Clique `m-0-worker` leads to the same PodClique name as `worker` in group `m`.
    fn colliding() -> Value {
        let mut pcs = one_clique("w", 1);
        let template = &mut pcs["spec"]["template"];
        template["cliques"] = json!([{"name": "m-0-worker", "spec": {}}, {"name": "worker", "spec": {}}]);
        template["podCliqueScalingGroups"] = json!([{"name": "m", "cliqueNames": ["worker"]}]);
        pcs
    }

    #[rstest::rstest]
    #[case::refused("ADM-15", 422, "m-0-worker and worker", &[])]
    #[case::admitted("ADM-15", 201, "", &["admitted-without-pods"])]
    #[case::both_named("ADM-24", 422, "m-0-worker and worker", &[])]
    #[case::collision_admitted("ADM-24", 201, "", &["collision-admitted"])]
    #[case::one_named("ADM-24", 422, "PodClique w-0-m-0-worker exists", &["part-not-named"; 2])]
    fn cliques_of_one_name_are_refused_with_both_names(
        #[case] clause: &str,
        #[case] code: u16,
        #[case] message: &str,
        #[case] wanted: &[&str],
    ) {
        let history = asked(Story::flat().submitted(colliding()), code, message);
        assert_eq!(codes(admission(&history, &colliding(), clause)), wanted);
    }

    #[rstest::rstest]
    #[case::refused_tree(Target::KUBE_TREE, 422, &[])]
    #[case::admitted_tree(Target::KUBE_TREE, 201, &["unexpected-answer"])]
    #[case::refused_otherwise(Target::KUBE_POD_GANG, 422, &["unexpected-answer"])]
    #[case::admitted_otherwise(Target::KUBE_POD_GANG, 201, &[])]
    fn several_priorities_are_refused_by_trees(
        #[case] target: Target,
        #[case] code: u16,
        #[case] wanted: &[&str],
    ) {
        let mut pcs = one_clique("w", 1);
        pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["priorityClassName"] = "high".into();
        let history = asked(Story::on(target), code, "");
        assert_eq!(codes(admission(&history, &pcs, "KUBE-22")), wanted);
    }

    #[rstest::rstest]
    #[case::refused_tree(Target::KUBE_TREE, 422, "system-node-critical: too high", &[])]
    #[case::class_not_named(Target::KUBE_TREE, 422, "priority: too high", &["part-not-named"])]
    #[case::admitted_tree(Target::KUBE_TREE, 201, "", &["unexpected-answer"])]
    #[case::refused_otherwise(Target::KUBE_POD_GANG, 422, "", &["unexpected-answer"])]
    #[case::admitted_otherwise(Target::KUBE_POD_GANG, 201, "", &[])]
    fn a_system_class_is_refused_by_trees_with_its_name(
        #[case] target: Target,
        #[case] code: u16,
        #[case] message: &str,
        #[case] wanted: &[&str],
    ) {
        let mut pcs = one_clique("w", 1);
        pcs["spec"]["template"]["priorityClassName"] = "system-node-critical".into();
        let history = asked(Story::on(target), code, message);
        assert_eq!(codes(admission(&history, &pcs, "KUBE-23")), wanted);
    }

    #[rstest::rstest]
    #[case::of_the_workload("ns-team", &[])]
    #[case::another("ns-other", &["wrong-queue"])]
    fn a_gang_in_another_queue_is_a_violation(#[case] queue_of_gang: &str, #[case] wanted: &[&str]) {
        let mut pcs = one_clique("w", 1);
        for (_, place, key) in QUEUES {
            pcs["metadata"][place][key] = "ns-team".into();
        }
        let mut group = object(volcano::POD_GROUP, "w-0");
        group["spec"] = json!({"queue": queue_of_gang});
        let history = Story::on(Target::VOLCANO).added(group).end();
        let gangs = [Gang::named_only("w-0")];
        assert_eq!(codes(queue(&history, &history.end(), &pcs, &gangs)), wanted);
    }

    #[test]
    fn an_unbound_neighbor_is_a_violation() {
        let story = Story::flat().submitted(one_clique("w", 1)).submitted(one_clique("w-0", 1));
        let history = story.workers("w", 1, 1).end();
        assert!(neighbors_are_bound(&history, &history.end(), "w").is_err());
        let alone = Story::flat().submitted(one_clique("w", 1)).end();
        assert_eq!(neighbors_are_bound(&alone, &alone.end(), "w"), Ok(()), "it is no neighbor of its own");
    }
}
