//! A generated workload as data: a manifest and a list of operations, one YAML document each.

use conformance_contract::clauses::Feature;
use conformance_contract::property::Property;
use conformance_contract::requirements::Requirements;
use conformance_contract::target::Target;
use conformance_driver::context::Disruption;
use conformance_history::{list, text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::expected_state::ExpectedState;
use crate::surroundings::Surroundings;

const API_VERSION: &str = "conformance.grove.io/v1alpha1";
const KIND: &str = "Operations";

#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedWorkload {
    pub pcs: Value,
    /// Whether the nodes lack room for one pod of the hard gangs until the scheduler has made a full pass.
    pub begins_short: bool,
    /// In order. Each starts when the PodCliqueSet has converged, or at its own moment.
    pub operations: Vec<Operation>,
    pub(crate) surroundings: Surroundings,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Operation {
    Scale {
        /// PodCliqueSet, PodCliqueScalingGroup or PodClique.
        kind: String,
        name: String,
        replicas: u32,
    },
    LosePod {
        clique: String,
        /// Position among the clique's pods, sorted by name.
        number: usize,
        by: LossCause,
    },
    DeleteGangResource {
        /// Position of the PodGang: by replica, base PodGangs first.
        number: usize,
    },
    /// Deletes the PodCliqueSet, and creates it again when all of its objects are deleted.
    #[serde(rename = "makeAgain")]
    Recreate,
    NodeJoins,
    /// Drains and removes the node that joined last.
    NodeLeaves,
    ChangeTemplate {
        /// The name of the clique in the PodCliqueSet.
        clique: String,
        field: TemplateField,
        /// The new value, different from all former ones.
        revision: u32,
    },
    ChangeScaleConfig {
        /// The name of the clique or scaling group in the PodCliqueSet.
        part: String,
        max_replicas: u32,
    },
    DeletePodGang {
        number: usize,
    },
    EditGangResource {
        number: usize,
        part: EditedPart,
    },
    RestartOperator,
    /// Submits a PodCliqueSet of higher priority that needs every GPU. Deletes this PodCliqueSet after it is
    /// bound and the evicted pods are replaced.
    Preempt,
    /// Performs an operation at a moment at which the PodCliqueSet has not converged.
    At {
        moment: Moment,
        operation: Box<Operation>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TemplateField {
    Env,
    InitContainers,
    Labels,
    Annotations,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EditedPart {
    Label,
    ListEntry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Moment {
    /// The nodes lack room for one pod of the hard gangs.
    Pending,
    AtRest,
    /// A rolling update of the first clique has created its first pod.
    DuringUpdate,
    /// The PodCliqueSet has 0 replicas. Afterwards, the driver restores its replicas.
    AtZero,
    /// A gang termination replaces the pods of a gang.
    DuringRecycle,
}

impl Operation {
    pub(crate) fn moment(&self) -> Moment {
        match self {
            Self::At { moment, .. } => *moment,
            _ => Moment::AtRest,
        }
    }

    pub(crate) fn inner(&self) -> &Self {
        match self {
            Self::At { operation, .. } => operation,
            other => other,
        }
    }

    pub(crate) fn at(self, moment: Moment) -> Self {
        match moment {
            Moment::AtRest => self,
            _ => Self::At { moment, operation: Box::new(self) },
        }
    }

    /// Whether only the operation itself changes pods and gang resources meanwhile.
    pub(crate) fn is_undisturbed(&self) -> bool {
        matches!(self.moment(), Moment::Pending | Moment::AtRest)
    }

    pub(crate) fn updates(&self) -> bool {
        self.moment() == Moment::DuringUpdate || matches!(self.inner(), Self::ChangeTemplate { .. })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LossCause {
    DeletedAtOnce,
    DeletedWithGrace,
    Failed,
    Evicted,
}

impl LossCause {
    pub(crate) const ALL: [Self; 4] =
        [Self::DeletedAtOnce, Self::DeletedWithGrace, Self::Failed, Self::Evicted];

    pub(crate) fn loss(self) -> Disruption {
        match self {
            Self::DeletedAtOnce => Disruption::AtOnce,
            Self::DeletedWithGrace => Disruption::WithGrace,
            Self::Failed => Disruption::Failed,
            Self::Evicted => Disruption::Evicted,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Operations {
    api_version: String,
    kind: String,
    begins_short: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    node_sizes: Vec<u32>,
    operations: Vec<Operation>,
}

#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error(transparent)]
    Yaml(#[from] grove_yaml::YamlError),
    #[error(
        "expected a PodCliqueSet of grove.io/v1alpha1 first, {KIND} of {API_VERSION} last, and between them \
         only PodCliqueSets, ConfigMaps and PersistentVolumeClaims; nodeSizes are above 0"
    )]
    Documents,
    /// An unknown operation, or another unknown field.
    #[error("{KIND}: {0}")]
    Operations(#[from] serde_json::Error),
    #[error("operation {number} is not valid after the previous ones: {operation:?}")]
    Invalid {
        /// Counted from 1.
        number: usize,
        operation: Operation,
    },
    #[error("the PodCliqueSet has no pods")]
    Empty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConstrainedPart {
    None,
    PodCliqueSet,
    ScalingGroup,
    Clique,
}

impl GeneratedWorkload {
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let documents = grove_yaml::documents(text)?;
        let [pcs, others @ .., operations] = documents.as_slice() else { return Err(Unreadable::Documents) };
        let has_kind = |document: &Value, version: &str, kind: &str| {
            document["apiVersion"] == version && document["kind"] == kind
        };
        if !has_kind(pcs, "grove.io/v1alpha1", "PodCliqueSet") || !has_kind(operations, API_VERSION, KIND) {
            return Err(Unreadable::Documents);
        }
        let Operations { begins_short, node_sizes, operations, .. } =
            serde_json::from_value(operations.clone())?;
        let surroundings = Surroundings::of(others, node_sizes).ok_or(Unreadable::Documents)?;
        let workload = Self { pcs: pcs.clone(), begins_short, operations, surroundings };
        let mut state = ExpectedState::at_start(&workload);
        if state.pods() == 0 {
            return Err(Unreadable::Empty);
        }
        for (number, operation) in (1..).zip(&workload.operations) {
            if !state.apply(operation) {
                return Err(Unreadable::Invalid { number, operation: operation.clone() });
            }
        }
        Ok(workload)
    }

    pub fn text(&self) -> String {
        let operations = Operations {
            api_version: API_VERSION.into(),
            kind: KIND.into(),
            begins_short: self.begins_short,
            node_sizes: self.surroundings.node_sizes.clone(),
            operations: self.operations.clone(),
        };
        // serde_yaml would write enum variants as tags; as JSON they are maps, which are easier to write.
        let value = serde_json::to_value(operations).unwrap_or_default();
        let document = |value: &Value| grove_yaml::write(value).unwrap_or_default();
        let all = [&self.pcs].into_iter().chain(self.surroundings.documents()).chain([&value]);
        all.map(document).collect::<Vec<_>>().join("---\n")
    }

    pub(crate) fn name(&self) -> &str {
        text(&self.pcs["metadata"]["name"])
    }

    pub(crate) fn sets(&self) -> impl Iterator<Item = &str> {
        let neighbors = self.surroundings.neighbors.iter().map(|pcs| text(&pcs["metadata"]["name"]));
        [self.name()].into_iter().chain(neighbors)
    }

    pub(crate) fn constrained_part(&self) -> ConstrainedPart {
        let template = &self.pcs["spec"]["template"];
        let is_constrained = |part: &Value| part["topologyConstraint"].is_object();
        if is_constrained(template) {
            ConstrainedPart::PodCliqueSet
        } else if list(&template["podCliqueScalingGroups"]).iter().any(is_constrained) {
            ConstrainedPart::ScalingGroup
        } else if list(&template["cliques"]).iter().any(is_constrained) {
            ConstrainedPart::Clique
        } else {
            ConstrainedPart::None
        }
    }

    pub(crate) fn waits_in_init_containers(&self) -> bool {
        let cliques = list(&self.pcs["spec"]["template"]["cliques"]);
        let is_added = |operation: &Operation| {
            matches!(
                operation.inner(),
                Operation::ChangeTemplate { field: TemplateField::InitContainers, .. }
            )
        };
        cliques.iter().any(|clique| clique["spec"]["podSpec"]["initContainers"].is_array())
            || self.operations.iter().any(is_added)
    }

    pub(crate) fn preempts(&self) -> bool {
        self.operations.contains(&Operation::Preempt)
    }

    pub(crate) fn is_racked(&self) -> bool {
        self.constrained_part() != ConstrainedPart::None
    }

    pub(crate) fn unconstrained(mut self) -> Self {
        let template = &mut self.pcs["spec"]["template"];
        let remove =
            |part: &mut Value| part.as_object_mut().map(|fields| fields.remove("topologyConstraint"));
        remove(template);
        for key in ["podCliqueScalingGroups", "cliques"] {
            for part in template.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                remove(part);
            }
        }
        self
    }

    /// Removes what the target does not declare. The operator would reject an undeclared constraint, and it
    /// would not restore a deleted gang resource.
    pub(crate) fn restricted_to(self, target: Target) -> Self {
        let needed = match self.constrained_part() {
            ConstrainedPart::None => None,
            ConstrainedPart::PodCliqueSet => Some(Feature::TopologyRequired),
            ConstrainedPart::ScalingGroup => Some(Feature::TopologyPerGroup),
            ConstrainedPart::Clique => Some(Feature::TopologyPerClique),
        };
        // A target that schedules podgroups separately cannot satisfy a constraint across several of them.
        let spans_podgroups = self.constrained_part() == ConstrainedPart::PodCliqueSet
            && ExpectedState::of_pcs(&self.pcs).gangs().iter().any(|gang| gang.groups.len() > 1);
        let is_unsatisfiable = spans_podgroups && !target.declares(Feature::AtomicPodGang);
        let mut workload = match needed {
            Some(feature) if !target.declares(feature) || is_unsatisfiable => self.unconstrained(),
            _ => self,
        };
        let resizable = Requirements { properties: &[Property::ResizableResources], ..Requirements::NONE };
        let is_resizable = resizable.why_unmet(target).is_none();
        let is_declared = |operation: &Operation| match operation.inner() {
            Operation::DeleteGangResource { .. } => target.declares(Feature::SelfHealing),
            Operation::EditGangResource { .. } => is_resizable && target.declares(Feature::SelfHealing),
            // Other gang resources are kept until their pods end, so nothing replaces them until then.
            Operation::DeletePodGang { .. } => is_resizable,
            Operation::ChangeScaleConfig { .. } => target.declares(Feature::Autoscaling),
            Operation::Preempt => target.declares(Feature::Preemption),
            _ => true,
        };
        workload.operations.retain(is_declared);
        workload
    }
}

pub(crate) fn cliques_mut(pcs: &mut Value) -> impl Iterator<Item = &mut Value> {
    pcs["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten()
}

pub(crate) fn one_rack() -> Value {
    json!({"topologyName": "conformance-topology", "pack": {"required": "rack"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_workload_is_read_back() {
        let seeds = (0..100).chain(crate::draw_actions::SEEDS.take(100));
        let seeds = seeds.chain(crate::draw_contention::SEEDS.take(20));
        for seed in seeds.chain(crate::draw_extras::SEEDS.take(100)) {
            let workload = GeneratedWorkload::of_seed(seed);
            assert_eq!(GeneratedWorkload::read(&workload.text()).unwrap(), workload, "{}", workload.text());
        }
    }

    #[rstest::rstest]
    #[case("a: [", "line 2")]
    #[case("apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet", "first")]
    fn other_documents_are_rejected(#[case] text: &str, #[case] why: &str) {
        let error = GeneratedWorkload::read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn an_invalid_operation_is_rejected() {
        let mut workload = GeneratedWorkload::of_seed(1);
        workload.operations = vec![Operation::NodeLeaves];
        let error = GeneratedWorkload::read(&workload.text()).unwrap_err().to_string();
        assert!(error.contains("operation 1 is not valid"), "{error}");
    }

    #[test]
    fn an_undeclared_constraint_is_removed() {
        let mut all = (0..).map(GeneratedWorkload::of_seed);
        let is_per_group =
            |workload: &GeneratedWorkload| workload.constrained_part() == ConstrainedPart::ScalingGroup;
        let per_group = all.find(is_per_group).unwrap();
        assert!(per_group.clone().restricted_to(Target::KAI).is_racked());
        assert!(!per_group.restricted_to(Target::KOORDINATOR).is_racked());
        let spans_podgroups = |workload: &GeneratedWorkload| {
            workload.constrained_part() == ConstrainedPart::PodCliqueSet
                && ExpectedState::of_pcs(&workload.pcs).gangs()[0].groups.len() > 1
        };
        let spanning = all.find(spans_podgroups).unwrap();
        assert!(spanning.clone().restricted_to(Target::KUBE_POD_GANG).is_racked());
        assert!(!spanning.restricted_to(Target::KUBE_POD_GROUP).is_racked());
    }
}
