//! Submits a PodCliqueSet of higher priority, the preemptor, which needs every GPU of the nodes. The
//! scheduler must evict the workload, and the operator must replace the evicted pods, which then wait.

use conformance_check::binding;
use conformance_check::preemption::Victim;
use conformance_cluster::deploy;
use conformance_contract::clauses::ids::{PRE_01, PRE_02, PRE_10, PRE_11};
use conformance_contract::ruling::Ruling;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::{Expected, scaling};
use conformance_facts::cliques::cliques_lacking_pods;
use conformance_history::{History, Live, MarkName, text};
use serde_json::{Value, json};

use crate::surroundings::{in_queue_of, prepared};
use crate::workload::GeneratedWorkload;

pub(crate) const CLAUSES: [&str; 4] = [PRE_01, PRE_02, PRE_10, PRE_11];

pub(crate) const ARRIVED: MarkName = MarkName::of_case("a gang of higher priority arrives");
const BOUND: MarkName = MarkName::of_case("the gang of higher priority is bound");
const REPLACED: MarkName = MarkName::of_case("the evicted pods are replaced");

/// The priority of the preemptor. KAI gives gangs without a class the value 50, and requires a quota for
/// values of 100 or more. Gangs on kube-scheduler 1.37 cannot have the value of a system class (KUBE-23).
const PRIORITY: u32 = 75;

/// Checks identify the workload's pods by a name prefix, so this name must not begin with `set`.
pub(crate) fn preemptor_of(set: &str) -> String {
    format!("high-{set}")
}

fn preemptor(workload: &GeneratedWorkload, gpus: u32, class: &str) -> Value {
    let mut pcs = in_queue_of(&workload.pcs, &preemptor_of(workload.name()), gpus);
    pcs["spec"]["template"]["priorityClassName"] = class.into();
    pcs
}

/// Creates the PriorityClass of the preemptor, and waits until the API server accepts pods that name it.
async fn create_class(test: &TestContext) -> Result<Value, Stop> {
    // PriorityClasses are cluster-scoped, so the name contains the namespace of the case.
    let name = test.domain("high");
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "value": PRIORITY,
    });
    // It adds no undocumented fields to pods, so it must not be a companion: GANG-27 would not be checked.
    deploy::create_unless_exists(&test.test_cluster.client, &class).await?;
    let container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10"});
    let probe = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": test.namespace},
        "spec": {"priorityClassName": name, "containers": [container]},
    });
    test.until_admitted(&[probe]).await?;
    Ok(class)
}

pub(crate) async fn preempt(test: &mut TestContext, workload: &GeneratedWorkload) -> Result<(), Stop> {
    let history = test.history();
    let victims = scaling::gangs(&history, &workload.pcs, history.entries.len());
    let gpus: u32 = test.nodes.iter().map(|node| node.gpus).sum();
    let all = usize::try_from(gpus).unwrap_or(usize::MAX);
    let class = create_class(test).await?;
    let pcs = prepared(test, &preemptor(workload, gpus, text(&class["metadata"]["name"])));
    test.mark(ARRIVED, Value::Null);
    let gangs = test.submit_value(pcs).await?;
    let name = preemptor_of(workload.name());
    let bound = Awaited::demanded_by(PRE_01, format!("the {gpus} pods of PodCliqueSet {name} bound"));
    test.until(bound, limits::SCHEDULING, |live| live.bound_pods_of_set(&name) == all).await?;
    test.mark(BOUND, Value::Null);
    let is_evicted = |live: &Live| live.bound_pods_of_set(workload.name()) == 0;
    let evicted = Awaited::demanded_by(PRE_02, "all pods of the workload evicted");
    test.until(evicted, limits::REACTION, is_evicted).await?;
    let replaced = Awaited::demanded_by(PRE_10, "the evicted pods replaced");
    test.until(replaced, limits::REACTION, |live| {
        is_evicted(live) && cliques_lacking_pods(live, &victims).is_empty()
    })
    .await?;
    test.mark(REPLACED, Value::Null);
    test.remove_set(&name).await?;
    test.until_gangs_deleted(&gangs).await?;
    Ok(deploy::delete(&test.test_cluster.client, &class).await?)
}

/// Judges one preemption: from the arrival of the preemptor at `since` until the operator is idle again.
pub(crate) fn ruling(history: &History, set: &str, clause: &str, since: usize, until: usize) -> Ruling {
    let first = |name: MarkName| {
        let mut places = history.marks(name).map(|(place, _)| place);
        places.find(|place| (since..until).contains(place)).unwrap_or(until)
    };
    let gangs = scaling::gangs(history, history.submitted(set)?, since);
    let units: Vec<_> = gangs.iter().flat_map(|gang| gang.units(history.header.target)).collect();
    let victim = Victim::of(history, units.clone(), since);
    match clause {
        PRE_01 => {
            let preemptor = history.units(&preemptor_of(set))?;
            binding::whole(&history.before(first(BOUND)), &preemptor)
        }
        PRE_02 => victim.is_not_in_part(first(REPLACED)),
        PRE_10 => victim.is_replaced(first(REPLACED)),
        _ => binding::whole(&history.before(until), &units),
    }
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_contract::target::Target;
    use conformance_history::SharedMark;
    use conformance_history::testing::{Story, one_clique, worker};

    use super::*;

    /// The two pods of a workload are bound, and `stay` of them are not evicted. Then `preemptor` pods of the
    /// preemptor are bound, and at the end `again` pods of the workload.
    fn story(preemptor: usize, stay: usize, again: usize) -> History {
        let high = preemptor_of("w");
        let story = Story::on(Target::VOLCANO).submitted(one_clique("w", 2)).workers("w", 2, 2);
        let story = story.submitted(one_clique(&high, 2)).mark(ARRIVED, Value::Null);
        let story = (stay..2).fold(story, |story, index| story.deleted(worker("w", index, Some("n"))));
        let story = story.workers(&high, 2, preemptor).mark(BOUND, Value::Null).mark(REPLACED, Value::Null);
        let story = (0..again).fold(story, |story, index| story.modified(worker("w", index, Some("n"))));
        story.mark(SharedMark::OperatorIdle, Value::Null).end()
    }

    #[rstest::rstest]
    #[case::bound(PRE_01, (2, 0, 2), true)]
    #[case::in_part(PRE_01, (1, 0, 2), false)]
    #[case::evicted_whole(PRE_02, (2, 0, 2), true)]
    #[case::evicted_in_part(PRE_02, (2, 1, 2), false)]
    #[case::not_replaced(PRE_10, (2, 0, 2), false)]
    #[case::bound_again(PRE_11, (2, 0, 2), true)]
    #[case::bound_again_in_part(PRE_11, (2, 0, 1), false)]
    fn the_preemptor_is_bound_and_the_workload_returns(
        #[case] clause: &str,
        #[case] pods: (usize, usize, usize),
        #[case] is_satisfied: bool,
    ) {
        let (preemptor, stay, again) = pods;
        let history = story(preemptor, stay, again);
        let (since, _) = history.marks(ARRIVED).next().unwrap();
        let (until, _) = history.marks(SharedMark::OperatorIdle).next().unwrap();
        let found = codes(ruling(&history, "w", clause, since, until));
        assert_eq!(found.is_empty(), is_satisfied, "{found:?}");
    }
}
