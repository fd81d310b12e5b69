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

/// A PodCliqueSet, the room that it finds, and what is done to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The PodCliqueSet.
    pub set: Value,
    /// Whether the nodes have room for one pod less than all hard gangs need until the scheduler has had its pass.
    pub begins_short: bool,
    /// One after the other; before each the set has become all that it should be.
    pub operations: Vec<Operation>,
}

/// Something that is done to a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Operation {
    /// The replicas of the set, a scaling group or a PodClique are set.
    Scale {
        /// PodCliqueSet, PodCliqueScalingGroup or PodClique.
        kind: String,
        /// Its name.
        name: String,
        /// To how many.
        replicas: u32,
    },
    /// A pod is lost.
    LosePod {
        /// Its PodClique.
        clique: String,
        /// Which of its pods, in the order of their indexes.
        number: usize,
        /// How.
        by: How,
    },
    /// The first gang resource of a PodGang is deleted.
    DeleteGangResource {
        /// Which PodGang, in the order of replicas, base first.
        number: usize,
    },
    /// The set is deleted, and made again when nothing is left of it.
    MakeAgain,
    /// A node joins.
    NodeJoins,
    /// The node that joined last is drained and taken away.
    NodeLeaves,
}

/// How a pod is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// Deleted without grace.
    DeletedAtOnce,
    /// Deleted with grace.
    DeletedWithGrace,
    /// It failed.
    Failed,
    /// Evicted.
    Evicted,
}

impl How {
    /// All of them.
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

/// The second document.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Operations {
    api_version: String,
    kind: String,
    begins_short: bool,
    operations: Vec<Operation>,
}

/// Why a file is no workload with operations.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// No YAML.
    #[error(transparent)]
    Yaml(#[from] grove_yaml::YamlError),
    /// Not these two documents.
    #[error(
        "expected a PodCliqueSet of grove.io/v1alpha1 and a document of kind {KIND} of {API_VERSION}, one each"
    )]
    Documents,
    /// An operation, or another field, that there is not.
    #[error("{KIND}: {0}")]
    Operations(#[from] serde_json::Error),
    /// An operation that does not apply.
    #[error("operation {number} does not apply to what the ones before have made of the set: {operation:?}")]
    DoesNotApply {
        /// From 1.
        number: usize,
        /// It.
        operation: Operation,
    },
    /// A set without a gang.
    #[error("the PodCliqueSet has no pods")]
    Empty,
}

/// Where a set's topology constraint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constrained {
    /// Nowhere.
    Nowhere,
    /// At the set.
    Set,
    /// At a scaling group.
    Group,
    /// At a clique.
    Clique,
}

impl Plan {
    /// Reads what [`Plan::text`] wrote.
    ///
    /// # Errors
    /// [`Unreadable`].
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

    /// The manifest and the operations, as a file that is run again.
    pub fn text(&self) -> String {
        let operations = Operations {
            api_version: API_VERSION.into(),
            kind: KIND.into(),
            begins_short: self.begins_short,
            operations: self.operations.clone(),
        };
        // By way of JSON: YAML of its own has a tag where JSON has a map.
        let value = serde_json::to_value(operations).unwrap_or_default();
        let document = |value: &Value| grove_yaml::write(value).unwrap_or_default();
        format!("{}---\n{}", document(&self.set), document(&value))
    }

    /// The set's name.
    pub(crate) fn name(&self) -> &str {
        text(&self.set["metadata"]["name"])
    }

    /// Where its topology constraint is.
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

    /// Whether the racks of nodes matter.
    pub(crate) fn is_racked(&self) -> bool {
        self.constrained() != Constrained::Nowhere
    }

    /// Without its topology constraint.
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

    /// As far as a target declares that it can: a constraint that it does not know would be refused, and a gang resource
    /// that it does not restore stays away.
    pub(crate) fn on(self, target: Target) -> Self {
        let needed = match self.constrained() {
            Constrained::Nowhere => None,
            Constrained::Set => Some(Feature::TopologyRequired),
            Constrained::Group => Some(Feature::TopologyPerGroup),
            Constrained::Clique => Some(Feature::TopologyPerClique),
        };
        let mut plan = match needed {
            Some(feature) if !target.declares(feature) => self.unconstrained(),
            _ => self,
        };
        if !target.declares(Feature::SelfHealing) {
            plan.operations.retain(|operation| !matches!(operation, Operation::DeleteGangResource { .. }));
        }
        plan
    }
}

/// The constraint of a generated set: one rack.
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
        assert!(error.contains("operation 1 does not apply"), "{error}");
    }

    #[test]
    fn a_target_that_does_not_declare_a_constraint_is_not_asked_for_it() {
        let constrained =
            (0..).map(Plan::of_seed).find(|plan| plan.constrained() == Constrained::Group).unwrap();
        assert!(constrained.clone().on(Target::KAI).is_racked());
        assert!(!constrained.on(Target::KOORDINATOR).is_racked());
    }
}
