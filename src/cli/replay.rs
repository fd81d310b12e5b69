use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use conformance_contract::renamed_cases;
use conformance_driver::case::Case;
use conformance_driver::context::Stop;
use conformance_history::{Header, History, SharedMark};
use conformance_observe::{Figure, NoAnswer, Observation};
use conformance_report::{CaseResult, Exit, exit_code};
use conformance_run::{near_limit, suites, verdict, workload};

use super::args::ReplayArgs;
use super::{Failure, output, target_selection, unknown};

pub(crate) fn replay(args: &ReplayArgs) -> Result<Exit, Failure> {
    let usage = |reason: String| Failure::Usage(format!("{}: {reason}", args.history.display()));
    let file = File::open(&args.history).map_err(|e| usage(e.to_string()))?;
    let history = History::read(BufReader::new(file), header(args)?).map_err(|e| usage(e.to_string()))?;
    if let Some(observation) = conformance_observe::observation(&history.header.case) {
        return Ok(answer(observation, &history));
    }
    let case = case_of(&history)?;
    let judgements = if history.marks(SharedMark::Interrupted).next().is_some() {
        verdict::interrupted(case, history.header.target)
    } else {
        let findings = verdict::findings(case, &history);
        let stop = Stop::recorded(&history);
        verdict::judgements(case, history.header.target, &history, &findings, stop.as_ref())
    };
    let result = CaseResult::new(case.id, case.title, judgements);
    output::data(&format!("{} on {}: {}", case.id, history.header.target, result.outcome.verdict));
    for judgement in &result.clauses {
        output::data(&format!("  {} {}", judgement.clause, judgement.outcome.verdict));
        if let Some(reason) = judgement.outcome.reason() {
            output::data(&format!("    {reason}"));
        }
        for violation in &judgement.violations {
            output::data(&format!("    {}", violation.message));
            for proof in &violation.proof {
                output::data(&format!("      {proof}"));
            }
        }
    }
    Ok(exit_code(result.clauses.iter().map(|judgement| &judgement.outcome)))
}

fn answer(observation: &Observation, history: &History) -> Exit {
    let place = format!("{} on {}", observation.id(), history.header.target);
    match observation.answer(history) {
        Ok(answer) => {
            output::data(&format!("{place}: {}", answer.word));
            for Figure { name, value, unit } in &answer.figures {
                output::data(&format!("  {name}: {value} {unit}"));
            }
            answer.notes.iter().for_each(|note| output::data(&format!("  {note}")));
        }
        Err(NoAnswer::DoesNotApply(reason)) => output::data(&format!("{place}: does not apply: {reason}")),
        Err(reason) => output::data(&format!("{place}: no answer: {reason}")),
    }
    Exit::Conformant
}

/// Returns the case of the history. An older version of the suite may have recorded it under a former id.
fn case_of(history: &History) -> Result<&'static Case, Failure> {
    let id = &history.header.case;
    let replayed = workload::replayed(id).or_else(|| near_limit::replayed(id));
    let replayed = replayed.or_else(|| conformance_fuzz::replayed(history));
    match replayed.or_else(|| conformance_load::replayed(history)) {
        Some(case) => Ok(case),
        None => suites::case(renamed_cases::current(id)).ok_or_else(|| {
            let all: Vec<_> = suites::cases().map(|case| case.id).collect();
            unknown::name("case", id, &all, "")
        }),
    }
}

fn header(args: &ReplayArgs) -> Result<Option<Header>, Failure> {
    let (Some(case), Some(manifest), Some(namespace)) = (&args.case, &args.manifest, &args.namespace) else {
        return Ok(None);
    };
    let usage = |reason: String| Failure::Usage(format!("--manifest {}: {reason}", manifest.display()));
    let text = std::fs::read_to_string(manifest).map_err(|e| usage(e.to_string()))?;
    let documents = grove_yaml::documents(&text).map_err(|e| usage(e.to_string()))?;
    let submitted: BTreeMap<_, _> = documents
        .into_iter()
        .map(|pcs| (pcs["metadata"]["name"].as_str().unwrap_or_default().to_owned(), pcs))
        .collect();
    let target =
        target_selection::targets_declaring(&args.backend, args.scope.as_deref(), &args.features)?[0];
    Ok(Some(Header::new(case, target, namespace, submitted)))
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;

    use super::*;

    #[test]
    fn a_history_of_a_renamed_case_is_checked_by_that_case() {
        let (former, current) = renamed_cases::RENAMED[0];
        let mut history = Story::flat().end();
        history.header.case = former.into();
        assert_eq!(case_of(&history).unwrap().id, current);
    }
}
