//! The gang scheduling result in the format of the Kubernetes AI conformance program: the checklist of
//! <https://github.com/cncf/k8s-ai-conformance> with this one requirement. A platform shows one scheduler, so
//! there is one document per scheduler.
//!
//! The status reports what the run found and certifies nothing. Fields that only the vendor can fill in keep
//! the placeholders of the program's template, which its check rejects.

use std::path::{Path, PathBuf};

use conformance_contract::target::{AI_CONFORMANCE_TARGETS, Target};
use conformance_contract::verdict::Verdict;
use serde::Serialize;

use super::{Report, StoreError, TargetReport, store};

/// Prefix of the ids of the clauses that make up the requirement.
const GROUP: &str = "AIC-";

/// The program's names for a status. An empty status claims nothing, as in the template.
const IMPLEMENTED: &str = "Implemented";
const NOT_IMPLEMENTED: &str = "Not Implemented";
const NOTHING_CLAIMED: &str = "";

#[derive(Debug, Serialize)]
struct Checklist {
    metadata: Metadata,
    spec: Spec,
}

/// The platform. The vendor fills in everything but the Kubernetes version.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    kubernetes_version: String,
    platform_name: &'static str,
    platform_version: &'static str,
    vendor_name: &'static str,
    website_url: &'static str,
    documentation_url: &'static str,
    product_logo_url: &'static str,
    description: &'static str,
    contact_email_address: &'static str,
    #[serde(rename = "k8sConformanceUrl")]
    kubernetes_conformance_url: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    scheduling_orchestration: [Requirement; 1],
}

#[derive(Debug, Serialize)]
struct Requirement {
    id: &'static str,
    description: &'static str,
    level: &'static str,
    status: &'static str,
    evidence: [&'static str; 1],
    notes: String,
}

const DESCRIPTION: &str = "The platform must allow for the installation and successful operation of at least one gang \
    scheduling solution that ensures all-or-nothing scheduling for distributed AI workloads (e.g. Kueue, Volcano, etc.) To \
    be conformant, the vendor must demonstrate that their platform can successfully run at least one such solution.";

const METHOD: &str = " The watch history shows that no pod of a gang without room is bound until two canary gangs, one \
    after the other, have passed through the same scheduler. The proof does not rely on a wait of fixed length. A running \
    pod is one that is Ready. Whether workloads complete is not checked.";

const OWN_CONTROL_PLANE: &str = " The run created its control plane and simulated its nodes, so this result is about the \
    scheduler and not yet about a platform.";

const HEAD: &str = "\
# The gang scheduling result of one run of grove-conformance, in the format of the Kubernetes AI conformance checklist. Add
# the requirement to the checklist of your platform, with the report that it names, or fill in the metadata here.
";

/// Writes one checklist per target into a report's folder and returns the paths.
pub fn write_ai_conformance(folder: &Path, report: &Report) -> Result<Vec<PathBuf>, StoreError> {
    let is_known = |target: &&TargetReport| known(target).is_some();
    let write = |target: &TargetReport| {
        let file = "the checklist";
        let yaml = serde_yaml::to_string(&checklist(report, target))
            .map_err(|error| StoreError::Render { file, message: error.to_string() })?;
        let path = folder.join(format!("{}.yaml", target.backend));
        store::write_text(&path, &format!("{HEAD}{yaml}"))?;
        Ok(path)
    };
    report.targets.iter().filter(is_known).map(write).collect()
}

/// The target in the contract, if the contract defines it for plain pods.
fn known(target: &TargetReport) -> Option<Target> {
    AI_CONFORMANCE_TARGETS.into_iter().find(|known| known.name() == target.backend)
}

fn checklist(report: &Report, target: &TargetReport) -> Checklist {
    let minor = report.provider.kubernetes_version.rsplit_once('.').map_or("", |(minor, _)| minor);
    Checklist {
        metadata: Metadata {
            kubernetes_version: minor.into(),
            platform_name: "[Platform Name]",
            platform_version: "[Platform Version]",
            vendor_name: "[Vendor Name]",
            website_url: "[Website URL]",
            documentation_url: "[Documentation URL]",
            product_logo_url: "[Product Logo URL]",
            description: "[Description]",
            contact_email_address: "[Contact Email Address]",
            kubernetes_conformance_url: "[Kubernetes Conformance URL]",
        },
        spec: Spec {
            scheduling_orchestration: [Requirement {
                id: "gang_scheduling",
                description: DESCRIPTION,
                level: "MUST",
                status: status(report, target),
                // Relative to the checklist.
                evidence: ["report.yaml"],
                notes: notes(report, target),
            }],
        },
    }
}

fn verdicts(target: &TargetReport) -> impl Iterator<Item = (&str, Verdict)> {
    let clauses = target.clauses.iter().filter(|clause| clause.id.starts_with(GROUP));
    clauses.map(|clause| (clause.id.as_str(), clause.outcome.verdict))
}

/// `Implemented` if every clause passed. Known deviations and flaky clauses count as not implemented. Without
/// a verdict for every clause the status claims nothing.
fn status(report: &Report, target: &TargetReport) -> &'static str {
    let is_failure = |verdict| matches!(verdict, Verdict::Fail | Verdict::Flaky | Verdict::KnownDeviation);
    let all: Vec<_> = verdicts(target).map(|(_, verdict)| verdict).collect();
    if all.iter().any(|verdict| is_failure(*verdict)) {
        NOT_IMPLEMENTED
    } else if !all.is_empty() && !report.incomplete && all.iter().all(|verdict| *verdict == Verdict::Pass) {
        IMPLEMENTED
    } else {
        NOTHING_CLAIMED
    }
}

fn notes(report: &Report, target: &TargetReport) -> String {
    let verdicts_found: Vec<_> =
        verdicts(target).map(|(clause, verdict)| format!("{clause} {verdict}")).collect();
    let scheduler = known(target).map_or("", Target::backend);
    let mut why: Vec<_> = target.clauses.iter().flat_map(|clause| clause.outcome.reasons.clone()).collect();
    why.dedup();
    let mut notes = format!(
        "Result of one run of grove-conformance {} on {} ({scheduler} {}, Kubernetes {}, provider {}): {}.",
        report.suite.version,
        report.date.strftime("%Y-%m-%d"),
        target.version,
        report.provider.kubernetes_version,
        report.provider.name,
        verdicts_found.join(", "),
    );
    if !why.is_empty() {
        notes.push_str(&format!(" Reasons: {}.", why.join("; ")));
    }
    if verdicts(target).any(|(_, verdict)| verdict != Verdict::NotRun) {
        notes.push_str(METHOD);
    }
    if report.provider.name == "local" {
        notes.push_str(OWN_CONTROL_PLANE);
    }
    notes
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::CLAUSES;
    use conformance_contract::verdict::Outcome;
    use rstest::rstest;

    use super::*;
    use crate::{CaseResult, Features, Judgement, fixture, testing};

    fn target(outcomes: &[Outcome]) -> TargetReport {
        let target = Target::AI_CONFORMANCE_VOLCANO;
        let clauses = CLAUSES.iter().filter(|clause| target.is_subject_to(clause));
        let case = |(outcome, number): (&Outcome, u32)| {
            let clause = format!("AIC-{number:02}");
            let judgement = Judgement { clause, outcome: outcome.clone(), violations: Vec::new() };
            CaseResult::new(format!("aic/{number}"), "a gang", vec![judgement])
        };
        TargetReport::new(target.name(), None, "v1.14.1", Features::default())
            .conclude(clauses, outcomes.iter().zip(1..).map(case).collect())
    }

    #[rstest]
    #[case::all_pass(&[Outcome::pass(), Outcome::pass(), Outcome::pass(), Outcome::pass()], IMPLEMENTED)]
    #[case::one_fails(&[Outcome::pass(), Outcome::fail("half bound"), Outcome::pass()], NOT_IMPLEMENTED)]
    #[case::one_fails_one_undecided(&[Outcome::error("it ended"), Outcome::fail("half bound")], NOT_IMPLEMENTED)]
    #[case::one_is_flaky(
        &[Outcome::pass(), Outcome::of(Verdict::Flaky, vec!["attempt 2 passed".into()]), Outcome::pass()],
        NOT_IMPLEMENTED
    )]
    #[case::known(
        &[Outcome::pass(), Outcome::fail("").of_known_deviation("as ever", true), Outcome::pass()],
        NOT_IMPLEMENTED
    )]
    #[case::one_is_undecided(
        &[Outcome::pass(), Outcome::error("it ended"), Outcome::pass(), Outcome::pass()],
        NOTHING_CLAIMED
    )]
    #[case::one_is_missing(&[Outcome::pass(), Outcome::pass(), Outcome::pass()], NOTHING_CLAIMED)]
    #[case::not_run(&[Outcome::not_run_announced("no programs")], NOTHING_CLAIMED)]
    #[case::nothing(&[], NOTHING_CLAIMED)]
    fn only_a_target_that_passes_every_clause_is_implemented(
        #[case] outcomes: &[Outcome],
        #[case] wanted: &str,
    ) {
        let target = target(outcomes);
        assert_eq!(status(&testing::report(Vec::new()), &target), wanted);
        if wanted == IMPLEMENTED {
            let incomplete = testing::report(Vec::new()).incomplete("interrupted");
            assert_eq!(status(&incomplete, &target), NOTHING_CLAIMED);
        }
    }

    #[test]
    fn a_checklist_has_the_format_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = fixture::report();
        let outcomes = [Outcome::pass(), Outcome::fail("half bound"), Outcome::pass(), Outcome::pass()];
        report.targets.push(target(&outcomes));
        let files = write_ai_conformance(folder.path(), &report).unwrap();
        assert_eq!(files, [folder.path().join("ai-conformance-volcano.yaml")], "of no other target");
        let text = std::fs::read_to_string(&files[0]).unwrap();
        let version = format!("grove-conformance {}", report.suite.version);
        let text = text
            .replace(&version, "grove-conformance [version]")
            .replace(METHOD, "[how]")
            .replace(OWN_CONTROL_PLANE, "[local]");
        insta::assert_snapshot!(text, @"
        # The gang scheduling result of one run of grove-conformance, in the format of the Kubernetes AI conformance checklist. Add
        # the requirement to the checklist of your platform, with the report that it names, or fill in the metadata here.
        metadata:
          kubernetesVersion: v1.36
          platformName: '[Platform Name]'
          platformVersion: '[Platform Version]'
          vendorName: '[Vendor Name]'
          websiteUrl: '[Website URL]'
          documentationUrl: '[Documentation URL]'
          productLogoUrl: '[Product Logo URL]'
          description: '[Description]'
          contactEmailAddress: '[Contact Email Address]'
          k8sConformanceUrl: '[Kubernetes Conformance URL]'
        spec:
          schedulingOrchestration:
          - id: gang_scheduling
            description: The platform must allow for the installation and successful operation of at least one gang scheduling solution that ensures all-or-nothing scheduling for distributed AI workloads (e.g. Kueue, Volcano, etc.) To be conformant, the vendor must demonstrate that their platform can successfully run at least one such solution.
            level: MUST
            status: Not Implemented
            evidence:
            - report.yaml
            notes: 'Result of one run of grove-conformance [version] on 2026-12-01 (volcano v1.14.1, Kubernetes v1.36.4, provider local): AIC-01 pass, AIC-02 fail, AIC-03 pass, AIC-04 pass. Reasons: half bound.[how][local]'
        ");
    }
}
