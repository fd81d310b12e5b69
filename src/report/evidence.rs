//! The evidence file: the features that an operator declares, which of them a run showed, and all versions.
//! The file follows from a report, so anyone who has the report can check it.

use std::path::Path;

use conformance_contract::clauses::Feature;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::model::API_VERSION;
use super::{
    FeatureEvidence, HandEdited, Implementation, Provider, Report, StoreError, Suite, TargetReport, store,
    verify,
};

/// The `kind` of an evidence file.
pub const EVIDENCE: &str = "ConformanceEvidence";

/// The declared features of an operator and the result of each in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Always `conformance.grove.io/v1alpha2`.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `ConformanceEvidence`.
    #[schemars(extend("const" = EVIDENCE))]
    pub kind: String,
    /// When the run ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub date: Timestamp,
    /// The command line of the run.
    pub command: String,
    /// SHA-256 of the run's report as compact JSON, as `sha256:` and 64 hexadecimal digits. It is the same
    /// for report.yaml and report.json.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub report: String,
    /// Result of the run: `passed`, `not conformant` or `inconclusive`.
    pub outcome: String,
    /// The suite of the run.
    pub suite: Suite,
    /// The operator, with the digests of its description and its declaration.
    pub operator: Implementation,
    /// Where the cluster came from.
    pub provider: Provider,
    /// The programs of the run, including the operator and the schedulers.
    pub components: Vec<ProgramDigest>,
    /// One entry per target.
    pub targets: Vec<TargetEvidence>,
}

/// A program and its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramDigest {
    /// Name of the program.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Digest of the program as in the report.
    pub digest: String,
}

/// The declared features of one target and their results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetEvidence {
    /// Name of the backend as in the report.
    pub backend: String,
    /// Variant of the backend, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Version of the scheduler.
    pub scheduler_version: String,
    /// The target's result in one line.
    pub result: String,
    /// The declared features.
    pub declared: Vec<Feature>,
    /// The configuration of the backend's scheduler profile to which the declaration applies.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub configuration: Map<String, Value>,
    /// The result of each feature, with the deciding clauses and cases.
    pub features: Vec<FeatureEvidence>,
}

/// Why there is no valid evidence.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant")]
pub enum EvidenceError {
    #[error(
        "an incomplete report is not evidence ({0}): run the suite again, or merge the report with one that has the remaining cases"
    )]
    Incomplete(String),
    #[error(transparent)]
    HandEdited(#[from] HandEdited),
    #[error("the evidence does not follow from this report: {} differ; write it again with `report evidence REPORT`", .0.join(", "))]
    Differs(Vec<String>),
    #[error(transparent)]
    File(#[from] StoreError),
}

impl Evidence {
    /// The evidence in a report, which must be complete and unedited.
    pub fn of(report: &Report) -> Result<Self, EvidenceError> {
        if let Some(reason) = report.incompleteness() {
            return Err(EvidenceError::Incomplete(reason));
        }
        verify(report)?;
        Ok(Self {
            api_version: API_VERSION.into(),
            kind: EVIDENCE.into(),
            date: report.date,
            command: report.command.clone(),
            report: digest(report)?,
            outcome: report.exit().to_string(),
            suite: report.suite.clone(),
            operator: report.operator.clone(),
            provider: report.provider.clone(),
            components: report
                .components
                .iter()
                .map(|component| ProgramDigest {
                    name: component.name.clone(),
                    version: component.version.clone(),
                    digest: component.digest.clone(),
                })
                .collect(),
            targets: report
                .targets
                .iter()
                .map(|target| TargetEvidence::of(target, &report.providers()))
                .collect(),
        })
    }

    /// Checks that the evidence is exactly what the report gives.
    pub fn verify(&self, report: &Report) -> Result<(), EvidenceError> {
        let wanted = Self::of(report)?;
        if *self == wanted {
            return Ok(());
        }
        let [own, wanted] =
            [self, &wanted].map(|evidence| serde_json::to_value(evidence).unwrap_or_default());
        let fields = wanted.as_object().into_iter().flatten();
        let differing = fields.filter(|(name, value)| own[name.as_str()] != **value);
        Err(EvidenceError::Differs(differing.map(|(name, _)| name.clone()).collect()))
    }
}

impl TargetEvidence {
    fn of(target: &TargetReport, providers: &[&Provider]) -> Self {
        Self {
            backend: target.backend.clone(),
            variant: target.variant.clone(),
            scheduler_version: target.version.clone(),
            result: target.headline(providers).to_string(),
            declared: target.features.supported.clone(),
            configuration: target.features.configuration.clone(),
            features: target.evidence(),
        }
    }
}

/// Returns the SHA-256 of the document as compact JSON.
pub(super) fn digest(document: &impl Serialize) -> Result<String, StoreError> {
    let text = serde_json::to_vec(document)
        .map_err(|error| StoreError::Render { file: "report.json", message: error.to_string() })?;
    let digits: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{digits}"))
}

/// Writes the evidence as JSON to a `.json` file, otherwise as YAML.
pub fn write_evidence(path: &Path, report: &Report) -> Result<(), EvidenceError> {
    Ok(store::write_document(path, &Evidence::of(report)?)?)
}

/// Reads an evidence file.
pub fn read_evidence(path: &Path) -> Result<Evidence, StoreError> {
    store::read_document(path, EVIDENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn evidence_lists_declared_and_shown_features() {
        let report = fixture::report();
        let evidence = Evidence::of(&report).unwrap();
        let _redacted = fixture::redacted();
        insta::assert_yaml_snapshot!(evidence, {".report" => "[digest]"});
        assert_eq!(Evidence::of(&report).unwrap(), evidence, "of one report always the same");
    }

    #[test]
    fn stored_evidence_verifies_only_against_its_report() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = fixture::report();
        for name in ["evidence.yaml", "evidence.json"] {
            let path = folder.path().join(name);
            write_evidence(&path, &report).unwrap();
            read_evidence(&path).unwrap().verify(&report).unwrap();
        }
        // Both files of the report give the same digest.
        crate::write_all(folder.path(), &report).unwrap();
        let path = folder.path().join("evidence.json");
        for name in ["report.yaml", "report.json"] {
            read_evidence(&path).unwrap().verify(&crate::read(&folder.path().join(name)).unwrap()).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("declaredAndShown", "shownAndNotDeclared")).unwrap();
        let error = read_evidence(&path).unwrap().verify(&report).unwrap_err().to_string();
        assert!(error.contains("targets differ"), "{error}");
        report.command = "another".to_owned();
        let error = Evidence::of(&fixture::report()).unwrap().verify(&report).unwrap_err().to_string();
        assert!(error.contains("command, report differ"), "{error}");
        let error = read_evidence(&folder.path().join("report.json")).unwrap_err().to_string();
        assert!(error.contains("ConformanceReport"), "{error}");
    }

    #[test]
    fn an_incomplete_or_edited_report_is_no_evidence() {
        let error = Evidence::of(&fixture::interrupted()).unwrap_err().to_string();
        assert!(error.contains("an incomplete report is not evidence"), "{error}");
        let mut report = fixture::report();
        report.targets[0].clauses.clear();
        assert!(matches!(Evidence::of(&report), Err(EvidenceError::HandEdited(_))));
    }
}
