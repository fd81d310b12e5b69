//! Writes results in the format of the Kubernetes AI conformance program: the checklist for 1.36 of
//! <https://github.com/cncf/k8s-ai-conformance>, with only the requirements that a run covers. A platform
//! shows one scheduler, so there is one file per target.
//!
//! The status reports what the run found and certifies nothing. Fields that only the vendor can fill in keep
//! the placeholders of the program's template. The program's check rejects placeholders. The check also
//! requires `k8sConformanceUrl`, which the template for 1.36 no longer has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance_contract::target::{AI_CONFORMANCE_TARGETS, Target};
use conformance_contract::verdict::Verdict;
use serde::Serialize;

use super::ai_requirements::{DISAGGREGATED_INFERENCE, GANG_SCHEDULING, ROBUST_CONTROLLER, Shown};
use super::{ClauseResult, Report, StoreError, TargetReport, store};

const IMPLEMENTED: &str = "Implemented";
const NOT_IMPLEMENTED: &str = "Not Implemented";
/// An empty status claims nothing, as in the template.
const NOTHING_CLAIMED: &str = "";

#[derive(Debug, Serialize)]
struct Checklist {
    metadata: Metadata,
    /// By section of the program's checklist.
    spec: BTreeMap<&'static str, Vec<Requirement>>,
}

/// The vendor fills in everything but the Kubernetes version.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    kubernetes_version: String,
    platform_name: &'static str,
    platform_version: &'static str,
    vendor_name: &'static str,
    website_url: &'static str,
    repo_url: &'static str,
    documentation_url: &'static str,
    product_logo_url: &'static str,
    description: &'static str,
    contact_email_address: &'static str,
    #[serde(rename = "k8sConformanceUrl")]
    kubernetes_conformance_url: &'static str,
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

const OWN_CONTROL_PLANE: &str = " The run created its control plane and simulated its nodes, so this result is about the \
    scheduler and not yet about a platform.";

const HEAD: &str = "\
# The result of one run of grove-conformance, in the format of the Kubernetes AI conformance checklist. Add each
# requirement to the checklist of your platform, with the report that it names, or fill in the metadata here.
";

/// Writes one checklist about plain pods per target into a report's folder, and returns the paths.
pub fn write_ai_conformance(folder: &Path, report: &Report) -> Result<Vec<PathBuf>, StoreError> {
    let targets = report.targets.iter().filter(|target| known(target).is_some());
    let write = |target: &TargetReport| write(folder, &target.backend, report, target, &[GANG_SCHEDULING]);
    targets.map(write).collect()
}

/// Writes one checklist about the operator per target into a report's folder, and returns the paths. Writes
/// none for a local run, which shows nothing about a platform.
pub fn write_operator_conformance(folder: &Path, report: &Report) -> Result<Vec<PathBuf>, StoreError> {
    if report.provider.name == "local" {
        return Ok(Vec::new());
    }
    let write = |target: &TargetReport| {
        let scope = target.variant.as_ref().map(|variant| format!("-{variant}")).unwrap_or_default();
        let name = format!("ai-conformance-operator-{}{scope}", target.backend);
        let name = name.to_ascii_lowercase().replace([' ', ':', '/'], "-");
        write(folder, &name, report, target, &[ROBUST_CONTROLLER, DISAGGREGATED_INFERENCE])
    };
    report.targets.iter().map(write).collect()
}

fn write(
    folder: &Path,
    name: &str,
    report: &Report,
    target: &TargetReport,
    shown: &[Shown],
) -> Result<PathBuf, StoreError> {
    let file = "the checklist";
    let yaml = serde_yaml::to_string(&checklist(report, target, shown))
        .map_err(|error| StoreError::Render { file, message: error.to_string() })?;
    let path = folder.join(format!("{name}.yaml"));
    store::write_text(&path, &format!("{HEAD}{yaml}"))?;
    Ok(path)
}

/// `None` if the contract does not define the target for plain pods.
fn known(target: &TargetReport) -> Option<Target> {
    AI_CONFORMANCE_TARGETS.into_iter().find(|known| known.name() == target.backend)
}

fn checklist(report: &Report, target: &TargetReport, shown: &[Shown]) -> Checklist {
    let minor = report.provider.kubernetes_version.rsplit_once('.').map_or("", |(minor, _)| minor);
    let mut spec: BTreeMap<&'static str, Vec<Requirement>> = BTreeMap::new();
    for shown in shown {
        spec.entry(shown.section).or_default().push(Requirement {
            id: shown.id,
            description: shown.description,
            level: shown.level,
            status: status(report, target, shown),
            // The path is relative to the checklist.
            evidence: ["report.yaml"],
            notes: notes(report, target, shown),
        });
    }
    Checklist {
        metadata: Metadata {
            kubernetes_version: minor.into(),
            platform_name: "[Platform Name]",
            platform_version: "[Platform Version]",
            vendor_name: "[Vendor Name]",
            website_url: "[Website URL]",
            repo_url: "[Repository URL]",
            documentation_url: "[Documentation URL]",
            product_logo_url: "[Product Logo URL]",
            description: "[Description]",
            contact_email_address: "[Contact Email Address]",
            kubernetes_conformance_url: "[Kubernetes Conformance URL]",
        },
        spec,
    }
}

fn clauses<'a>(target: &'a TargetReport, shown: &Shown) -> impl Iterator<Item = &'a ClauseResult> {
    let ids = shown.clauses;
    target.clauses.iter().filter(move |clause| ids.contains(&clause.id.as_str()))
}

/// Known deviations and flaky clauses count as not implemented. An undecided clause claims nothing.
fn status(report: &Report, target: &TargetReport, shown: &Shown) -> &'static str {
    let is_failure = |verdict| matches!(verdict, Verdict::Fail | Verdict::Flaky | Verdict::KnownDeviation);
    let all: Vec<_> = clauses(target, shown).map(|clause| clause.outcome.verdict).collect();
    if !shown.is_whole {
        NOTHING_CLAIMED
    } else if all.iter().any(|verdict| is_failure(*verdict)) {
        NOT_IMPLEMENTED
    } else if all.len() == shown.clauses.len()
        && !report.incomplete
        && all.iter().all(|verdict| *verdict == Verdict::Pass)
    {
        IMPLEMENTED
    } else {
        NOTHING_CLAIMED
    }
}

fn notes(report: &Report, target: &TargetReport, shown: &Shown) -> String {
    let all: Vec<_> = clauses(target, shown).collect();
    let verdicts: Vec<_> =
        all.iter().map(|clause| format!("{} {}", clause.id, clause.outcome.verdict)).collect();
    let mut why: Vec<_> = all.iter().flat_map(|clause| clause.outcome.reasons.clone()).collect();
    why.dedup();
    // Plain pods have no operator.
    let (operator, scheduler) = match known(target) {
        Some(known) => (String::new(), known.backend()),
        None => (
            format!("operator {} {}, ", report.operator.name, report.operator.version),
            target.backend.as_str(),
        ),
    };
    let mut notes = format!(
        "Result of one run of grove-conformance {} on {} ({operator}{scheduler} {}, Kubernetes {}, provider {}): {}.",
        report.suite.version,
        report.date.strftime("%Y-%m-%d"),
        target.version,
        report.provider.kubernetes_version,
        report.provider.name,
        verdicts.join(", "),
    );
    if !why.is_empty() {
        notes.push_str(&format!(" Reasons: {}.", why.join("; ")));
    }
    if all.iter().any(|clause| clause.outcome.verdict != Verdict::NotRun) {
        notes.push_str(shown.method);
    }
    if report.provider.name == "local" {
        notes.push_str(OWN_CONTROL_PLANE);
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conformance_contract::clauses::{CLAUSES, Feature};
    use conformance_contract::verdict::Outcome;

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

    #[rstest::rstest]
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
        let status = |report: &Report| status(report, &target, &GANG_SCHEDULING);
        assert_eq!(status(&testing::report(Vec::new())), wanted);
        if wanted == IMPLEMENTED {
            let incomplete = testing::report(Vec::new()).incomplete("interrupted");
            assert_eq!(status(&incomplete), NOTHING_CLAIMED);
        }
    }

    #[test]
    fn gang_scheduling_is_shown_by_every_clause_of_its_group() {
        let group = CLAUSES.iter().map(|clause| clause.id).filter(|id| id.starts_with("AIC-"));
        assert_eq!(group.collect::<Vec<_>>(), GANG_SCHEDULING.clauses);
    }

    fn operated_except(failed: &str) -> TargetReport {
        let ids: BTreeSet<&str> =
            [ROBUST_CONTROLLER.clauses, DISAGGREGATED_INFERENCE.clauses].concat().into_iter().collect();
        let judgement = |clause: &&str| Judgement {
            clause: (*clause).to_owned(),
            outcome: if *clause == failed { Outcome::fail("broken") } else { Outcome::pass() },
            violations: Vec::new(),
        };
        let case = CaseResult::new("any/case", "a gang", ids.iter().map(judgement).collect());
        let supported = vec![Feature::GangScheduling, Feature::Kubelet];
        let features = Features { supported, ..Features::default() };
        TargetReport::new("volcano", None, "v1.15.1", features)
            .conclude(CLAUSES.iter().filter(|clause| ids.contains(clause.id)), vec![case])
    }

    #[rstest::rstest]
    #[case::all_pass("", IMPLEMENTED)]
    #[case::one_fails("KLT-01", NOT_IMPLEMENTED)]
    #[case::of_the_other_requirement("AUTO-03", IMPLEMENTED)]
    fn an_operator_is_robust_if_its_clauses_pass(#[case] failed: &str, #[case] wanted: &str) {
        let (report, target) = (testing::report(Vec::new()), operated_except(failed));
        assert_eq!(status(&report, &target, &ROBUST_CONTROLLER), wanted);
        assert_eq!(status(&report, &target, &DISAGGREGATED_INFERENCE), NOTHING_CLAIMED);
    }

    #[test]
    fn only_a_run_on_a_platform_writes_what_the_operator_shows() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = testing::report(vec![operated_except("")]);
        assert!(write_operator_conformance(folder.path(), &report).unwrap().is_empty());
        report.provider.name = "existing".to_owned();
        let files = write_operator_conformance(folder.path(), &report).unwrap();
        assert_eq!(files, [folder.path().join("ai-conformance-operator-volcano.yaml")]);
        let text = std::fs::read_to_string(&files[0]).unwrap();
        for part in [
            "id: robust_controller",
            "status: Implemented",
            "id: disaggregated_inference",
            "operator sample 1",
        ] {
            assert!(text.contains(part), "{part} in {text}");
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
            .replace(GANG_SCHEDULING.method, "[how]")
            .replace(OWN_CONTROL_PLANE, "[local]");
        insta::assert_snapshot!(text, @"
        # The result of one run of grove-conformance, in the format of the Kubernetes AI conformance checklist. Add each
        # requirement to the checklist of your platform, with the report that it names, or fill in the metadata here.
        metadata:
          kubernetesVersion: v1.36
          platformName: '[Platform Name]'
          platformVersion: '[Platform Version]'
          vendorName: '[Vendor Name]'
          websiteUrl: '[Website URL]'
          repoUrl: '[Repository URL]'
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
