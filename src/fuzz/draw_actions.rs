//! Creates a workload for each cell of `actions.yaml` that is `drawn`. The seeds have a range of their own,
//! so that the workloads of other seeds do not change. Shapes have a large clique, groups of several members,
//! minimums above 1, and names that are prefixes of other names.

use std::ops::Range;

use conformance_expect::Group;
use conformance_history::{list, text};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::actions::{Action, Cell, Kind, drawn};
use crate::draw::{MAX_PODGROUPS, one_in, operation as ordinary_operation};
use crate::expected_state::{ExpectedState, Scalable};
use crate::surroundings::Surroundings;
use crate::workload::{EditedPart, GeneratedWorkload, LossCause, Moment, Operation, TemplateField};

/// Consecutive seeds use consecutive cells of the table.
pub(crate) const SEEDS: Range<u64> = 1_000_000..2_000_000;

/// Room for a clique of 12 pods and two groups.
const MAX_PODS: usize = 26;
/// More than the replicas of any part, so an autoscaler changes nothing.
const MAX_REPLICAS: u32 = 20;

pub(crate) fn workload(seed: u64) -> GeneratedWorkload {
    let mut rng = Rng::with_seed(seed);
    let (cells, number) = (drawn(), seed - SEEDS.start);
    let place = usize::try_from(number).unwrap_or_default() % cells.len();
    let cell = cells[place];
    let name = format!("h{number}");
    loop {
        let workload = GeneratedWorkload {
            pcs: pcs(&mut rng, &name, cell),
            begins_short: cell.moment == Moment::Pending,
            operations: Vec::new(),
            surroundings: Surroundings::default(),
        };
        let operations = operations(&mut rng, &workload, cell);
        if let Some(operations) = operations {
            return GeneratedWorkload { operations, ..workload };
        }
    }
}

/// Returns `None` if the PodCliqueSet is too large, or has no object for the operation.
fn operations(rng: &mut Rng, workload: &GeneratedWorkload, cell: Cell) -> Option<Vec<Operation>> {
    let mut state = ExpectedState::at_start(workload);
    let podgroups = state.gangs().iter().map(|gang| gang.groups.len()).max();
    if podgroups > Some(MAX_PODGROUPS) {
        return None;
    }
    let mut operations = Vec::new();
    if cell.action == Action::Drain {
        operations.push(Operation::NodeJoins);
        state.perform(&Operation::NodeJoins);
    }
    let operation = operation(rng, &state, &workload.pcs, cell)?.at(cell.moment);
    let is_alone = operation.updates() || !workload.pcs["spec"]["template"]["terminationDelay"].is_null();
    if !state.apply(&operation) {
        return None;
    }
    operations.push(operation);
    if !is_alone {
        let further = ordinary_operation(rng, &state);
        let is_simple = matches!(further, Operation::Scale { .. } | Operation::LosePod { .. });
        if is_simple && state.apply(&further) {
            operations.push(further);
        }
    }
    (state.max_pods() as usize <= MAX_PODS).then_some(operations)
}

fn operation(rng: &mut Rng, state: &ExpectedState<'_>, pcs: &Value, cell: Cell) -> Option<Operation> {
    let gangs = state.gangs();
    let number = rng.usize(0..gangs.len());
    let lose = |rng: &mut Rng, by: LossCause| lose_pod(rng, state, pcs, cell.moment, by);
    Some(match cell.action {
        Action::ScaleOut => {
            let part = choose(rng, scalable(state, cell.kind))?;
            let replicas = u32::try_from(part.replicas).ok()? + rng.u32(1..=2);
            Operation::Scale { kind: part.kind.into(), name: part.name, replicas }
        }
        Action::ScaleIn => {
            let mut parts = scalable(state, cell.kind);
            parts.retain(|part| part.replicas > part.min as usize);
            let part = choose(rng, parts)?;
            let replicas = rng.u32(part.min..u32::try_from(part.replicas).ok()?);
            Operation::Scale { kind: part.kind.into(), name: part.name, replicas }
        }
        Action::Delete => match cell.kind {
            Kind::PodCliqueSet => Operation::Recreate,
            Kind::PodGang => Operation::DeletePodGang { number },
            Kind::GangResource => Operation::DeleteGangResource { number },
            _ => {
                let by = choose(rng, vec![LossCause::DeletedAtOnce, LossCause::DeletedWithGrace])?;
                lose(rng, by)?
            }
        },
        Action::Fail => lose(rng, LossCause::Failed)?,
        Action::Evict => lose(rng, LossCause::Evicted)?,
        Action::ChangeEnv => change(rng, pcs, cell.kind, TemplateField::Env)?,
        Action::ChangeInitContainers => change(rng, pcs, cell.kind, TemplateField::InitContainers)?,
        Action::ChangeTemplateLabel => change(rng, pcs, cell.kind, TemplateField::Labels)?,
        Action::ChangeTemplateAnnotation => change(rng, pcs, cell.kind, TemplateField::Annotations)?,
        Action::ChangeScaleConfig => {
            let part = if cell.kind == Kind::PodClique { FIRST } else { GROUP };
            Operation::ChangeScaleConfig { part: part.into(), max_replicas: MAX_REPLICAS + rng.u32(1..=9) }
        }
        Action::EditLabel => Operation::EditGangResource { number, part: EditedPart::Label },
        Action::EditListEntry => Operation::EditGangResource { number, part: EditedPart::ListEntry },
        Action::Restart => Operation::RestartOperator,
        Action::AddNode => Operation::NodeJoins,
        Action::Drain => Operation::NodeLeaves,
        Action::ScaleBelowMinimum | Action::ChangeShape => return None,
    })
}

fn choose<T>(rng: &mut Rng, all: Vec<T>) -> Option<T> {
    let place = (!all.is_empty()).then(|| rng.usize(0..all.len()))?;
    all.into_iter().nth(place)
}

fn scalable(state: &ExpectedState<'_>, kind: Kind) -> Vec<Scalable> {
    let kind = match kind {
        Kind::PodCliqueSet => "PodCliqueSet",
        Kind::PodCliqueScalingGroup => "PodCliqueScalingGroup",
        _ => "PodClique",
    };
    state.scalable().into_iter().filter(|part| part.kind == kind).collect()
}

/// Chooses the pod that is lost. An update replaces the first clique's pods, so another clique loses one
/// then. While the gang is pending, a required pod is lost, because others may still be gated.
fn lose_pod(
    rng: &mut Rng,
    state: &ExpectedState<'_>,
    pcs: &Value,
    moment: Moment,
    by: LossCause,
) -> Option<Operation> {
    let updated = &list(&pcs["spec"]["template"]["cliques"])[0]["name"];
    let is_lost = |is_base: bool, group: &Group| match moment {
        Moment::Pending => is_base && group.min == group.replicas,
        Moment::DuringUpdate => *updated != group.template,
        _ => true,
    };
    let mut groups = Vec::new();
    for gang in state.gangs() {
        groups.extend(gang.groups.into_iter().filter(|group| is_lost(gang.is_base, group)));
    }
    let group = choose(rng, groups)?;
    Some(Operation::LosePod { clique: group.clique, number: rng.usize(0..group.replicas), by })
}

fn change(rng: &mut Rng, pcs: &Value, kind: Kind, field: TemplateField) -> Option<Operation> {
    let template = &pcs["spec"]["template"];
    let groups = list(&template["podCliqueScalingGroups"]);
    let is_member = |name: &Value| groups.iter().any(|group| list(&group["cliqueNames"]).contains(name));
    let names = list(&template["cliques"]).iter().map(|clique| &clique["name"]);
    let names = names.filter(|&name| is_member(name) == (kind == Kind::PodCliqueScalingGroup));
    let clique = text(choose(rng, names.collect())?).to_owned();
    Some(Operation::ChangeTemplate { clique, field, revision: rng.u32(1..=9) })
}

/// The first clique, which is standalone.
const FIRST: &str = "a";
const GROUP: &str = "x";

fn pcs(rng: &mut Rng, name: &str, cell: Cell) -> Value {
    let is_large = one_in(rng, 4);
    let first = if is_large { rng.u32(11..=12) } else { rng.u32(2..=4) };
    let mut cliques = vec![clique(rng, FIRST, first, 2, cell)];
    if one_in(rng, 2) {
        cliques.push(small_clique(rng, "a-a", cell));
    }
    let replicas = rng.u32(2..=3);
    let min = rng.u32(1..=2);
    let mut group =
        json!({"name": GROUP, "cliqueNames": ["aa", "ab"], "replicas": replicas, "minAvailable": min});
    cliques.extend(["aa", "ab"].map(|member| small_clique(rng, member, cell)));
    if cell.action == Action::ChangeScaleConfig {
        let config = |min: u32| json!({"minReplicas": min, "maxReplicas": MAX_REPLICAS});
        group["scaleConfig"] = config(min);
        cliques[0]["spec"]["autoScalingConfig"] = config(2);
    }
    let mut groups = vec![group];
    if one_in(rng, 3) {
        cliques.push(small_clique(rng, "aa-b", cell));
        groups.push(json!({"name": "xx", "cliqueNames": ["aa-b"], "replicas": 2, "minAvailable": 2}));
    }
    let mut template = json!({"cliques": cliques, "podCliqueScalingGroups": groups});
    if cell.action == Action::Restart || one_in(rng, 3) {
        template["cliqueStartupType"] = "CliqueStartupTypeInOrder".into();
    }
    // A gang termination would replace pods, which these checks do not expect, so the delay is long.
    let keeps_pods = [Action::EditLabel, Action::EditListEntry, Action::ChangeScaleConfig, Action::Restart];
    if keeps_pods.contains(&cell.action) && matches!(cell.moment, Moment::Pending | Moment::AtRest) {
        template["terminationDelay"] = "1h30m15s".into();
    }
    let is_scaled_in = (cell.action, cell.kind) == (Action::ScaleIn, Kind::PodCliqueSet);
    let replicas = if is_scaled_in { 2 } else { 1 };
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": name},
        "spec": {"replicas": replicas, "template": template},
    })
}

fn small_clique(rng: &mut Rng, name: &str, cell: Cell) -> Value {
    let replicas = rng.u32(1..=2);
    let min = rng.u32(1..=replicas);
    clique(rng, name, replicas, min, cell)
}

fn clique(rng: &mut Rng, name: &str, replicas: u32, min: u32, cell: Cell) -> Value {
    let resources = json!({"limits": {"nvidia.com/gpu": 1}});
    let container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources});
    let mut pod = json!({"containers": [container]});
    if cell.action == Action::ChangeInitContainers && one_in(rng, 2) {
        pod["initContainers"] = json!([{"name": "prepare", "image": "registry.k8s.io/pause:3.10"}]);
    }
    json!({"name": name, "spec": {
        "roleName": name, "replicas": replicas, "minAvailable": min, "podSpec": pod,
    }})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn workloads(count: usize) -> impl Iterator<Item = GeneratedWorkload> {
        SEEDS.take(count).map(workload)
    }

    fn cell_of(workload: &GeneratedWorkload, operation: &Operation, state: &ExpectedState<'_>) -> Cell {
        let groups = list(&workload.pcs["spec"]["template"]["podCliqueScalingGroups"]);
        let is_member =
            |name: &str| groups.iter().any(|group| list(&group["cliqueNames"]).contains(&name.into()));
        let (action, kind) = match operation.inner() {
            Operation::Scale { kind, name, replicas } => {
                let before = state.scalable().into_iter().find(|part| part.name == *name).unwrap().replicas;
                let action = if *replicas as usize > before { Action::ScaleOut } else { Action::ScaleIn };
                let kind = match kind.as_str() {
                    "PodCliqueSet" => Kind::PodCliqueSet,
                    "PodClique" => Kind::PodClique,
                    _ => Kind::PodCliqueScalingGroup,
                };
                (action, kind)
            }
            Operation::LosePod { by, .. } => match by {
                LossCause::Failed => (Action::Fail, Kind::Pod),
                LossCause::Evicted => (Action::Evict, Kind::Pod),
                LossCause::DeletedAtOnce | LossCause::DeletedWithGrace => (Action::Delete, Kind::Pod),
            },
            Operation::DeleteGangResource { .. } => (Action::Delete, Kind::GangResource),
            Operation::DeletePodGang { .. } => (Action::Delete, Kind::PodGang),
            Operation::Recreate => (Action::Delete, Kind::PodCliqueSet),
            Operation::NodeJoins => (Action::AddNode, Kind::Node),
            Operation::NodeLeaves => (Action::Drain, Kind::Node),
            Operation::ChangeTemplate { clique, field, .. } => {
                let action = match field {
                    TemplateField::Env => Action::ChangeEnv,
                    TemplateField::InitContainers => Action::ChangeInitContainers,
                    TemplateField::Labels => Action::ChangeTemplateLabel,
                    TemplateField::Annotations => Action::ChangeTemplateAnnotation,
                };
                (action, if is_member(clique) { Kind::PodCliqueScalingGroup } else { Kind::PodClique })
            }
            Operation::ChangeScaleConfig { part, .. } => {
                let is_group = groups.iter().any(|group| group["name"] == *part);
                let kind = if is_group { Kind::PodCliqueScalingGroup } else { Kind::PodClique };
                (Action::ChangeScaleConfig, kind)
            }
            Operation::EditGangResource { part: EditedPart::Label, .. } => {
                (Action::EditLabel, Kind::GangResource)
            }
            Operation::EditGangResource { part: EditedPart::ListEntry, .. } => {
                (Action::EditListEntry, Kind::GangResource)
            }
            Operation::RestartOperator => (Action::Restart, Kind::Operator),
            Operation::Preempt => panic!("draw_contention draws it"),
            Operation::At { .. } => panic!("{operation:?} has two moments"),
        };
        Cell { action, kind, moment: operation.moment() }
    }

    #[test]
    fn each_drawn_cell_occurs_once_before_any_occurs_again() {
        let cells = drawn();
        let mut seen = BTreeSet::new();
        for (workload, wanted) in workloads(cells.len()).zip(&cells) {
            let mut state = ExpectedState::at_start(&workload);
            let mut own = BTreeSet::new();
            for operation in &workload.operations {
                own.insert(cell_of(&workload, operation, &state));
                assert!(state.apply(operation), "{}", workload.text());
            }
            assert!(own.contains(wanted), "{wanted:?}: {}", workload.text());
            seen.insert(*wanted);
        }
        let all: BTreeSet<_> = cells.into_iter().collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn shapes_are_large_have_minimums_above_one_and_start_in_order() {
        let mut seen = BTreeSet::new();
        for workload in workloads(200) {
            let template = &workload.pcs["spec"]["template"];
            for clique in list(&template["cliques"]) {
                let count = |field: &str| clique["spec"][field].as_u64().unwrap();
                seen.extend((count("replicas") > 10).then_some("more than ten pods"));
                seen.extend((count("minAvailable") > 1).then_some("a minimum above one"));
            }
            let groups = list(&template["podCliqueScalingGroups"]);
            assert!(list(&groups[0]["cliqueNames"]).len() > 1, "{}", workload.text());
            seen.extend((groups.len() > 1).then_some("two groups"));
            seen.extend(template["cliqueStartupType"].as_str().map(|_| "startup order"));
            seen.extend(template["terminationDelay"].as_str().map(|_| "a duration of several units"));
            assert!(ExpectedState::of(&workload).max_pods() as usize <= MAX_PODS);
        }
        assert_eq!(seen.len(), 5, "{seen:?}");
    }

    /// Replicas, pods and `maxReplicas` after the operation, for a PodCliqueSet of one clique `a` of 2 pods.
    #[rstest::rstest]
    #[case::changed_at_zero(change_of("a").at(Moment::AtZero), (1, 2, 20))]
    #[case::scale_config(max_replicas(25), (1, 2, 25))]
    #[case::scale_config_at_zero(max_replicas(25).at(Moment::AtZero), (1, 2, 25))]
    #[case::scaled_during_an_update(scale("PodClique", "h-0-a", 3).at(Moment::DuringUpdate), (1, 3, 20))]
    #[case::scaled_while_pending(scale("PodCliqueSet", "h", 2).at(Moment::Pending), (2, 4, 20))]
    #[case::restarted(Operation::RestartOperator.at(Moment::Pending), (1, 2, 20))]
    #[case::pod_gang_deleted(Operation::DeletePodGang { number: 0 }, (1, 2, 20))]
    fn the_end_state_of_an_operation_is_known(
        #[case] operation: Operation,
        #[case] wanted: (u64, usize, u64),
    ) {
        let workload = small_workload(true);
        let mut state = ExpectedState::at_start(&workload);
        assert!(state.apply(&operation));
        let expected = state.expected_pcs();
        let config = &expected["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"];
        let replicas = expected["spec"]["replicas"].as_u64().unwrap();
        assert_eq!((replicas, state.pods(), config["maxReplicas"].as_u64().unwrap()), wanted);
    }

    #[rstest::rstest]
    #[case::not_pending(false, Operation::RestartOperator.at(Moment::Pending))]
    #[case::a_gang_at_zero(true, Operation::DeletePodGang { number: 0 }.at(Moment::AtZero))]
    #[case::a_recycle(true, Operation::RestartOperator.at(Moment::DuringRecycle))]
    #[case::two_moments(true, Operation::RestartOperator.at(Moment::AtZero).at(Moment::DuringUpdate))]
    #[case::unknown_clique(true, change_of("b"))]
    #[case::no_such_gang(true, Operation::DeletePodGang { number: 1 })]
    fn an_operation_at_a_wrong_moment_is_invalid(#[case] begins_short: bool, #[case] operation: Operation) {
        let workload = small_workload(begins_short);
        assert!(!ExpectedState::at_start(&workload).apply(&operation));
    }

    #[test]
    fn no_gang_is_pending_after_an_operation_at_rest() {
        let workload = small_workload(true);
        let mut state = ExpectedState::at_start(&workload);
        let pending = Operation::RestartOperator.at(Moment::Pending);
        assert!(state.apply(&pending) && state.apply(&pending) && state.apply(&Operation::RestartOperator));
        assert!(!state.apply(&pending));
    }

    fn small_workload(begins_short: bool) -> GeneratedWorkload {
        let config = json!({"minReplicas": 2, "maxReplicas": 20});
        let spec = json!({"replicas": 2, "minAvailable": 2, "autoScalingConfig": config});
        let pcs = json!({"metadata": {"name": "h"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": spec}],
        }}});
        let surroundings = Surroundings::default();
        GeneratedWorkload { pcs, begins_short, operations: Vec::new(), surroundings }
    }

    fn change_of(clique: &str) -> Operation {
        Operation::ChangeTemplate { clique: clique.into(), field: TemplateField::Labels, revision: 2 }
    }

    fn max_replicas(max_replicas: u32) -> Operation {
        Operation::ChangeScaleConfig { part: "a".into(), max_replicas }
    }

    fn scale(kind: &str, name: &str, replicas: u32) -> Operation {
        Operation::Scale { kind: kind.into(), name: name.into(), replicas }
    }
}
