//! A target is a backend in one of its gang scopes, with its declared features. It is a column of a report.

mod description;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

pub use self::description::{ReportedVersion, TargetDescription};
use super::backend_declaration::BackendDeclaration;
use super::clauses::{Clause, Feature, Tier, Workload};
use super::external_scheduler::{ALWAYS, Declared, ExternalProfile, NotExternal};
use crate::kubernetes::Kubernetes;
use crate::property::Property;
use crate::scheduler::Scheduler;
use crate::targets::why_not_of_an_external_profile;
pub use crate::targets::{AI_CONFORMANCE_TARGETS, KUBE, TARGETS, TRAIN_JOB_TARGETS};

/// A backend in one of its gang scopes. Targets with the same description are equal despite declarations.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "Serialized", try_from = "Serialized")]
pub struct Target {
    description: &'static TargetDescription,
    declaration: Option<&'static BackendDeclaration>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Serialized {
    Known(String),
    External {
        #[serde(rename = "external-scheduler")]
        declared: Declared,
    },
    Declared {
        #[serde(rename = "column")]
        id: String,
        declared: BackendDeclaration,
    },
}

/// The error for a history of an unknown target.
#[derive(Debug, thiserror::Error)]
enum UnknownTarget {
    #[error("unknown target {0:?}")]
    Id(String),
    #[error(transparent)]
    External(#[from] NotExternal),
}

impl From<Target> for Serialized {
    fn from(target: Target) -> Self {
        let id = target.description.id.to_owned();
        match target.declaration {
            _ if target.is_named_by_its_user() => Self::External { declared: Declared::of(target) },
            Some(declared) => Self::Declared { id, declared: declared.clone() },
            None => Self::Known(id),
        }
    }
}

impl TryFrom<Serialized> for Target {
    type Error = UnknownTarget;

    fn try_from(serialized: Serialized) -> Result<Self, UnknownTarget> {
        let known =
            |id: String| every().find(|target| target.description.id == id).ok_or(UnknownTarget::Id(id));
        match serialized {
            Serialized::Known(id) => known(id),
            Serialized::Declared { id, declared } => Ok(known(id)?.declared_by(declared)),
            Serialized::External { declared } => Ok(declared.target()?),
        }
    }
}

/// Returns the targets of all workloads, in the order of the report.
pub fn every() -> impl Iterator<Item = Target> {
    TARGETS.into_iter().chain(TRAIN_JOB_TARGETS).chain(AI_CONFORMANCE_TARGETS)
}

impl Target {
    pub(crate) const fn of(description: &'static TargetDescription) -> Self {
        Self { description, declaration: None }
    }

    pub(crate) const fn of_the_suite(self) -> Self {
        Self::of(self.description)
    }

    pub(crate) const fn with_declaration(self, declaration: &'static BackendDeclaration) -> Self {
        Self { declaration: Some(declaration), ..self }
    }

    /// The operator's declaration, if there is one.
    pub const fn declaration(self) -> Option<&'static BackendDeclaration> {
        self.declaration
    }

    /// The scheduler of the harness's cluster. For an External profile this is kube-scheduler.
    pub const fn scheduler(self) -> Scheduler {
        self.description.scheduler
    }

    /// The schedulerName of the backend.
    pub const fn backend(self) -> &'static str {
        self.description.backend
    }

    /// The name of the backend in reports and on the command line.
    pub const fn name(self) -> &'static str {
        self.description.name
    }

    /// The value of kube-scheduler's gang-scope annotation. The other backends have no scopes.
    pub const fn scope(self) -> Option<&'static str> {
        self.description.scope
    }

    /// The oldest Kubernetes version on which the target is tested.
    pub fn kubernetes(self) -> Kubernetes {
        Kubernetes::ALL.into_iter().find(|version| self.is_on(*version)).unwrap_or_default()
    }

    /// Whether the target is tested on clusters of this version.
    pub fn is_on(self, kubernetes: Kubernetes) -> bool {
        self.description.trees.is_none_or(|trees| trees == kubernetes.has_trees())
    }

    /// Feature gates that are assumed to be enabled, each with the clause that shows whether that is true.
    pub const fn gates(self) -> &'static [(&'static str, &'static str)] {
        self.description.gates
    }

    /// How a report gets the scheduler's version.
    pub const fn version(self) -> ReportedVersion {
        self.description.version
    }

    /// The profile, if the target has a profile of type External.
    pub const fn external(self) -> Option<&'static ExternalProfile> {
        self.description.external.as_ref()
    }

    /// The kind of workload of the target.
    pub const fn workload(self) -> Workload {
        self.description.workload
    }

    /// The PodCliqueSet target with the same scheduler and gang resources, or this target if there is none.
    #[must_use]
    pub fn as_pod_clique_set_target(self) -> Self {
        match self.workload() {
            Workload::PodCliqueSets => self,
            Workload::TrainJobs | Workload::PlainPods => {
                TARGETS.into_iter().find(|other| other.scheduler() == self.scheduler()).unwrap_or(self)
            }
        }
    }

    /// Whether the target is an external scheduler that the user has named.
    pub fn is_named_by_its_user(self) -> bool {
        self.external().is_some_and(|profile| profile.runs)
    }

    /// The target's name in the names of files and clusters.
    pub fn slug(self) -> String {
        match self.scope() {
            Some(scope) => format!("{}-{}", self.name(), scope.to_ascii_lowercase()),
            // Replace the colon, because some file systems and CI artifact uploads reject it.
            None => self.name().replace(':', "-"),
        }
    }

    /// The command-line options that select the target.
    pub fn options(self) -> String {
        let mut options = format!("--backend {}", self.name());
        if let Some(scope) = self.scope() {
            options.push_str(&format!(" --scope {scope}"));
        }
        let declared = self.features().iter().filter(|feature| !ALWAYS.contains(feature));
        let declared: Vec<String> = declared.map(ToString::to_string).collect();
        if self.is_named_by_its_user() && !declared.is_empty() {
            options.push_str(&format!(" --set target.features={}", declared.join(",")));
        }
        options
    }

    /// The features that the operator declares or, without a declaration, those of the suite's description.
    pub const fn features(self) -> &'static [Feature] {
        match self.declaration {
            Some(declaration) => declaration.features.as_slice(),
            None => self.description.features,
        }
    }

    /// Whether the target has a feature.
    pub fn declares(self, feature: Feature) -> bool {
        self.features().contains(&feature)
    }

    pub(crate) fn is_described_with(self, feature: Feature) -> bool {
        !self.is_named_by_its_user() && self.description.features.contains(&feature)
    }

    pub(crate) const fn properties(self) -> &'static [Property] {
        self.description.properties
    }

    /// Whether a clause applies to the target. To an External profile without a scheduler, only the clauses
    /// about External apply; with one, also the clauses that can be checked without gang resources.
    pub fn is_subject_to(self, clause: &Clause) -> bool {
        let is_checkable = match self.external() {
            None => true,
            Some(profile) if profile.runs => {
                clause.applies_to_external
                    && (!clause.needs_topology || self.declares(Feature::TopologyRequired))
            }
            Some(_) => clause.backend().is_some(),
        };
        clause.workload() == self.workload()
            && is_checkable
            && (clause.not_in_scope.is_none() || clause.not_in_scope != self.scope())
            && clause.applies_to_backend(self.name())
            && (clause.only_on.is_empty() || clause.only_on.contains(&self.scheduler().name()))
            && !clause.not_on.contains(&self.scheduler().name())
    }

    /// Whether the clause applies, its features are declared, and the operator creates the resources for it.
    pub fn owes(self, clause: &Clause) -> bool {
        self.is_subject_to(clause)
            && self.undeclared(clause).is_none()
            && !self.leaves_to_another_program(clause)
    }

    /// Returns an undeclared feature of a clause or of its cases, which makes the clause unsupported.
    pub fn undeclared(self, clause: &Clause) -> Option<Feature> {
        if let Some(feature) = clause.feature.filter(|feature| !self.declares(*feature)) {
            return Some(feature);
        }
        let needed_by_cases = clause.needs_topology.then_some(Feature::TopologyRequired);
        needed_by_cases.filter(|feature| self.lacks_by_declaration(*feature))
    }

    /// Whether the API server alone decides a clause, without the scheduler.
    pub fn is_contract(clause: &Clause) -> bool {
        clause.tier == Tier::Contract
    }

    /// Returns why a feature is not declared, for reports.
    pub fn why_not(self, feature: Feature) -> Cow<'static, str> {
        if let Some(declaration) = self.declaration.filter(|_| self.lacks_by_declaration(feature)) {
            return declaration.why_not(feature, self);
        }
        if let Some(profile) = self.external() {
            return why_not_of_an_external_profile(profile, feature).into();
        }
        let own = self.description.why_not.iter().find(|(not_declared, _)| *not_declared == feature);
        own.map_or(feature.why_not(), |(_, reason)| *reason).into()
    }

    fn key(self) -> (&'static str, &'static str, &'static [Feature]) {
        (self.description.id, self.description.name, self.description.features)
    }

    /// The position in a report. Schedulers that a user has named come last.
    fn position(self) -> usize {
        every().position(|other| other.description.id == self.description.id).unwrap_or(usize::MAX)
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Target {}

impl Hash for Target {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for Target {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Target {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.position(), self.key()).cmp(&(other.position(), other.key()))
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.scope() {
            Some(scope) => write!(f, "{} ({scope} scope)", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clauses::CLAUSES;

    #[test]
    fn only_an_external_profile_must_satisfy_the_ext_clauses() {
        let owed =
            |target: Target| CLAUSES.iter().filter(move |clause| target.owes(clause)).map(|clause| clause.id);
        assert_eq!(owed(Target::EXTERNAL).collect::<Vec<_>>(), ["EXT-01", "EXT-02", "EXT-04", "EXT-05"]);
        let others = TARGETS.into_iter().filter(|target| *target != Target::EXTERNAL);
        assert!(others.flat_map(owed).all(|id| !id.starts_with("EXT-")));
    }

    #[test]
    fn ids_and_options_of_targets_do_not_change() {
        let published = [
            ("default-scheduler-podgroup", "--backend default-scheduler --scope PodGroup"),
            ("default-scheduler-podgang", "--backend default-scheduler --scope PodGang"),
            ("default-scheduler-tree", "--backend default-scheduler --scope Tree"),
            ("volcano", "--backend volcano"),
            ("koord-scheduler", "--backend koord-scheduler"),
            ("kai-scheduler", "--backend kai-scheduler"),
            ("external", "--backend external"),
        ];
        for (id, options) in published {
            let target = serde_json::from_value::<Target>(id.into()).unwrap();
            assert_eq!(target.options(), options);
        }
        for target in TARGETS {
            assert_eq!(serde_json::to_value(target).unwrap(), target.slug());
        }
        for target in every() {
            let serialized = serde_json::to_value(target).unwrap();
            assert_eq!(serde_json::from_value::<Target>(serialized).unwrap(), target);
        }
        let unknown = serde_json::from_value::<Target>("yunikorn".into()).unwrap_err();
        assert_eq!(unknown.to_string(), "unknown target \"yunikorn\"");
    }

    #[test]
    fn targets_are_tested_on_the_kubernetes_versions_that_serve_their_kinds() {
        for target in TARGETS {
            assert!(target.is_on(target.kubernetes()), "{target}");
        }
        let on = |target: Target| Kubernetes::ALL.map(|version| target.is_on(version));
        assert_eq!(on(Target::KUBE_TREE), Kubernetes::ALL.map(Kubernetes::has_trees));
        assert_eq!(on(Target::KUBE_POD_GANG), Kubernetes::ALL.map(|version| !version.has_trees()));
        assert_eq!(on(Target::VOLCANO), Kubernetes::ALL.map(|_| true));
    }

    #[rstest::rstest]
    #[case(
        Target::KUBE_POD_GROUP,
        Feature::External,
        "the scheduler reads its own gang resources, not PodGangs"
    )]
    #[case(
        Target::KUBE_POD_GROUP,
        Feature::CompositePodGroup,
        "Kubernetes serves CompositePodGroup since version 1.37"
    )]
    #[case(Target::VOLCANO, Feature::CompositePodGroup, "the scheduler has its own gang resources instead")]
    #[case(Target::EXTERNAL, Feature::Metrics, "no scheduler serves the profile, so no pod is bound")]
    #[case(Target::EXTERNAL, Feature::CompositePodGroup, "the backend creates no gang resources")]
    fn a_reason_is_the_targets_own_or_the_features(
        #[case] target: Target,
        #[case] feature: Feature,
        #[case] reason: &str,
    ) {
        assert_eq!(target.why_not(feature), reason);
    }

    #[test]
    fn clauses_of_gates_and_scopes_of_clauses_exist() {
        let shown_by = TARGETS.into_iter().flat_map(|target| target.gates()).map(|(_, clause)| *clause);
        for id in shown_by {
            assert!(CLAUSES.iter().any(|clause| clause.id == id), "{id}");
        }
        for scope in CLAUSES.iter().filter_map(|clause| clause.not_in_scope) {
            assert!(TARGETS.into_iter().any(|target| target.scope() == Some(scope)), "{scope}");
        }
    }
}
