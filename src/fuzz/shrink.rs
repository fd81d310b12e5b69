//! Smaller variants of a workload. `conformance_run::shrink` finds the smallest one with the same failure.

use serde_json::Value;

use crate::expected_state::ExpectedState;
use crate::nodes::FABRIC;
use crate::shrink_pcs::{self, without_field};
use crate::workload::{GeneratedWorkload, LossCause, Operation, cliques_mut};

/// Smaller workloads, the largest reduction first: without half of the operations, without one operation,
/// without a part of the PodCliqueSet, then with smaller numbers.
pub(crate) fn candidates(workload: &GeneratedWorkload) -> Vec<GeneratedWorkload> {
    let mut all = Vec::new();
    fewer_operations(workload, &mut all);
    if workload.begins_short {
        all.push(GeneratedWorkload { begins_short: false, ..workload.clone() });
    }
    all.push(workload.clone().unconstrained());
    fewer_extras(workload, &mut all);
    shrink_pcs::smaller(workload, &mut all);
    simpler_operations(workload, &mut all);
    let mut candidates: Vec<GeneratedWorkload> = Vec::new();
    for candidate in all.into_iter().filter_map(repaired) {
        if candidate != *workload && !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    candidates
}

/// Removes the operations that are invalid after a reduction. If the clique of a lost pod was removed, the
/// first clique loses a pod instead. `None` if the PodCliqueSet has no pods.
fn repaired(mut workload: GeneratedWorkload) -> Option<GeneratedWorkload> {
    let initially = ExpectedState::of_pcs(&workload.pcs);
    if initially.pods() == 0 {
        return None;
    }
    workload.begins_short &= initially.minimum_pods() > 1;
    let mut state = ExpectedState::at_start(&workload);
    let mut kept = Vec::new();
    for operation in &workload.operations {
        if state.apply(operation) {
            kept.push(operation.clone());
        } else if let Operation::LosePod { by, .. } = operation
            && let Some(instead) = lose_first_pod(&state, *by)
            && state.apply(&instead)
        {
            kept.push(instead);
        }
    }
    workload.operations = kept;
    Some(workload)
}

fn lose_first_pod(state: &ExpectedState<'_>, by: LossCause) -> Option<Operation> {
    let first = state.gangs().into_iter().flat_map(|gang| gang.groups).next()?;
    Some(Operation::LosePod { clique: first.clique, number: 0, by })
}

fn fewer_operations(workload: &GeneratedWorkload, all: &mut Vec<GeneratedWorkload>) {
    let count = workload.operations.len();
    let mut without = |from: usize, until: usize| {
        let mut smaller = workload.clone();
        smaller.operations.drain(from..until);
        all.push(smaller);
    };
    if count > 1 {
        without(count / 2, count);
        without(0, count / 2);
    }
    (0..count).rev().for_each(|one| without(one, one + 1));
}

fn simpler_operations(workload: &GeneratedWorkload, all: &mut Vec<GeneratedWorkload>) {
    for (place, operation) in workload.operations.iter().enumerate() {
        for operation in simpler(workload, operation) {
            let mut smaller = workload.clone();
            smaller.operations[place] = operation;
            all.push(smaller);
        }
    }
}

/// Simpler variants of an operation. If the operation has a moment, the first variant is performed at rest.
fn simpler(workload: &GeneratedWorkload, operation: &Operation) -> Vec<Operation> {
    match operation {
        Operation::Scale { kind, name, replicas } => (1..*replicas)
            .map(|replicas| Operation::Scale { kind: kind.clone(), name: name.clone(), replicas })
            .collect(),
        Operation::LosePod { clique, number, by } => {
            let lose = |number, by| Operation::LosePod { clique: clique.clone(), number, by };
            let at_once = LossCause::DeletedAtOnce;
            let of_same_clique = [lose(0, at_once), lose(0, *by), lose(*number, at_once)];
            let first = lose_first_pod(&ExpectedState::of_pcs(&workload.pcs), *by);
            first.into_iter().chain(of_same_clique).collect()
        }
        Operation::DeleteGangResource { number: 1.. } => {
            vec![Operation::DeleteGangResource { number: 0 }]
        }
        Operation::DeletePodGang { number: 1.. } => vec![Operation::DeletePodGang { number: 0 }],
        Operation::EditGangResource { number: 1.., part } => {
            vec![Operation::EditGangResource { number: 0, part: *part }]
        }
        Operation::ChangeTemplate { clique, field, revision: 2.. } => {
            vec![Operation::ChangeTemplate { clique: clique.clone(), field: *field, revision: 1 }]
        }
        Operation::At { moment, operation } => {
            let later = simpler(workload, operation).into_iter().map(|simpler| simpler.at(*moment));
            [(**operation).clone()].into_iter().chain(later).collect()
        }
        _ => Vec::new(),
    }
}

fn fewer_extras(workload: &GeneratedWorkload, all: &mut Vec<GeneratedWorkload>) {
    let mut with = |change: &dyn Fn(&mut GeneratedWorkload)| {
        let mut smaller = workload.clone();
        change(&mut smaller);
        all.push(smaller);
    };
    with(&|workload| workload.surroundings.neighbors.clear());
    with(&|workload| workload.surroundings.node_sizes.clear());
    with(&|workload| {
        workload.surroundings.companions.clear();
        each_pod(workload, |pod| without_field(pod, "volumes"));
    });
    with(&|workload| {
        each_pod(workload, |pod| {
            without_field(pod, "nodeSelector");
            if let Some(limits) = pod.pointer_mut("/containers/0/resources/limits") {
                without_field(limits, FABRIC);
            }
        });
    });
    with(&|workload| each_pod(workload, |pod| without_field(pod, "priorityClassName")));
    with(&|workload| without_field(&mut workload.pcs["spec"]["template"], "priorityClassName"));
    with(&|workload| {
        for field in ["labels", "annotations"] {
            without_field(&mut workload.pcs["metadata"], field);
        }
        for clique in cliques_mut(&mut workload.pcs) {
            without_field(clique, "labels");
        }
    });
}

fn each_pod(workload: &mut GeneratedWorkload, change: impl Fn(&mut Value)) {
    for clique in cliques_mut(&mut workload.pcs) {
        change(&mut clique["spec"]["podSpec"]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::draw_actions::SEEDS;
    use crate::draw_extras;
    use crate::surroundings::Surroundings;
    use crate::workload::{EditedPart, Moment, TemplateField};

    fn size(workload: &GeneratedWorkload) -> usize {
        workload.text().len() * 1000 + ExpectedState::of(workload).max_pods() as usize
    }

    fn shrunk(workload: GeneratedWorkload, fails: impl Fn(&GeneratedWorkload) -> bool) -> GeneratedWorkload {
        let mut now = workload;
        while let Some(next) = candidates(&now).into_iter().find(&fails) {
            now = next;
        }
        now
    }

    #[test]
    fn every_candidate_is_a_valid_workload() {
        let seeds = (0..20).chain(SEEDS.step_by(5).take(20)).chain(draw_extras::SEEDS.take(26));
        for workload in seeds.map(GeneratedWorkload::of_seed) {
            for candidate in candidates(&workload) {
                let read = GeneratedWorkload::read(&candidate.text());
                assert_eq!(read.map_err(|error| error.to_string()), Ok(candidate));
            }
        }
    }

    #[test]
    fn a_shrunk_workload_has_only_the_operation_that_fails() {
        let is_failed =
            |operation: &Operation| matches!(operation, Operation::LosePod { by: LossCause::Failed, .. });
        let fails = |workload: &GeneratedWorkload| workload.operations.iter().any(is_failed);
        let workloads = (0..200).map(GeneratedWorkload::of_seed).filter(fails);
        for workload in workloads.take(10) {
            let before = size(&workload);
            let shrunk = shrunk(workload, fails);
            assert_eq!(shrunk.operations.len(), 1, "{}", shrunk.text());
            assert_eq!(ExpectedState::of(&shrunk).max_pods(), 1, "{}", shrunk.text());
            assert!(!shrunk.begins_short && !shrunk.is_racked() && size(&shrunk) <= before);
        }
    }

    #[test]
    fn an_operation_at_its_moment_is_shrunk_to_few_pods() {
        for workload in SEEDS.step_by(4).take(20).map(GeneratedWorkload::of_seed) {
            let Some(wanted) = workload.operations.iter().find(|one| one.moment() != Moment::AtRest) else {
                continue;
            };
            let kind =
                |operation: &Operation| (operation.moment(), std::mem::discriminant(operation.inner()));
            let wanted = kind(wanted);
            let fails =
                |workload: &GeneratedWorkload| workload.operations.iter().any(|one| kind(one) == wanted);
            let shrunk = shrunk(workload, fails);
            assert_eq!(shrunk.operations.len(), 1, "{}", shrunk.text());
            let pods = ExpectedState::of(&shrunk).max_pods();
            assert!(
                pods <= 4 && shrunk.pcs["spec"]["template"]["cliqueStartupType"].is_null(),
                "{}",
                shrunk.text()
            );
        }
    }

    fn pcs(replicas: u32, cliques: &[(&str, u32, u32)], group: Option<u32>) -> Value {
        let clique = |(name, replicas, min): &(&str, u32, u32)| {
            let pod = json!({"containers": [{"name": "main", "image": "i"}]});
            let spec = json!({"roleName": name, "replicas": replicas, "minAvailable": min, "podSpec": pod});
            json!({"name": name, "spec": spec})
        };
        let cliques: Vec<Value> = cliques.iter().map(clique).collect();
        let mut template = json!({"cliques": cliques});
        if let Some(replicas) = group {
            template["podCliqueScalingGroups"] =
                json!([{"name": "g", "cliqueNames": ["b"], "replicas": replicas, "minAvailable": 1}]);
        }
        json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "w"},
            "spec": {"replicas": replicas, "template": template},
        })
    }

    fn evict(number: usize) -> Operation {
        let by = LossCause::Evicted;
        Operation::LosePod { clique: "w-0-a".into(), number, by }.at(Moment::DuringUpdate)
    }

    fn edit(number: usize) -> Operation {
        Operation::EditGangResource { number, part: EditedPart::ListEntry }.at(Moment::Pending)
    }

    fn change(revision: u32) -> Operation {
        let field = TemplateField::InitContainers;
        Operation::ChangeTemplate { clique: "b".into(), field, revision }.at(Moment::AtZero)
    }

    /// The failure depends on the operation, not on its numbers. The shrunk workload fits on a screen.
    #[rstest::rstest]
    #[case::eviction(evict(2), evict(0), pcs(1, &[("a", 1, 1)], None), "clique: w-0-a")]
    #[case::edit(edit(1), edit(0), pcs(1, &[("b", 1, 1)], Some(2)), "part: listEntry")]
    #[case::change(change(3), change(1), pcs(1, &[("b", 1, 1)], None), "field: initContainers")]
    fn a_person_can_read_a_shrunk_workload(
        #[case] failing: Operation,
        #[case] left: Operation,
        #[case] wanted: Value,
        #[case] line: &str,
    ) {
        let scale = Operation::Scale { kind: "PodCliqueSet".into(), name: "w".into(), replicas: 3 };
        let mut given = pcs(2, &[("a", 3, 2), ("b", 2, 1)], Some(2));
        given["spec"]["template"]["cliqueStartupType"] = json!("CliqueStartupTypeInOrder");
        let begins_short = failing.moment() == Moment::Pending;
        let operations = vec![failing, scale, Operation::NodeJoins];
        let surroundings = Surroundings::default();
        let given = GeneratedWorkload { pcs: given, begins_short, operations, surroundings };
        let kind = |operation: &Operation| (operation.moment(), std::mem::discriminant(operation.inner()));
        let fails = |workload: &GeneratedWorkload| {
            let is_evicted = |operation: &Operation| match operation.inner() {
                Operation::LosePod { by, .. } => *by == LossCause::Evicted,
                _ => true,
            };
            workload.operations.iter().any(|one| kind(one) == kind(&left) && is_evicted(one))
        };
        assert!(fails(&given), "{}", given.text());
        let shrunk = shrunk(given, fails);
        let operations = vec![left.clone()];
        let surroundings = Surroundings::default();
        assert_eq!(shrunk, GeneratedWorkload { pcs: wanted, begins_short, operations, surroundings });
        let text = shrunk.text();
        assert!(text.lines().any(|found| found.trim() == line), "{text}");
        assert!(text.lines().count() <= 40 && text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn only_the_extra_that_the_failure_needs_stays() {
        let fails = GeneratedWorkload::waits_in_init_containers;
        let workloads = draw_extras::SEEDS.take(65).map(GeneratedWorkload::of_seed);
        for workload in workloads.filter(fails) {
            let shrunk = shrunk(workload, fails);
            let text = shrunk.text();
            assert!(shrunk.surroundings == Surroundings::default() && shrunk.operations.is_empty(), "{text}");
            assert_eq!(ExpectedState::of(&shrunk).max_pods(), 1, "{text}");
            for field in ["priorityClassName", "nodeSelector", "volumes", "labels", "annotations"] {
                assert!(!text.contains(field), "{text}");
            }
        }
    }

    #[test]
    fn a_scaled_gang_stays_if_the_failure_needs_it() {
        let fails = |workload: &GeneratedWorkload| {
            ExpectedState::of_pcs(&workload.pcs).gangs().iter().any(|gang| !gang.is_base)
        };
        let workload = (0..).map(GeneratedWorkload::of_seed).find(fails).unwrap();
        let shrunk = shrunk(workload, fails);
        assert!(shrunk.operations.is_empty());
        assert_eq!(ExpectedState::of(&shrunk).max_pods(), 2, "{}", shrunk.text());
    }
}
