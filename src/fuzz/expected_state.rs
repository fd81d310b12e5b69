//! Calculates which operations on a PodCliqueSet are valid, and how many pods it has after them.

use std::collections::BTreeMap;

use conformance_expect::Gang;
use conformance_expect::scaling::{Sizes, template_name};
use conformance_history::{count, list, text};
use serde_json::Value;

use crate::workload::{GeneratedWorkload, Moment, Operation};

#[derive(Clone)]
pub(crate) struct ExpectedState<'a> {
    pcs: &'a Value,
    sizes: Sizes<'a>,
    /// Nodes that operations have added and not removed.
    joined: u32,
    max_pods: usize,
    /// Whether the nodes still lack room for one pod.
    is_pending: bool,
    /// `maxReplicas` of the scale configurations that operations changed, by the name of the part.
    max_replicas: BTreeMap<String, u32>,
}

impl<'a> ExpectedState<'a> {
    pub(crate) fn of_pcs(pcs: &'a Value) -> Self {
        let sizes = Sizes::of(pcs);
        let max_replicas = BTreeMap::new();
        let mut state = Self { pcs, sizes, joined: 0, max_pods: 0, is_pending: false, max_replicas };
        state.max_pods = state.pods();
        state
    }

    pub(crate) fn at_start(workload: &'a GeneratedWorkload) -> Self {
        Self { is_pending: workload.begins_short, ..Self::of_pcs(&workload.pcs) }
    }

    pub(crate) fn of(workload: &'a GeneratedWorkload) -> Self {
        let mut state = Self::at_start(workload);
        for operation in &workload.operations {
            state.apply(operation);
        }
        state
    }

    pub(crate) fn gangs(&self) -> Vec<Gang> {
        self.sizes.gangs()
    }

    pub(crate) fn minimum_pods(&self) -> u32 {
        let gangs = Sizes::of(self.pcs).gangs();
        u32::try_from(gangs.iter().map(Gang::minimum).sum::<usize>()).unwrap_or(u32::MAX)
    }

    pub(crate) fn pods(&self) -> usize {
        self.gangs().iter().map(Gang::pods).sum()
    }

    pub(crate) fn max_pods(&self) -> u32 {
        u32::try_from(self.max_pods).unwrap_or(u32::MAX)
    }

    pub(crate) fn apply(&mut self, operation: &Operation) -> bool {
        let is_valid = self.is_valid(operation);
        if is_valid {
            self.perform(operation);
        }
        is_valid
    }

    pub(crate) fn perform(&mut self, operation: &Operation) {
        self.is_pending &= operation.moment() == Moment::Pending;
        match operation {
            Operation::Scale { kind, name, replicas } => {
                self.sizes.scale(kind, name, u64::from(*replicas));
            }
            Operation::Recreate => {
                self.sizes = Sizes::of(self.pcs);
                self.max_replicas.clear();
            }
            Operation::NodeJoins => self.joined += 1,
            Operation::NodeLeaves => self.joined = self.joined.saturating_sub(1),
            Operation::ChangeScaleConfig { part, max_replicas } => {
                self.max_replicas.insert(part.clone(), *max_replicas);
            }
            Operation::At { moment: Moment::AtZero, operation } => {
                let pcs = self.pcs;
                let set = text(&pcs["metadata"]["name"]);
                let before = self.sizes.replicas;
                self.sizes.scale("PodCliqueSet", set, 0);
                self.perform(operation);
                self.sizes.scale("PodCliqueSet", set, before);
            }
            Operation::At { operation, .. } => {
                let was_pending = self.is_pending;
                self.perform(operation);
                self.is_pending = was_pending;
            }
            Operation::LosePod { .. }
            | Operation::DeleteGangResource { .. }
            | Operation::ChangeTemplate { .. }
            | Operation::DeletePodGang { .. }
            | Operation::EditGangResource { .. }
            | Operation::RestartOperator
            | Operation::Preempt => {}
        }
        self.max_pods = self.max_pods.max(self.pods());
    }

    fn is_valid(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Scale { kind, name, replicas } => self
                .scalable()
                .iter()
                .find(|part| part.kind == kind && part.name == *name)
                .is_some_and(|part| *replicas >= part.min && *replicas as usize != part.replicas),
            Operation::LosePod { clique, number, .. } => {
                let gangs = self.gangs();
                let mut groups = gangs.iter().flat_map(|gang| &gang.groups);
                groups.any(|group| group.clique == *clique && *number < group.replicas)
            }
            Operation::DeleteGangResource { number }
            | Operation::DeletePodGang { number }
            | Operation::EditGangResource { number, .. } => *number < self.gangs().len(),
            Operation::Recreate | Operation::NodeJoins | Operation::RestartOperator => true,
            Operation::NodeLeaves => self.joined > 0,
            // With a PriorityClass, the workload may not have a lower priority than the preemptor.
            Operation::Preempt => self.pcs["spec"]["template"]["priorityClassName"].is_null(),
            Operation::ChangeTemplate { clique, .. } => {
                let cliques = list(&self.pcs["spec"]["template"]["cliques"]);
                cliques.iter().any(|found| found["name"] == *clique)
            }
            Operation::ChangeScaleConfig { part, .. } => scale_config(self.pcs, part).is_some(),
            Operation::At { moment, operation } => {
                self.allows(*moment, operation)
                    && **operation != Operation::Preempt
                    && operation.moment() == Moment::AtRest
                    && self.is_valid(operation)
            }
        }
    }

    fn allows(&self, moment: Moment, operation: &Operation) -> bool {
        match moment {
            Moment::Pending => self.is_pending,
            Moment::DuringUpdate => true,
            Moment::AtZero => matches!(
                operation,
                Operation::ChangeTemplate { .. }
                    | Operation::ChangeScaleConfig { .. }
                    | Operation::RestartOperator
            ),
            Moment::AtRest | Moment::DuringRecycle => false,
        }
    }

    pub(crate) fn replicas(&self) -> u32 {
        u32::try_from(self.sizes.replicas).unwrap_or(u32::MAX)
    }

    pub(crate) fn expected_pcs(&self) -> Value {
        let mut pcs = self.pcs.clone();
        pcs["spec"]["replicas"] = self.sizes.replicas.into();
        for (part, max_replicas) in &self.max_replicas {
            set_max_replicas(&mut pcs["spec"]["template"], part, *max_replicas);
        }
        pcs
    }

    pub(crate) fn scalable(&self) -> Vec<Scalable> {
        let name = text(&self.pcs["metadata"]["name"]);
        let replicas = usize::try_from(self.sizes.replicas).unwrap_or(usize::MAX);
        let mut all = vec![Scalable { kind: "PodCliqueSet", name: name.into(), replicas, min: 1 }];
        let gangs = self.gangs();
        let is_group =
            |known: &&mut Scalable, name: &str| known.kind == "PodCliqueScalingGroup" && known.name == name;
        for group in gangs.iter().flat_map(|gang| &gang.groups) {
            match &group.scaling_group {
                None => all.push(Scalable {
                    kind: "PodClique",
                    name: group.clique.clone(),
                    replicas: group.replicas,
                    min: u32::try_from(group.min).unwrap_or(u32::MAX),
                }),
                Some((scaling_group, index)) => {
                    match all.iter_mut().find(|known| is_group(known, scaling_group)) {
                        Some(known) => known.replicas = known.replicas.max(index + 1),
                        None => all.push(Scalable {
                            kind: "PodCliqueScalingGroup",
                            name: scaling_group.clone(),
                            replicas: index + 1,
                            min: self.min_available(scaling_group),
                        }),
                    }
                }
            }
        }
        all
    }

    fn min_available(&self, scaling_group: &str) -> u32 {
        let templates = list(&self.pcs["spec"]["template"]["podCliqueScalingGroups"]);
        let name = template_name(text(&self.pcs["metadata"]["name"]), scaling_group);
        let template = templates.iter().find(|template| template["name"] == name);
        let min = template.and_then(|template| count(&template["minAvailable"])).unwrap_or(1);
        u32::try_from(min).unwrap_or(u32::MAX)
    }
}

pub(crate) fn scale_config<'a>(pcs: &'a Value, part: &str) -> Option<&'a Value> {
    let template = &pcs["spec"]["template"];
    let named = |key: &str| list(&template[key]).iter().find(|found| found["name"] == part);
    let clique = named("cliques").map(|clique| &clique["spec"]["autoScalingConfig"]);
    let group = named("podCliqueScalingGroups").map(|group| &group["scaleConfig"]);
    clique.into_iter().chain(group).find(|config| config.is_object())
}

pub(crate) fn set_max_replicas(template: &mut Value, part: &str, max_replicas: u32) {
    for key in ["cliques", "podCliqueScalingGroups"] {
        for found in template.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            let is_part = found["name"] == part;
            let config = match key {
                "cliques" => found["spec"].get_mut("autoScalingConfig"),
                _ => found.get_mut("scaleConfig"),
            };
            if let Some(config) = config.filter(|_| is_part) {
                config["maxReplicas"] = max_replicas.into();
            }
        }
    }
}

pub(crate) struct Scalable {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) replicas: usize,
    /// `minAvailable`. Operations do not scale below it, because other cases test that.
    pub(crate) min: u32,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pcs() -> Value {
        json!({"metadata": {"name": "g"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 2, "minAvailable": 1}}, {"name": "b", "spec": {"replicas": 3}}],
            "podCliqueScalingGroups": [{"name": "x", "replicas": 2, "minAvailable": 1, "cliqueNames": ["b"]}],
        }}})
    }

    fn scale(kind: &str, name: &str, replicas: u32) -> Operation {
        Operation::Scale { kind: kind.into(), name: name.into(), replicas }
    }

    #[test]
    fn an_operation_is_valid_if_it_fits_the_state_after_the_previous_ones() {
        let pcs = pcs();
        let mut state = ExpectedState::of_pcs(&pcs);
        let by = crate::workload::LossCause::Failed;
        let third = Operation::LosePod { clique: "g-0-a".into(), number: 2, by };
        assert!(!state.apply(&third), "it has two");
        assert!(state.apply(&scale("PodClique", "g-0-a", 3)) && state.apply(&third));
        assert!(!state.apply(&scale("PodClique", "g-0-a", 3)), "it has three");
        assert!(!state.apply(&scale("PodClique", "g-0-x-0-b", 4)), "a group is scaled as a whole");
        assert!(!state.apply(&scale("PodCliqueScalingGroup", "g-0-x", 0)), "its minimum is one");
        assert!(state.apply(&scale("PodCliqueScalingGroup", "g-0-x", 3)));
        assert_eq!(state.pods(), 12);
        assert!(state.apply(&Operation::Recreate) && state.pods() == 8 && state.max_pods() == 12);
        assert!(!state.apply(&Operation::NodeLeaves), "none has joined");
        assert!(state.apply(&Operation::NodeJoins) && state.apply(&Operation::NodeLeaves));
    }

    #[test]
    fn the_minimum_counts_the_pods_of_all_hard_gangs() {
        assert_eq!(ExpectedState::of_pcs(&pcs()).minimum_pods(), 1 + 3 + 3);
    }
}
