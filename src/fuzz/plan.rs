//! A generated workload as data: a manifest and a list of operations, one YAML document each.

use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
use conformance_driver::context::Loss;
use conformance_history::{list, text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::course::Course;

const API_VERSION: &str = "conformance.grove.io/v1alpha1";
const KIND: &str = "Operations";

/// A PodCliqueSet, the room for it, and the operations on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub set: Value,
    /// Whether the nodes lack room for one pod of the hard gangs until the scheduler has made its pass.
    pub begins_short: bool,
    /// Performed in order, each on a converged PodCliqueSet.
    pub operations: Vec<Operation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Operation {
    /// Sets the replicas of the PodCliqueSet, a scaling group or a PodClique.
    Scale {
        /// PodCliqueSet, PodCliqueScalingGroup or PodClique.
        kind: String,
        name: String,
        replicas: u32,
    },
    LosePod {
        clique: String,
        /// Position among its pods, sorted by name.
        number: usize,
        by: How,
    },
    /// Deletes the first gang resource of a PodGang.
    DeleteGangResource {
        /// Position of the PodGang, by replica, base first.
        number: usize,
    },
    /// Deletes the PodCliqueSet, and creates it again when nothing is left of it.
    MakeAgain,
    NodeJoins,
    /// Drains and removes the node that joined last.
    NodeLeaves,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    DeletedAtOnce,
    DeletedWithGrace,
    Failed,
    Evicted,
}

impl How {
    pub(crate) const ALL: [Self; 4] =
        [Self::DeletedAtOnce, Self::DeletedWithGrace, Self::Failed, Self::Evicted];

    pub(crate) fn loss(self) -> Loss {
        match self {
            Self::DeletedAtOnce => Loss::AtOnce,
            Self::DeletedWithGrace => Loss::WithGrace,
            Self::Failed => Loss::Failed,
            Self::Evicted => Loss::Evicted,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Operations {
    api_version: String,
    kind: String,
    begins_short: bool,
    operations: Vec<Operation>,
}

#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error(transparent)]
    Yaml(#[from] grove_yaml::YamlError),
    #[error(
        "expected a PodCliqueSet of grove.io/v1alpha1 and a document of kind {KIND} of {API_VERSION}, one each"
    )]
    Documents,
    /// An unknown operation, or another unknown field.
    #[error("{KIND}: {0}")]
    Operations(#[from] serde_json::Error),
    #[error("operation {number} is not valid after the previous ones: {operation:?}")]
    DoesNotApply {
        /// Counted from 1.
        number: usize,
        operation: Operation,
    },
    #[error("the PodCliqueSet has no pods")]
    Empty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constrained {
    Nowhere,
    Set,
    Group,
    Clique,
}

impl Plan {
    /// Reads the output of [`Plan::text`].
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let documents = grove_yaml::documents(text)?;
        let [set, operations] = documents.as_slice() else { return Err(Unreadable::Documents) };
        let is = |document: &Value, version: &str, kind: &str| {
            document["apiVersion"] == version && document["kind"] == kind
        };
        if !is(set, "grove.io/v1alpha1", "PodCliqueSet") || !is(operations, API_VERSION, KIND) {
            return Err(Unreadable::Documents);
        }
        let Operations { begins_short, operations, .. } = serde_json::from_value(operations.clone())?;
        let plan = Self { set: set.clone(), begins_short, operations };
        let mut course = Course::of_set(&plan.set);
        if course.pods() == 0 {
            return Err(Unreadable::Empty);
        }
        for (number, operation) in (1..).zip(&plan.operations) {
            if !course.take(operation) {
                return Err(Unreadable::DoesNotApply { number, operation: operation.clone() });
            }
        }
        Ok(plan)
    }

    /// The manifest and the operations, as a file that can be run again.
    pub fn text(&self) -> String {
        let operations = Operations {
            api_version: API_VERSION.into(),
            kind: KIND.into(),
            begins_short: self.begins_short,
            operations: self.operations.clone(),
        };
        // Convert through JSON: direct YAML has tags where JSON has maps.
        let value = serde_json::to_value(operations).unwrap_or_default();
        let document = |value: &Value| grove_yaml::write(value).unwrap_or_default();
        format!("{}---\n{}", document(&self.set), document(&value))
    }

    pub(crate) fn name(&self) -> &str {
        text(&self.set["metadata"]["name"])
    }

    pub(crate) fn constrained(&self) -> Constrained {
        let template = &self.set["spec"]["template"];
        let any = |key: &str| list(&template[key]).iter().any(|part| part["topologyConstraint"].is_object());
        match () {
            () if template["topologyConstraint"].is_object() => Constrained::Set,
            () if any("podCliqueScalingGroups") => Constrained::Group,
            () if any("cliques") => Constrained::Clique,
            () => Constrained::Nowhere,
        }
    }

    pub(crate) fn is_racked(&self) -> bool {
        self.constrained() != Constrained::Nowhere
    }

    pub(crate) fn unconstrained(mut self) -> Self {
        let template = &mut self.set["spec"]["template"];
        let take = |part: &mut Value| part.as_object_mut().map(|fields| fields.remove("topologyConstraint"));
        take(template);
        for key in ["podCliqueScalingGroups", "cliques"] {
            for part in template[key].as_array_mut().into_iter().flatten() {
                take(part);
            }
        }
        self
    }

    /// Restricts the plan to what a target declares. An undeclared constraint would be refused, and a deleted
    /// gang resource would not be restored.
    pub(crate) fn on(self, target: Target) -> Self {
        let needed = match self.constrained() {
            Constrained::Nowhere => None,
            Constrained::Set => Some(Feature::TopologyRequired),
            Constrained::Group => Some(Feature::TopologyPerGroup),
            Constrained::Clique => Some(Feature::TopologyPerClique),
        };
        // A target that schedules podgroups separately cannot satisfy a constraint across several of them.
        let spans = |plan: &Self| {
            let gangs = Course::of_set(&plan.set).gangs();
            plan.constrained() == Constrained::Set && gangs.iter().any(|gang| gang.groups.len() > 1)
        };
        let is_spread = !target.declares(Feature::AtomicPodGang) && spans(&self);
        let mut plan = match needed {
            Some(feature) if !target.declares(feature) || is_spread => self.unconstrained(),
            _ => self,
        };
        if !target.declares(Feature::SelfHealing) {
            plan.operations.retain(|operation| !matches!(operation, Operation::DeleteGangResource { .. }));
        }
        plan
    }
}

pub(crate) fn one_rack() -> Value {
    json!({"topologyName": "conformance-topology", "pack": {"required": "rack"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for seed in 0..100 {
            let plan = Plan::of_seed(seed);
            assert_eq!(Plan::read(&plan.text()).unwrap(), plan, "{}", plan.text());
        }
    }

    #[rstest::rstest]
    #[case("a: [", "line 2")]
    #[case("apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet", "one each")]
    fn what_is_none(#[case] text: &str, #[case] why: &str) {
        let error = Plan::read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn an_operation_has_to_apply() {
        let mut plan = Plan::of_seed(1);
        plan.operations = vec![Operation::NodeLeaves];
        let error = Plan::read(&plan.text()).unwrap_err().to_string();
        assert!(error.contains("operation 1 is not valid"), "{error}");
    }

    #[test]
    fn a_target_that_does_not_declare_a_constraint_is_not_asked_for_it() {
        let constrained =
            (0..).map(Plan::of_seed).find(|plan| plan.constrained() == Constrained::Group).unwrap();
        assert!(constrained.clone().on(Target::KAI).is_racked());
        assert!(!constrained.on(Target::KOORDINATOR).is_racked());
        let is_wide = |plan: &Plan| {
            plan.constrained() == Constrained::Set && Course::of_set(&plan.set).gangs()[0].groups.len() > 1
        };
        let wide = (0..).map(Plan::of_seed).find(is_wide).unwrap();
        assert!(
            wide.clone().on(Target::KUBE_POD_GANG).is_racked()
                && !wide.on(Target::KUBE_POD_GROUP).is_racked()
        );
    }
}
