//! Converts a report of `apiVersion: conformance.grove.io/v1alpha1` to v1alpha2. Fields that do not match
//! v1alpha1 stay unchanged, so that the reader of v1alpha2 reports them.

use conformance_contract::clauses;
use serde_json::{Map, Value};

pub(super) const API_VERSION: &str = "conformance.grove.io/v1alpha1";

/// The source of recommended clauses in v1alpha1.
const OWN: &str = "OWN";

const UNKNOWN: &str = "unknown";

type Fields = Map<String, Value>;

pub(super) fn converted(mut document: Value) -> Value {
    let Some(report) = document.as_object_mut() else { return document };
    report.insert("apiVersion".to_owned(), super::API_VERSION.into());
    rename(report, "implementation", "operator");
    rename(report, "profiles", "targets");
    if let Some(operator) = report.get_mut("operator").and_then(Value::as_object_mut) {
        rename(operator, "ours", "reference");
    }
    for target in list(report, "targets") {
        if let Some(summary) = target.get_mut("summary").and_then(Value::as_object_mut) {
            rename(summary, "upstream", "required");
            rename(summary, "own", "recommended");
        }
        list(target, "clauses").for_each(convert_clause);
        for case in list(target, "cases") {
            convert_reason(case);
            list(case, "clauses").for_each(convert_reason);
        }
    }
    document
}

fn convert_clause(clause: &mut Fields) {
    convert_reason(clause);
    rename(clause, "tier", "judgedOn");
    rename(clause, "text", "requirement");
    let id = text(clause, "id").to_owned();
    let title = clauses::clause(&id).map_or("", |known| known.title);
    clause.insert("title".to_owned(), title.into());
    if let Some(feature) = text(clause, "level").strip_prefix("ext:").map(Value::from) {
        clause.insert("feature".to_owned(), feature);
    }
    let (level, sources): (_, Vec<&str>) = match text(clause, "source") {
        OWN => ("recommended", Vec::new()),
        source => ("required", source.split(", ").collect()),
    };
    let sources = Value::from(sources);
    clause.insert("level".to_owned(), level.into());
    clause.insert("sources".to_owned(), sources);
    for violation in list(clause, "violations") {
        let word = violation.get("code").and_then(Value::as_str).unwrap_or(UNKNOWN);
        let code = format!("{id}/{word}");
        violation.insert("code".to_owned(), code.into());
    }
}

/// v1alpha1 has one reason, v1alpha2 a list.
fn convert_reason(outcome: &mut Fields) {
    if let Some(reason) = outcome.remove("reason") {
        outcome.entry("reasons").or_insert_with(|| vec![reason].into());
    }
}

fn rename(fields: &mut Fields, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(fields: &'a mut Fields, name: &str) -> impl Iterator<Item = &'a mut Fields> + use<'a> {
    let all = fields.get_mut(name).and_then(Value::as_array_mut);
    all.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::{Feature, Level};

    use super::*;
    use crate::{Outcome, Report, read, verify};

    const REPORT: &str = r#"
apiVersion: conformance.grove.io/v1alpha1
kind: ConformanceReport
date: 2026-06-01T10:00:42Z
suite: {version: 0.1.0}
command: grove-conformance run --backend volcano
implementation: {name: grove-backend-controller, version: 0.1.0, ours: true}
provider: {name: local, kubernetesVersion: v1.36.4}
components: []
settings: {timeoutScale: 1, concurrency: 4}
profiles:
- backend: volcano
  version: v1.14.1
  features: {supported: [GangScheduling], unsupported: []}
  summary:
    core: &fail {pass: 0, fail: 1, knownDeviation: 0, unsupported: 0, notRun: 0, error: 0, flaky: 0}
    extended: &none {pass: 0, fail: 0, knownDeviation: 0, unsupported: 0, notRun: 0, error: 0, flaky: 0}
    upstream: *fail
    own: &pass {pass: 1, fail: 0, knownDeviation: 0, unsupported: 0, notRun: 0, error: 0, flaky: 0}
    agnostic: *pass
    sensitive: *fail
    capabilityBound: *none
    backendSpecific: *none
  clauses:
  - id: AON-02
    tier: scheduling
    level: ext:GangScheduling
    class: sensitive
    source: grove:README.md#L40, KEP-4671
    text: No gang is bound in part.
    verdict: fail
    reason: 2 of 5 pods are bound
    cases: [aon/one-pod-short]
    durationSeconds: 4.321
    violations:
    - {case: aon/one-pod-short, message: 2 of 5 pods are bound, proof: []}
  - id: XYZ-01
    tier: contract
    level: core
    class: agnostic
    source: OWN
    text: A clause that this program does not know.
    verdict: pass
    cases: [aon/one-pod-short]
    durationSeconds: 4.321
  cases:
  - id: aon/one-pod-short
    title: 5 pods, 4 nodes
    clauses:
    - {clause: AON-02, verdict: fail, reason: 2 of 5 pods are bound}
    - {clause: XYZ-01, verdict: pass}
    verdict: fail
    reason: 2 of 5 pods are bound
    durationSeconds: 4.321
    attempts: 1
timings: {buildSeconds: 1, clusterReadySeconds: 3.4, totalSeconds: 41.25}
"#;

    fn stored(text: &str) -> Result<Report, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.yaml");
        std::fs::write(&file, text).unwrap();
        read(&file).map_err(|error| error.to_string())
    }

    #[test]
    fn a_report_of_v1alpha1_is_converted() {
        let report = stored(REPORT).unwrap();
        assert_eq!(report.api_version, crate::API_VERSION);
        assert_eq!((report.operator.reference, report.suite.contract.as_deref()), (true, None));
        let [required, recommended] = report.targets[0].clauses.as_slice() else { panic!("{report:?}") };
        assert_eq!((required.level, required.feature), (Level::Required, Some(Feature::GangScheduling)));
        assert_eq!(required.sources, ["grove:README.md#L40", "KEP-4671"]);
        assert_eq!(required.title, clauses::clause("AON-02").unwrap().title);
        assert_eq!(required.requirement, "No gang is bound in part.");
        assert_eq!(required.outcome, Outcome::fail("2 of 5 pods are bound"));
        assert_eq!(required.violations[0].code.as_str(), "AON-02/unknown");
        assert_eq!((recommended.level, recommended.feature), (Level::Recommended, None));
        assert_eq!((recommended.title.as_str(), recommended.sources.len()), ("", 0));
        assert_eq!(verify(&report), Ok(()));
    }

    #[test]
    fn a_code_is_prefixed_with_its_clause() {
        let report = stored(&REPORT.replace("message: 2", "code: bound-in-part, message: 2")).unwrap();
        assert_eq!(report.targets[0].clauses[0].violations[0].code.as_str(), "AON-02/bound-in-part");
    }

    #[test]
    fn an_invalid_value_is_named() {
        let error = stored(&REPORT.replace("tier: contract", "tier: magic")).unwrap_err();
        assert!(error.contains("report.yaml: ") && error.contains("unknown variant `magic`"), "{error}");
    }
}
