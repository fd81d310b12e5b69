//! Calculates the effect of operations on a PodCliqueSet: whether they are valid, and how many pods result.

use conformance_expect::Gang;
use conformance_expect::scaling::Sizes;
use conformance_history::{count, list, text};
use serde_json::Value;

use crate::plan::{Operation, Plan};

#[derive(Clone)]
pub(crate) struct Course<'a> {
    set: &'a Value,
    sizes: Sizes<'a>,
    /// Nodes that an operation added and none has removed.
    joined: u32,
    most: usize,
}

impl<'a> Course<'a> {
    pub(crate) fn of_set(set: &'a Value) -> Self {
        let mut course = Self { set, sizes: Sizes::of(set), joined: 0, most: 0 };
        course.most = course.pods();
        course
    }

    pub(crate) fn of(plan: &'a Plan) -> Self {
        let mut course = Self::of_set(&plan.set);
        for operation in &plan.operations {
            course.take(operation);
        }
        course
    }

    pub(crate) fn gangs(&self) -> Vec<Gang> {
        self.sizes.gangs()
    }

    /// Number of pods in all hard gangs of the submitted PodCliqueSet.
    pub(crate) fn minimum(&self) -> u32 {
        let gangs = Sizes::of(self.set).gangs();
        u32::try_from(gangs.iter().map(Gang::minimum).sum::<usize>()).unwrap_or(u32::MAX)
    }

    pub(crate) fn pods(&self) -> usize {
        self.gangs().iter().map(Gang::pods).sum()
    }

    pub(crate) fn most_pods(&self) -> u32 {
        u32::try_from(self.most).unwrap_or(u32::MAX)
    }

    /// Applies an operation if it is valid, and returns whether it is.
    pub(crate) fn take(&mut self, operation: &Operation) -> bool {
        let applies = self.applies(operation);
        if applies {
            match operation {
                Operation::Scale { kind, name, replicas } => {
                    self.sizes.scale(kind, name, u64::from(*replicas));
                }
                Operation::MakeAgain => self.sizes = Sizes::of(self.set),
                Operation::NodeJoins => self.joined += 1,
                Operation::NodeLeaves => self.joined -= 1,
                Operation::LosePod { .. } | Operation::DeleteGangResource { .. } => {}
            }
            self.most = self.most.max(self.pods());
        }
        applies
    }

    fn applies(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Scale { kind, name, replicas } => self
                .scalable()
                .iter()
                .find(|of| of.kind == kind && of.name == *name)
                .is_some_and(|of| *replicas >= of.least && *replicas as usize != of.now),
            Operation::LosePod { clique, number, .. } => {
                let gangs = self.gangs();
                let mut groups = gangs.iter().flat_map(|gang| &gang.groups);
                groups.any(|group| group.clique == *clique && *number < group.replicas)
            }
            Operation::DeleteGangResource { number } => *number < self.gangs().len(),
            Operation::MakeAgain | Operation::NodeJoins => true,
            Operation::NodeLeaves => self.joined > 0,
        }
    }

    /// The parts that can be scaled: the PodCliqueSet itself, its scaling groups and its standalone cliques.
    pub(crate) fn scalable(&self) -> Vec<Scalable> {
        let name = text(&self.set["metadata"]["name"]);
        let replicas = usize::try_from(self.sizes.replicas).unwrap_or(usize::MAX);
        let mut all = vec![Scalable { kind: "PodCliqueSet", name: name.into(), now: replicas, least: 1 }];
        let gangs = self.gangs();
        for group in gangs.iter().flat_map(|gang| &gang.groups) {
            match &group.scaling_group {
                None => all.push(Scalable {
                    kind: "PodClique",
                    name: group.clique.clone(),
                    now: group.replicas,
                    least: u32::try_from(group.min).unwrap_or(u32::MAX),
                }),
                Some((of, index)) => match all.iter_mut().find(|known| known.name == *of) {
                    Some(known) => known.now = known.now.max(index + 1),
                    None => all.push(Scalable {
                        kind: "PodCliqueScalingGroup",
                        name: of.clone(),
                        now: index + 1,
                        least: self.least_of_group(of),
                    }),
                },
            }
        }
        all
    }

    fn least_of_group(&self, name: &str) -> u32 {
        let groups = list(&self.set["spec"]["template"]["podCliqueScalingGroups"]);
        let own = groups.iter().find(|group| name.ends_with(&format!("-{}", text(&group["name"]))));
        let least = own.and_then(|group| count(&group["minAvailable"])).unwrap_or(1);
        u32::try_from(least).unwrap_or(u32::MAX)
    }
}

pub(crate) struct Scalable {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) now: usize,
    /// Lower bound for scale-in: its minimum. Fewer replicas would test something else.
    pub(crate) least: u32,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set() -> Value {
        json!({"metadata": {"name": "g"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 2, "minAvailable": 1}}, {"name": "b", "spec": {"replicas": 3}}],
            "podCliqueScalingGroups": [{"name": "x", "replicas": 2, "minAvailable": 1, "cliqueNames": ["b"]}],
        }}})
    }

    fn scale(kind: &str, name: &str, replicas: u32) -> Operation {
        Operation::Scale { kind: kind.into(), name: name.into(), replicas }
    }

    #[test]
    fn operations_apply_to_what_the_ones_before_have_made() {
        let set = set();
        let mut course = Course::of_set(&set);
        let third = Operation::LosePod { clique: "g-0-a".into(), number: 2, by: crate::plan::How::Failed };
        assert!(!course.take(&third), "it has two");
        assert!(course.take(&scale("PodClique", "g-0-a", 3)) && course.take(&third));
        assert!(!course.take(&scale("PodClique", "g-0-a", 3)), "it has three");
        assert!(!course.take(&scale("PodClique", "g-0-x-0-b", 4)), "a group is scaled as a whole");
        assert!(!course.take(&scale("PodCliqueScalingGroup", "g-0-x", 0)), "its minimum is one");
        assert!(course.take(&scale("PodCliqueScalingGroup", "g-0-x", 3)));
        assert_eq!(course.pods(), 12);
        assert!(course.take(&Operation::MakeAgain) && course.pods() == 8 && course.most_pods() == 12);
        assert!(!course.take(&Operation::NodeLeaves), "none has joined");
        assert!(course.take(&Operation::NodeJoins) && course.take(&Operation::NodeLeaves));
    }

    #[test]
    fn the_minimum_is_that_of_all_gangs() {
        assert_eq!(Course::of_set(&set()).minimum(), 1 + 3 + 3);
    }
}
