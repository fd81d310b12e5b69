//! The document: `apiVersion: conformance.grove.io/v1alpha2`, `kind: ConformanceReport`.
//!
//! Plain data, ordered as it is read: who was tested and with what, then one entry per target. A
//! target's `cases` are what the runner observed; its `clauses` and `summary` follow from them (see
//! `conclude`) and are stored so that a reader needs no program. Durations are seconds with milliseconds,
//! times RFC 3339 in UTC. Fields are only ever added within one apiVersion; readers ignore unknown ones.

use std::collections::BTreeMap;

use conformance_contract::clauses::{Class, Feature, Level, Tier};
use conformance_contract::verdict::Outcome;
use conformance_contract::violation::Violation;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FeatureEvidence, PeakMemory, Probed, ProcessorSeconds, Seconds, Summary};

/// The `apiVersion` this program writes.
pub const API_VERSION: &str = "conformance.grove.io/v1alpha2";
/// The `kind` this program writes and reads.
pub const KIND: &str = "ConformanceReport";

/// One run of the suite against one operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Always `conformance.grove.io/v1alpha2`.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `ConformanceReport`.
    #[schemars(extend("const" = KIND))]
    pub kind: String,
    /// When the run ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub date: Timestamp,
    /// The suite that judged.
    pub suite: Suite,
    /// The command line of the run, quoted for a shell.
    pub command: String,
    /// Whether the run ended before all its cases did; its exit code is 3 then, whatever the others found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Why, of a run that is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete_reason: Option<String>,
    /// The operator under test.
    pub operator: Implementation,
    /// Where the cluster came from.
    pub provider: Provider,
    /// The other clusters, in a report of runs with several providers or on several versions of Kubernetes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_providers: Vec<Provider>,
    /// The programs the run started, in the order of their start.
    pub components: Vec<Component>,
    /// What changes how fast a run is and how long it waits.
    pub settings: Settings,
    /// One entry per target.
    pub targets: Vec<TargetReport>,
    /// What the run took.
    pub timings: Timings,
}

impl Report {
    /// The same, of a run that ended before all its cases did.
    #[must_use]
    pub fn incomplete(self, reason: impl Into<String>) -> Self {
        Self { incomplete: true, incomplete_reason: Some(reason.into()), ..self }
    }
}

/// The suite that judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suite {
    /// Version of this crate.
    pub version: String,
    /// Version of the contract by which it judges; none if the contract had no version yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// SHA-256 of the program that judged, as `sha256:` and 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The operator under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// Its name, such as `grove-backend-controller`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Who makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// Where it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The commit of its source, where git knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The description by which it was built and started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<ImplementationFile>,
    /// What it declares, if that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declaration: Option<ImplementationFile>,
    /// Whether it might do everything in its cluster, so that what its own roles lack was not found out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cluster_admin: bool,
    /// Whether it is the reference operator of this project, whose results never count as Grove's.
    pub reference: bool,
}

/// A file about an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImplementationFile {
    /// Which release of the operator it was taken to be, as the file calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// SHA-256 of the file, as `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

/// Where the cluster came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// `local`, `kind` or `existing`.
    pub name: String,
    /// The API server's version, such as `v1.36.4`.
    pub kubernetes_version: String,
    /// Feature gates that were set, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
}

/// A program the run started, or installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Its name, such as `kube-scheduler`.
    pub name: String,
    /// The version it reports.
    pub version: String,
    /// How the run got it.
    pub source: ComponentSource,
    /// Of one that came by a chart: the chart's name and version, and where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// SHA-256 of the binary, or of the objects that a chart made, as `sha256:` and 64 hexadecimal digits.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
}

/// How the run got a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ComponentSource {
    /// Built from the Go module pinned in `components/`.
    Built,
    /// A binary given by path.
    Path,
    /// Installed by its Helm chart.
    Helm,
}

/// What changes how fast a run is and how long it waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Factor on every named wait; 1 is the default.
    pub timeout_scale: f64,
    /// Cases that ran at once at most.
    pub concurrency: usize,
    /// Whether a broken recommendation counts like a broken requirement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// What drew the crash points, and the gang scope of lifecycle clauses; of a merged report only if all parts had the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Where the run's time went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// Building components; near 0 when all were cached.
    pub build_seconds: Seconds,
    /// From the first process to a cluster that takes workloads.
    pub cluster_ready_seconds: Seconds,
    /// The whole run.
    pub total_seconds: Seconds,
    /// Processor seconds of the suite and of each program that it started, in user and kernel mode: on one machine these tell
    /// runs apart better than time does.
    #[serde(default, skip_serializing_if = "ProcessorSeconds::is_empty")]
    pub processor_seconds: ProcessorSeconds,
    /// The most memory that the suite and the programs that it started had to themselves.
    #[serde(default, skip_serializing_if = "PeakMemory::is_empty")]
    pub peak_memory: PeakMemory,
}

/// What was found about one target: a backend, in one gang scope where it has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetReport {
    /// The backend's name as pods carry it in `schedulerName`, after `external:` if its scheduler reads
    /// PodGangs itself.
    pub backend: String,
    /// How it was configured, where it has a choice, such as `PodGang scope`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Version of the scheduler.
    pub version: String,
    /// What it declares.
    pub features: Features,
    /// Counts over `clauses`.
    pub summary: Summary,
    /// One entry per clause of the contract that speaks about the backend, in the contract's order.
    pub clauses: Vec<ClauseResult>,
    /// One entry per case, in the order of the suite.
    pub cases: Vec<CaseResult>,
}

/// What an operator declares of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Features {
    /// Features it declares, so that their clauses are judged.
    pub supported: Vec<Feature>,
    /// All others, with the reason.
    pub unsupported: Vec<UnsupportedFeature>,
    /// What the API cannot show and was therefore taken from the declaration, such as the scheduler's own
    /// feature gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<String>,
    /// The configuration of the backend's scheduler profile under which an operator declares them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub configuration: Map<String, Value>,
    /// What became of each feature that is declared, and of those that were shown without being declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<FeatureEvidence>,
}

/// A feature a backend does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnsupportedFeature {
    /// The feature.
    pub name: Feature,
    /// Why the backend does not have it.
    pub reason: String,
}

/// What became of one clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClauseResult {
    /// The clause, such as `AON-02`.
    pub id: String,
    /// What it is about, in a few words; empty if this program does not know the clause.
    pub title: String,
    /// The promise.
    pub requirement: String,
    /// What a breach weighs.
    pub level: Level,
    /// The feature of those who owe it; none if everybody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
    /// What it is judged on.
    pub judged_on: Tier,
    /// What its verdict depends on.
    pub class: Class,
    /// Who promised it; empty for a recommended clause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The verdict over all cases, with its reason.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The cases that judge it: their ids, each with its provider if the report has several, such as `aon/fits on kind`.
    pub cases: Vec<String>,
    /// Sum over those cases. A case that judges several clauses counts in each.
    pub duration_seconds: Seconds,
    /// What broke it, over all cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// Command that runs the deciding case again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// Folder of the deciding case, relative to the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<String>,
}

/// What one case saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseResult {
    /// Group and name, such as `aon/one-pod-short`.
    pub id: String,
    /// The provider with which it ran, in a report of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What it does, in one line.
    pub title: String,
    /// What it found about each clause it names.
    pub clauses: Vec<Judgement>,
    /// What it found of clauses that are not owed, in a run that probed for undeclared features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<Probed>,
    /// The verdict over those clauses, with its reason.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// From its first object to its last judgement, all attempts.
    pub duration_seconds: Seconds,
    /// Part of the duration that is not about the workload: namespace, nodes, collection, cleanup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_seconds: Option<Seconds>,
    /// From a pending gang's visibility to the proof that nothing happens to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_verdict_seconds: Option<Seconds>,
    /// How often it ran; 0 if not run.
    pub attempts: u32,
    /// Command that runs it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// Its folder, relative to the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<String>,
    /// Writes during a rest that do not count against it, because their writer is known to make them of its own accord
    /// (GANG-11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excepted_writes: Vec<ExceptedWrites>,
    /// What it measured beside what it judges, by name: of `run --scale`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub figures: Map<String, Value>,
}

/// Writes of one writer to one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExceptedWrites {
    /// Its field manager, or the source of its event.
    pub writer: String,
    /// Kind and name.
    pub object: String,
    /// How many.
    pub count: usize,
}

/// What one case found about one clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The clause's id.
    pub clause: String,
    /// What was found.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What broke it, until [`TargetReport::conclude`] moves it to the clause's result.
    #[serde(skip)]
    pub violations: Vec<Violation>,
}
