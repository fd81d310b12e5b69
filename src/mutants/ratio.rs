//! The summary of all mutants.

use std::collections::BTreeMap;
use std::fmt::Write;

#[cfg(test)]
use conformance_contract::clauses::CLAUSES;
use serde::{Deserialize, Serialize};

use crate::{Mutant, MutantResult, MutantVerdict};

/// The last result of a mutant, as stored next to its report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredResult {
    pub id: String,
    pub outcome: MutantResult,
    pub seconds: f64,
}

/// The numbers of killed and of run mutants by group. A mutant belongs to the groups of its `must` clauses.
pub fn ratios(mutants: &[Mutant], results: &[StoredResult]) -> BTreeMap<String, (usize, usize)> {
    let mut ratios = BTreeMap::new();
    let known = mutants.iter().filter_map(|mutant| Some((mutant, result_of(mutant, results)?)));
    for (mutant, result) in known.filter(|(mutant, _)| mutant.equivalent.is_none()) {
        for group in mutant.groups() {
            let (killed, run) = ratios.entry(group.to_owned()).or_insert((0, 0));
            *killed += usize::from(result.outcome.verdict == MutantVerdict::Killed);
            *run += 1;
        }
    }
    ratios
}

fn result_of<'a>(mutant: &Mutant, results: &'a [StoredResult]) -> Option<&'a StoredResult> {
    results.iter().find(|result| result.id == mutant.id)
}

#[cfg(test)]
pub(crate) fn without_mutant(mutants: &[Mutant]) -> Vec<&'static str> {
    let covered: std::collections::BTreeSet<&str> = mutants.iter().flat_map(Mutant::musts).collect();
    CLAUSES.iter().map(|clause| clause.id).filter(|id| !covered.contains(id)).collect()
}

pub(crate) fn excused() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("clauses-without-mutant.txt").lines().filter_map(|line| line.split_once(": "))
}

pub fn report(mutants: &[Mutant], results: &[StoredResult]) -> String {
    let mut page = String::from(
        "# Kill ratio\n\nThe last run of each mutant. A mutant belongs to the groups of the clauses that it must make fail. \
         Mutants of\nkubelets run on kind and are not counted here.\n\n| group | killed | run |\n|---|---|---|\n",
    );
    for (group, (killed, run)) in ratios(mutants, results) {
        let _ = writeln!(page, "| {group} | {killed} | {run} |");
    }
    let run: Vec<_> =
        mutants.iter().filter_map(|mutant| Some((mutant, result_of(mutant, results)?))).collect();
    let killed = run.iter().filter(|(_, result)| result.outcome.verdict == MutantVerdict::Killed).count();
    let counted = run.iter().filter(|(mutant, _)| mutant.equivalent.is_none()).count();
    let _ = writeln!(page, "| **all** | {killed} | {counted} |\n\n## Not killed\n");
    let mut surviving = run.iter().filter(|(_, result)| !result.outcome.verdict.is_as_expected()).peekable();
    if surviving.peek().is_none() {
        page.push_str("None.\n");
    }
    for (mutant, result) in surviving {
        let lines = result.outcome.reasons.iter().filter_map(|reason| reason.lines().next());
        let why = lines.collect::<Vec<_>>().join("; ");
        let _ = writeln!(
            page,
            "- `{}` ({}): {}. {why}.",
            mutant.id,
            result.outcome.verdict.name(),
            mutant.breaks
        );
    }
    page.push_str(
        "\n## Equivalent\n\nThey break no clause, and no clause may fail. They are not counted.\n\n",
    );
    for (mutant, why) in mutants.iter().filter_map(|mutant| Some((mutant, mutant.equivalent.as_ref()?))) {
        let _ = writeln!(page, "- `{}`: {}; {why}.", mutant.id, mutant.breaks);
    }
    page.push_str("\n## Not run\n\n");
    let not_run: Vec<_> = mutants.iter().filter(|mutant| result_of(mutant, results).is_none()).collect();
    match not_run.as_slice() {
        [] => page.push_str("None.\n"),
        all => page.extend(all.iter().map(|mutant| format!("- `{}`: {}.\n", mutant.id, mutant.breaks))),
    }
    page.push_str(
        "\n## Mutants\n\n| mutant | broken | target | must fail | failed |\n|---|---|---|---|---|\n",
    );
    for (mutant, result) in run {
        let musts: Vec<_> = mutant.must.iter().map(|set| set.0.join(" or ")).collect();
        let (target, failed) = (mutant.target, result.outcome.failed.join(", "));
        let _ = writeln!(
            page,
            "| `{}` | {} | {target} | {} | {failed} |",
            mutant.id,
            mutant.breaks,
            musts.join(", ")
        );
    }
    page.push_str("\n## Clauses without a mutant\n\n");
    for (clause, why) in excused() {
        let _ = writeln!(page, "- {clause}: {why}.");
    }
    page
}
