//! What is tested: a backend in one of its mappings, with its declared features. A column of the report.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::backend_declaration::BackendDeclaration;
use super::clauses::{Clause, Feature, Tier, Workload};
use super::external_scheduler::{ALWAYS, Declared, ExternalProfile, NotExternal};
pub use crate::columns::{AI_CONFORMANCE_TARGETS, KUBE, TARGETS, TRAIN_JOB_TARGETS};
use crate::kubernetes::Kubernetes;
use crate::scheduler::Scheduler;

/// The data of a target, which is a column of the report. The targets of a scheduler are in its file in
/// `columns/`.
#[derive(Debug)]
pub struct Column {
    /// The name in histories. It never changes.
    pub(crate) id: &'static str,
    /// The scheduler of the harness's cluster. A column for an External profile uses kube-scheduler, which
    /// every cluster has.
    pub(crate) scheduler: Scheduler,
    /// The schedulerName of the backend.
    pub(crate) backend: &'static str,
    /// The backend in reports and on the command line: its schedulerName, prefixed with or replaced by
    /// `external` for a profile of that type.
    pub(crate) name: &'static str,
    /// The value of kube-scheduler's gang-scope annotation; the other backends have one mapping only.
    pub(crate) scope: Option<&'static str>,
    /// Whether it is for the Kubernetes versions that serve CompositePodGroup, or for the others; `None` for
    /// a scheduler that is not part of Kubernetes.
    pub(crate) trees: Option<bool>,
    /// The declared features of the backend.
    pub(crate) features: &'static [Feature],
    /// For each other feature, why it is not declared.
    pub(crate) why_not: &'static [(Feature, &'static str)],
    /// Feature gates of the scheduler, which the API does not show, each with the clause that shows it
    /// (KUBE-17).
    pub(crate) gates: &'static [(&'static str, &'static str)],
    /// How a report gets the scheduler's version.
    pub(crate) version: ReportedVersion,
    /// The profile, if it is of type External.
    pub(crate) external: Option<ExternalProfile>,
    /// The kind of workload it is about.
    pub(crate) workload: Workload,
}

/// How a report gets the version of a target's scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedVersion {
    /// The version of the program of that name, which the harness has built or was given.
    OfProgram(&'static str),
    /// A fixed text, because the harness does not run the scheduler.
    Always(&'static str),
}

/// A handle of a [`Column`], with the declaration of the operator under test, if given. Two handles of one
/// column are equal, regardless of declarations.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Target {
    column: &'static Column,
    declaration: Option<&'static BackendDeclaration>,
}

/// The form in histories.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    /// The column's id.
    Known(String),
    /// An external scheduler, with its user's declaration.
    External {
        #[serde(rename = "external-scheduler")]
        declared: Declared,
    },
    /// The column's id, with the declaration of the operator under test.
    Declared { column: String, declared: BackendDeclaration },
}

/// A history refers to an unknown target.
#[derive(Debug, thiserror::Error)]
enum UnknownTarget {
    #[error("unknown target {0:?}")]
    Id(String),
    #[error(transparent)]
    External(#[from] NotExternal),
}

impl From<Target> for Written {
    fn from(target: Target) -> Self {
        let id = || target.column.id.to_owned();
        match target.declaration {
            _ if target.is_named_by_its_user() => Self::External { declared: Declared::of(target) },
            Some(declared) => Self::Declared { column: id(), declared: declared.clone() },
            None => Self::Known(id()),
        }
    }
}

impl TryFrom<Written> for Target {
    type Error = UnknownTarget;

    fn try_from(written: Written) -> Result<Self, UnknownTarget> {
        let known = |id: String| every().find(|target| target.column.id == id).ok_or(UnknownTarget::Id(id));
        match written {
            Written::Known(id) => known(id),
            Written::Declared { column, declared } => Ok(known(column)?.declared_by(declared)),
            Written::External { declared } => Ok(declared.target()?),
        }
    }
}

/// The targets of every workload, in the order of a report.
pub fn every() -> impl Iterator<Item = Target> {
    TARGETS.into_iter().chain(TRAIN_JOB_TARGETS).chain(AI_CONFORMANCE_TARGETS)
}

impl Target {
    pub(crate) const fn of(column: &'static Column) -> Self {
        Self { column, declaration: None }
    }

    /// The target without the declaration of the operator under test.
    pub(crate) const fn of_the_suite(self) -> Self {
        Self::of(self.column)
    }

    pub(crate) const fn with_declaration(self, declaration: &'static BackendDeclaration) -> Self {
        Self { declaration: Some(declaration), ..self }
    }

    /// The declaration of the operator under test, if given.
    pub const fn declaration(self) -> Option<&'static BackendDeclaration> {
        self.declaration
    }

    /// The scheduler of the harness's cluster. A target for an External profile uses kube-scheduler, which
    /// every cluster has.
    pub const fn scheduler(self) -> Scheduler {
        self.column.scheduler
    }

    /// The schedulerName of the backend.
    pub const fn backend(self) -> &'static str {
        self.column.backend
    }

    /// The backend in reports and on the command line: its schedulerName, prefixed with or replaced by
    /// `external` for a profile of that type.
    pub const fn name(self) -> &'static str {
        self.column.name
    }

    /// The value of kube-scheduler's gang-scope annotation; the other backends have one mapping only.
    pub const fn scope(self) -> Option<&'static str> {
        self.column.scope
    }

    /// The oldest Kubernetes version on which it is tested.
    pub fn kubernetes(self) -> Kubernetes {
        Kubernetes::ALL.into_iter().find(|version| self.is_on(*version)).unwrap_or_default()
    }

    /// Whether it is tested on clusters of that version.
    pub fn is_on(self, kubernetes: Kubernetes) -> bool {
        self.column.trees.is_none_or(|trees| trees == kubernetes.has_trees())
    }

    /// Feature gates of the scheduler that are assumed until a clause shows them, each with that clause.
    pub const fn gates(self) -> &'static [(&'static str, &'static str)] {
        self.column.gates
    }

    /// How a report gets the scheduler's version.
    pub const fn version(self) -> ReportedVersion {
        self.column.version
    }

    /// The profile, if it is of type External.
    pub const fn external(self) -> Option<&'static ExternalProfile> {
        self.column.external.as_ref()
    }

    /// The kind of workload it is about.
    pub const fn workload(self) -> Workload {
        self.column.workload
    }

    /// The PodCliqueSet target with the same gang resources and canaries. For another workload, this is the
    /// first target of the same scheduler; or the target itself, if that scheduler schedules no
    /// PodCliqueSets.
    #[must_use]
    pub fn of_pod_clique_sets(self) -> Self {
        match self.workload() {
            Workload::PodCliqueSets => self,
            Workload::TrainJobs | Workload::PlainPods => {
                TARGETS.into_iter().find(|other| other.scheduler() == self.scheduler()).unwrap_or(self)
            }
        }
    }

    /// Whether it is an external scheduler that runs on the user's cluster, so that its declared features are
    /// tested.
    pub fn is_named_by_its_user(self) -> bool {
        self.external().is_some_and(|profile| profile.runs)
    }

    /// The form in file and cluster names.
    pub fn slug(self) -> String {
        match self.scope() {
            Some(scope) => format!("{}-{}", self.name(), scope.to_ascii_lowercase()),
            // Some file systems, and CI artifact uploads, do not accept a colon.
            None => self.name().replace(':', "-"),
        }
    }

    /// The command-line options that select it.
    pub fn words(self) -> String {
        let workload = match self.workload() {
            Workload::PodCliqueSets => "",
            Workload::TrainJobs => "--trainjob ",
            Workload::PlainPods => "--profile ai-conformance ",
        };
        let mut words = format!("{workload}--backend {}", self.name());
        if let Some(scope) = self.scope() {
            words.push_str(&format!(" --scope {scope}"));
        }
        let declared = self.features().iter().filter(|feature| !ALWAYS.contains(feature));
        let declared: Vec<String> = declared.map(ToString::to_string).collect();
        if self.is_named_by_its_user() && !declared.is_empty() {
            words.push_str(&format!(" --features {}", declared.join(",")));
        }
        words
    }

    /// The declared features: those of the operator under test if given, otherwise those of the column.
    pub const fn features(self) -> &'static [Feature] {
        match self.declaration {
            Some(declaration) => declaration.features.as_slice(),
            None => self.column.features,
        }
    }

    /// Whether it declares a feature.
    pub fn declares(self, feature: Feature) -> bool {
        self.features().contains(&feature)
    }

    /// Whether a clause applies to it. Clauses of another backend or gang scope do not. For an External
    /// profile, only that backend's own clauses apply; for a running external scheduler, those that can be
    /// checked without its gang resources.
    pub fn concerns(self, clause: &Clause) -> bool {
        let is_shown = match self.external() {
            None => true,
            Some(profile) if profile.runs => {
                clause.of_external && (!clause.needs_topology || self.declares(Feature::TopologyRequired))
            }
            Some(_) => clause.backend().is_some(),
        };
        let is_in_its_scope = clause.not_in_scope.is_none() || clause.not_in_scope != self.scope();
        let is_of_it = clause.workload() == self.workload();
        is_of_it
            && is_shown
            && is_in_its_scope
            && clause.is_owed_by(self.name())
            && (clause.only_on.is_empty() || clause.only_on.contains(&self.scheduler().name()))
    }

    /// Whether it is the other target, or a running external scheduler if the other is [`Self::EXTERNAL`].
    pub fn is_like(self, other: Self) -> bool {
        self == other || (self.is_named_by_its_user() && other == Self::EXTERNAL)
    }

    /// Whether this target must satisfy a clause: it applies, and is core or belongs to a declared feature.
    pub fn owes(self, clause: &Clause) -> bool {
        self.concerns(clause) && self.undeclared(clause).is_none()
    }

    /// The undeclared feature because of which a clause is skipped: the clause's own, or one that its cases
    /// need.
    pub fn undeclared(self, clause: &Clause) -> Option<Feature> {
        let of_topology = clause.needs_topology.then_some(Feature::TopologyRequired);
        let of_cases = of_topology.filter(|feature| self.lacks_by_declaration(*feature));
        clause.feature.filter(|feature| !self.declares(*feature)).or(of_cases)
    }

    /// Whether a clause can be decided on the API server alone, without the scheduler.
    pub fn is_contract(clause: &Clause) -> bool {
        clause.tier == Tier::Contract
    }

    /// Why a feature is not declared, for reports.
    pub fn why_not(self, feature: Feature) -> Cow<'static, str> {
        if let Some(declaration) = self.declaration.filter(|_| self.lacks_by_declaration(feature)) {
            return declaration.why_not(feature, self);
        }
        let mut its = self.column.why_not.iter().filter(|(not_declared, _)| *not_declared == feature);
        its.next().map_or("not declared", |(_, reason)| *reason).into()
    }

    /// Identity of the target.
    fn key(self) -> (&'static str, &'static str, &'static [Feature]) {
        (self.column.id, self.column.name, self.column.features)
    }

    /// The position in a report; external schedulers named by a user come last.
    fn place(self) -> usize {
        every().position(|other| other.column.id == self.column.id).unwrap_or(usize::MAX)
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
        (self.place(), self.key()).cmp(&(other.place(), other.key()))
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
    fn an_external_profile_owes_what_is_promised_of_such_profiles_and_nothing_else() {
        let owed =
            |target: Target| CLAUSES.iter().filter(move |clause| target.owes(clause)).map(|clause| clause.id);
        assert_eq!(owed(Target::EXTERNAL).collect::<Vec<_>>(), ["EXT-01", "EXT-02", "EXT-04", "EXT-05"]);
        let others = TARGETS.into_iter().filter(|target| *target != Target::EXTERNAL);
        assert!(others.flat_map(owed).all(|id| !id.starts_with("EXT-")));
    }

    #[test]
    fn columns_are_called_as_they_always_were() {
        let columns: Vec<_> = TARGETS
            .into_iter()
            .map(|target| (serde_json::to_value(target).unwrap(), target.slug(), target.words()))
            .collect();
        let wanted = [
            ("default-scheduler-podgroup", "--backend default-scheduler --scope PodGroup"),
            ("default-scheduler-podgang", "--backend default-scheduler --scope PodGang"),
            ("default-scheduler-tree", "--backend default-scheduler --scope Tree"),
            ("volcano", "--backend volcano"),
            ("koord-scheduler", "--backend koord-scheduler"),
            ("kai-scheduler", "--backend kai-scheduler"),
            ("external", "--backend external"),
        ];
        assert_eq!(columns, wanted.map(|(id, words)| (id.into(), id.into(), words.into())));
        for target in every() {
            let written = serde_json::to_value(target).unwrap();
            assert_eq!(serde_json::from_value::<Target>(written).unwrap(), target);
        }
        let unknown = serde_json::from_value::<Target>("yunikorn".into()).unwrap_err();
        assert_eq!(unknown.to_string(), "unknown target \"yunikorn\"");
    }

    #[test]
    fn columns_are_on_the_versions_that_serve_what_they_map_to() {
        for target in TARGETS {
            assert!(target.is_on(target.kubernetes()), "{target}");
        }
        let on = |target: Target| Kubernetes::ALL.map(|version| target.is_on(version));
        assert_eq!(on(Target::KUBE_TREE), Kubernetes::ALL.map(Kubernetes::has_trees));
        assert_eq!(on(Target::KUBE_POD_GANG), Kubernetes::ALL.map(|version| !version.has_trees()));
        assert_eq!(on(Target::VOLCANO), Kubernetes::ALL.map(|_| true));
    }

    #[test]
    fn what_is_not_declared_has_a_reason_and_what_is_declared_has_none() {
        for target in every() {
            for feature in Feature::ALL.into_iter().filter(|feature| feature.speaks_of(target.workload())) {
                let of = |reasons: &[(Feature, &str)]| reasons.iter().any(|(other, _)| *other == feature);
                let has_a_reason = of(target.column.why_not);
                assert_eq!(has_a_reason, !target.declares(feature), "{target}: {feature}");
            }
        }
    }

    #[test]
    fn what_columns_and_clauses_say_of_each_other_exists() {
        let shown_by = TARGETS.into_iter().flat_map(|target| target.gates()).map(|(_, clause)| *clause);
        for id in shown_by {
            assert!(CLAUSES.iter().any(|clause| clause.id == id), "{id}");
        }
        for scope in CLAUSES.iter().filter_map(|clause| clause.not_in_scope) {
            assert!(TARGETS.into_iter().any(|target| target.scope() == Some(scope)), "{scope}");
        }
    }
}
