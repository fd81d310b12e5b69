//! The document: `apiVersion: conformance.grove.io/v1alpha2`, `kind: ConformanceReport`.
//!
//! Plain data in reading order: what was tested, then one entry per target. The runner observes the `cases`
//! of a target. Its `clauses` and `summary` follow from them (see `conclude`) and are stored so that a reader
//! needs no program. Durations are seconds with milliseconds, times RFC 3339 in UTC. Within one apiVersion,
//! fields are only added; readers ignore unknown ones.

use std::collections::BTreeMap;

use conformance_contract::clauses::{Class, Feature, Level, Tier};
use conformance_contract::verdict::Outcome;
use conformance_contract::violation::Violation;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CriticalPath, FeatureEvidence, PeakMemory, Probed, ProcessorSeconds, Seconds, Summary};

/// The `apiVersion` that this program writes.
pub const API_VERSION: &str = "conformance.grove.io/v1alpha2";
/// The `kind` that this program writes and reads.
pub const KIND: &str = "ConformanceReport";

/// A run of the suite against one operator.
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
    /// The suite of the run.
    pub suite: Suite,
    /// The command line of the run, quoted for a shell.
    pub command: String,
    /// Whether the run ended before all its cases did. Its exit code is then 3, regardless of the results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Why the run is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete_reason: Option<String>,
    /// The operator under test.
    pub operator: Implementation,
    /// Where the cluster came from.
    pub provider: Provider,
    /// The other clusters of a merged report, with other providers or versions of Kubernetes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_providers: Vec<Provider>,
    /// The programs that the run started, in the order of their start.
    pub components: Vec<Component>,
    /// Settings that affect the speed and the timeouts of the run.
    pub settings: Settings,
    /// One entry per target.
    pub targets: Vec<TargetReport>,
    /// Times and resources that the run used.
    pub timings: Timings,
}

impl Report {
    /// Marks the report as one of a run that ended before all its cases did.
    #[must_use]
    pub fn incomplete(self, reason: impl Into<String>) -> Self {
        Self { incomplete: true, incomplete_reason: Some(reason.into()), ..self }
    }
}

/// The suite of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suite {
    /// Version of the suite.
    pub version: String,
    /// Version of the contract. Missing if the contract had no version yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// SHA-256 of the suite's program, as `sha256:` and 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The operator under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// Name of the operator, such as `grove-backend-controller`.
    pub name: String,
    /// Version of the operator.
    pub version: String,
    /// The organization that develops the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// Address of the operator's project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Git commit of the operator's source, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The description from which the operator was built and started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<ImplementationFile>,
    /// The declaration of the operator, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declaration: Option<ImplementationFile>,
    /// Whether the operator ran as cluster-admin, so that the run could not detect permissions missing in its
    /// own roles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cluster_admin: bool,
    /// Whether this is the reference operator of this project. Its results never count as Grove's.
    pub reference: bool,
}

/// A file about an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImplementationFile {
    /// The selected release of the operator, as named in the file.
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
    /// Version of the API server, such as `v1.36.4`.
    pub kubernetes_version: String,
    /// Feature gates that were set, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
}

/// A program that the run started or installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Name of the program, such as `kube-scheduler`.
    pub name: String,
    /// Version that the program reports.
    pub version: String,
    /// How the run got the program.
    pub source: ComponentSource,
    /// Name, version and source of the Helm chart that installed the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// SHA-256 of the binary, or of the objects of the chart, as `sha256:` and 64 hexadecimal digits.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
}

/// How the run got a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ComponentSource {
    /// Built from the Go module pinned in `components/`.
    Built,
    /// Built from another published version of the Go module.
    Version,
    /// A binary given by path.
    Path,
    /// Installed by its Helm chart.
    Helm,
}

/// Settings that affect the speed and the timeouts of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Factor on every named timeout. The default is 1.
    pub timeout_scale: f64,
    /// Maximum number of cases that ran at once.
    pub concurrency: usize,
    /// Whether a violated recommendation counts like a violated requirement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Seed for the crash points and the gang scope of lifecycle clauses. A merged report has one only if all
    /// its parts had the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Times and resources that the run used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// Time to build components. Near 0 if all were cached.
    pub build_seconds: Seconds,
    /// Time from the first process to a cluster that accepts workloads.
    pub cluster_ready_seconds: Seconds,
    /// Time of the whole run.
    pub total_seconds: Seconds,
    /// Processor seconds of the suite and of each program that it started, in user and kernel mode. On one
    /// machine they vary less between runs than elapsed time.
    #[serde(default, skip_serializing_if = "ProcessorSeconds::is_empty")]
    pub processor_seconds: ProcessorSeconds,
    /// Peak private memory of the suite and of the programs that it started.
    #[serde(default, skip_serializing_if = "PeakMemory::is_empty")]
    pub peak_memory: PeakMemory,
    /// The cases that determined how long the run took. A merged report has none.
    #[serde(default, skip_serializing_if = "CriticalPath::is_empty")]
    pub critical_path: CriticalPath,
}

/// The results of one target: a backend, in one gang scope if it has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetReport {
    /// The backend's name as pods have it in `schedulerName`, prefixed with `external:` if its scheduler
    /// reads PodGangs itself.
    pub backend: String,
    /// Configuration of the backend, if it has a choice, such as `PodGang scope`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Version of the scheduler.
    pub version: String,
    /// The configuration of the scheduler, if it is not the suite's: `stock` for the product's own defaults,
    /// or a file with its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_configuration: Option<String>,
    /// Features of the target.
    pub features: Features,
    /// Counts over `clauses`.
    pub summary: Summary,
    /// One entry per clause of the contract that applies to the backend, in the order of the contract.
    pub clauses: Vec<ClauseResult>,
    /// One entry per case, in the order of the suite.
    pub cases: Vec<CaseResult>,
}

/// The features that an operator declares for a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Features {
    /// Declared features, whose clauses are checked.
    pub supported: Vec<Feature>,
    /// All other features, with the reason.
    pub unsupported: Vec<UnsupportedFeature>,
    /// Values that the API does not show and that were taken from the declaration, such as the scheduler's
    /// feature gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<String>,
    /// The configuration of the backend's scheduler profile to which the declaration applies.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub configuration: Map<String, Value>,
    /// The result of each declared feature, and of undeclared features that were shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<FeatureEvidence>,
}

/// A feature that a backend does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnsupportedFeature {
    /// The feature.
    pub name: Feature,
    /// Why the backend does not have the feature.
    pub reason: String,
}

/// The result of one clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClauseResult {
    /// Id of the clause, such as `AON-02`.
    pub id: String,
    /// Title of the clause. Empty if this program does not know the clause.
    pub title: String,
    /// Text of the clause.
    pub requirement: String,
    /// Whether the clause is required or recommended.
    pub level: Level,
    /// The feature to which the clause belongs. Missing if the clause applies to all backends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
    /// The tier in which the clause is checked: contract or scheduling.
    pub judged_on: Tier,
    /// What the verdict of the clause depends on.
    pub class: Class,
    /// Sources of the requirement. Empty for a recommended clause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The verdict over all cases, with its reason.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Labels of the cases that check the clause: their ids, with the provider if the report has several,
    /// such as `aon/fits on kind`.
    pub cases: Vec<String>,
    /// Sum of the durations of these cases. A case that checks several clauses counts in each.
    pub duration_seconds: Seconds,
    /// Violations of the clause in all cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// Command that runs the deciding case again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// Folder of the deciding case, relative to the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<String>,
}

/// The results of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseResult {
    /// Group and name, such as `aon/one-pod-short`.
    pub id: String,
    /// The provider of the case's run, if the report has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Description of the case in one line.
    pub title: String,
    /// The judgement of each clause that the case names.
    pub clauses: Vec<Judgement>,
    /// Verdicts on clauses of undeclared features, in a run that probed for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<Probed>,
    /// The verdict over the case's clauses, with its reason.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Time from the first object to the last judgement, over all attempts.
    pub duration_seconds: Seconds,
    /// Part of the duration that was not spent on the workload: namespace, nodes, collection, cleanup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_seconds: Option<Seconds>,
    /// Time from the appearance of a pending gang to the proof that it is not scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_verdict_seconds: Option<Seconds>,
    /// Number of attempts. 0 if the case did not run.
    pub attempts: u32,
    /// Command that runs the case again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// Folder of the case, relative to the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<String>,
    /// Writes in an idle phase that GANG-11 does not count, because the writer is known to make them on its
    /// own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excepted_writes: Vec<ExceptedWrites>,
    /// Measurements by name, in a report of `load`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub figures: Map<String, Value>,
}

/// Writes of one writer to one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExceptedWrites {
    /// Field manager of the writer, or source of its event.
    pub writer: String,
    /// Kind and name of the object.
    pub object: String,
    /// Number of writes.
    pub count: usize,
}

/// The judgement of one case on one clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// Id of the clause.
    pub clause: String,
    /// The verdict, with its reason.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Violations, until [`TargetReport::conclude`] moves them to the clause's result.
    #[serde(skip)]
    pub violations: Vec<Violation>,
}
