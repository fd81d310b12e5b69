//! `dev feasibility`: compares the feasibility check with a scheduler, on generated pairs of a manifest and
//! nodes near the limit. Every disagreement is a defect of the check or of the scheduler.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use conformance_contract::verdict::Verdict;
use conformance_programs::blocking::in_place;
use conformance_programs::home;
use conformance_report::{Exit, TargetReport};
use conformance_run::feasibility::Feasibility;
use conformance_run::interruption::Interruption;
use conformance_run::near_limit::Judged;

use super::args::FeasibilityArgs;
use super::request::Request;
use super::{Failure, output, run};

const FOLDER: &str = "disagreements";

pub(crate) async fn feasibility(
    args: FeasibilityArgs,
    interruption: &Arc<Interruption>,
) -> Result<Exit, Failure> {
    let (request, pairs) = in_place(|| Request::of_feasibility(args))?;
    let (mut targets, mut exit) = (Vec::new(), Exit::Conformant);
    if pairs.iter().any(|pair| pair.case.is_some()) {
        let report = run::judge(&request, interruption).await?;
        exit = run::finish(&request, &report).await?;
        targets = report.targets;
    }
    let found = disagreements(&pairs, &targets);
    for (pair, reasons) in pairs.iter().filter_map(|pair| Some((pair, found.get(pair.id.as_str())?))) {
        let folder = write(&request.output.folder, pair)?;
        output::data(&format!("{} ({}): {}", pair.id, pair.pair.shape, reasons.join("; ")));
        output::say(&format!(
            "wrote {folder}/manifest.yaml and {folder}/nodes.yaml; run it again: grove-conformance dev feasibility {}",
            pair.id
        ));
    }
    output::data(&summary(&pairs, &targets, found.len()));
    Ok(if found.is_empty() { exit } else { exit.max(Exit::NotConformant) })
}

/// Returns the disagreements of the check with a scheduler or with the generator, by the id of the pair.
fn disagreements<'a>(pairs: &'a [Judged], targets: &[TargetReport]) -> BTreeMap<&'a str, Vec<String>> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in pairs {
        let (drawn, says) = (word(pair.pair.fits), said(&pair.feasibility));
        let mut reasons = Vec::new();
        if !pair.is_as_drawn() {
            reasons.push(format!("it was generated {drawn}, but {says}"));
        }
        for target in targets {
            let failed = |verdict: Verdict| matches!(verdict, Verdict::Fail | Verdict::Flaky);
            let mut of_pair = target.cases.iter().filter(|result| result.id == pair.id);
            if let Some(result) = of_pair.find(|result| failed(result.outcome.verdict)) {
                let reason = result.outcome.reason().unwrap_or_default();
                reasons.push(format!("{says}, but on {}: {reason}", target.title()));
            }
        }
        if !reasons.is_empty() {
            found.insert(&pair.id, reasons);
        }
    }
    found
}

fn word(fits: bool) -> &'static str {
    if fits { "to fit" } else { "not to fit" }
}

fn said(feasibility: &Feasibility) -> String {
    match feasibility {
        Feasibility::Fits => "the check says that it fits".into(),
        Feasibility::Undecided(why) => format!("the check cannot decide: {}", why.join(", ")),
        Feasibility::Infeasible(misfits) => {
            let all: Vec<_> = misfits.iter().map(ToString::to_string).collect();
            format!("the check says that it does not fit ({})", all.join("; "))
        }
    }
}

/// Writes the manifest and the nodes of a pair for `workload FILE --nodes FILE`, and returns their folder.
fn write(report: &Path, pair: &Judged) -> Result<String, Failure> {
    let name = pair.id.rsplit('/').next().unwrap_or_default();
    let folder = report.join(FOLDER).join(name);
    home::write(&folder.join("manifest.yaml"), &pair.pair.manifest)?;
    home::write(&folder.join("nodes.yaml"), &pair.pair.nodes)?;
    Ok(folder.display().to_string())
}

fn summary(pairs: &[Judged], targets: &[TargetReport], disagreements: usize) -> String {
    let count =
        |matches: fn(&Feasibility) -> bool| pairs.iter().filter(|pair| matches(&pair.feasibility)).count();
    let fits = count(|feasibility| *feasibility == Feasibility::Fits);
    let undecided = count(|feasibility| matches!(feasibility, Feasibility::Undecided(_)));
    let mut text = format!(
        "{} pairs: by the check, {fits} fit, {} do not, {undecided} are undecided; {disagreements} disagreements",
        pairs.len(),
        pairs.len() - fits - undecided,
    );
    for target in targets {
        let passed = target.cases.iter().filter(|result| result.outcome.verdict == Verdict::Pass).count();
        text.push_str(&format!("\n{}: the scheduler agrees on {passed} pairs", target.title()));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use conformance_contract::verdict::Outcome;
    use conformance_report::{CaseResult, Features, Judgement};

    use super::*;
    use crate::args::{Cli, DevArgs, DevVerb, Verb};
    use crate::request::Cases;

    fn request(line: &str) -> Result<(Request, Vec<Judged>), Failure> {
        let words = ["grove-conformance", "dev", "feasibility"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).unwrap().verb {
            Verb::Dev(DevArgs { verb: DevVerb::Feasibility(args) }) => Request::of_feasibility(*args),
            other => panic!("{other:?}"),
        }
    }

    fn target(id: &str, outcome: Outcome) -> TargetReport {
        let judgement = Judgement { clause: "AON-01".into(), outcome, violations: Vec::new() };
        let result = CaseResult::new(id, "", vec![judgement]);
        TargetReport::new("default-scheduler", None, "v1", Features::default())
            .conclude([].iter(), vec![result])
    }

    #[test]
    fn pairs_have_numbers_of_one_seed() {
        let (request, pairs) = request("--pairs 3 --seed 9").unwrap();
        let ids: Vec<_> = pairs.iter().map(|pair| pair.id.as_str()).collect();
        assert_eq!(ids, ["feasibility/9-0", "feasibility/9-1", "feasibility/9-2"]);
        assert_eq!(request.subject.scope.as_deref(), Some("PodGang"));
        let Cases::NearLimit(cases) = request.subject.cases else { panic!("no pairs") };
        assert_eq!(cases.iter().map(|case| case.id).collect::<Vec<_>>(), ids);
    }

    #[test]
    fn a_pair_is_chosen_by_its_id() {
        let (_, pairs) = request("feasibility/9-17 --seed 1").unwrap();
        assert_eq!(pairs.iter().map(|pair| pair.id.as_str()).collect::<Vec<_>>(), ["feasibility/9-17"]);
        let failure = request("9-17").unwrap_err().to_string();
        assert!(failure.contains("expected feasibility/SEED-NUMBER"), "{failure}");
        let failure = request("--seed 4294967296").unwrap_err().to_string();
        assert!(failure.contains("expected at most 4294967295"), "{failure}");
        let failure = request("--pairs 1 --set cluster.provider=kind").unwrap_err().to_string();
        assert!(failure.contains("omit cluster.provider"), "{failure}");
    }

    #[test]
    fn a_failed_case_and_a_wrong_verdict_are_disagreements() {
        let (_, mut pairs) = request("--pairs 2").unwrap();
        assert!(disagreements(&pairs, &[target("feasibility/1-0", Outcome::pass())]).is_empty());
        let failed = [target("feasibility/1-0", Outcome::fail("one pod is pending"))];
        {
            let found = disagreements(&pairs, &failed);
            assert_eq!(found.keys().collect::<Vec<_>>(), [&"feasibility/1-0"]);
            assert!(found["feasibility/1-0"][0].contains("one pod is pending"), "{found:?}");
        }
        pairs[1].feasibility = Feasibility::Undecided(vec!["why".into()]);
        let found = disagreements(&pairs, &[]);
        assert_eq!(
            found["feasibility/1-1"],
            ["it was generated not to fit, but the check cannot decide: why"]
        );
    }

    #[test]
    fn the_files_of_a_pair_are_those_of_workload() {
        let folder = tempfile::tempdir().unwrap();
        let (_, pairs) = request("--pairs 1").unwrap();
        let written = write(folder.path(), &pairs[0]).unwrap();
        let read = |name: &str| std::fs::read_to_string(Path::new(&written).join(name)).unwrap();
        assert_eq!((read("manifest.yaml"), read("nodes.yaml")), {
            let pair = &pairs[0].pair;
            (pair.manifest.clone(), pair.nodes.clone())
        });
    }
}
