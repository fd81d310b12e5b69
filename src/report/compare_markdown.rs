//! Renders a comparison as Markdown: regressions first, then improvements, then other differences.

use std::fmt::{self, Write};

use super::change_kind::ChangeKind;
use super::compare::{ChangedClause, Comparison};
use super::markdown::{write_row, write_rule};
use super::{ClauseResult, Standing};

impl Comparison<'_> {
    /// The comparison in GitHub-flavored Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let _ = write_comparison(&mut text, self);
        text
    }
}

fn write_comparison(out: &mut String, comparison: &Comparison<'_>) -> fmt::Result {
    let (old, new) = (comparison.old, comparison.new);
    writeln!(out, "# {}\n", comparison.result())?;
    let name = |report: &super::Report| {
        format!("{} {} of {}", report.operator.name, report.operator.version, report.date)
    };
    writeln!(
        out,
        "From {} to {}. Clauses that both reports judge: {}; broken in both: {}.",
        name(old),
        name(new),
        comparison.checked_by_both,
        comparison.still_broken
    )?;
    write_features(out, comparison)?;
    for (kind, changed) in comparison.listed() {
        write_changes(out, kind, &changed)?;
    }
    for (kind, targets) in comparison.counted() {
        writeln!(out, "\n## {}\n", kind.title())?;
        write_row(out, ["target", "clauses"])?;
        write_rule(out, 2)?;
        for (target, clauses) in targets {
            write_row(out, [target, clauses])?;
        }
    }
    write_figures(out, comparison)?;
    write_durations(out, comparison)?;
    if comparison.facts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## What was run\n")?;
    write_row(out, ["", "old", "new"])?;
    write_rule(out, 3)?;
    for fact in &comparison.facts {
        write_row(out, [&fact.what, &fact.old, &fact.new])?;
    }
    Ok(())
}

fn write_changes(out: &mut String, kind: ChangeKind, changed: &[&ChangedClause<'_>]) -> fmt::Result {
    writeln!(out, "\n## {}\n", kind.title())?;
    write_row(out, ["clause", "target", "old", "new", "why"])?;
    write_rule(out, 5)?;
    for changed in changed {
        let (old, new) = (word(changed.old), word(changed.new));
        let reason = changed.reason();
        write_row(out, [changed.id, changed.target.as_str(), old.as_str(), new.as_str(), reason.as_str()])?;
    }
    Ok(())
}

fn word(clause: Option<&ClauseResult>) -> String {
    clause.map_or_else(|| "none".to_owned(), |clause| clause.outcome.word())
}

fn write_features(out: &mut String, comparison: &Comparison<'_>) -> fmt::Result {
    if comparison.features.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Features\n")?;
    write_row(out, ["feature", "target", "old", "new", "decided by"])?;
    write_rule(out, 5)?;
    let word = |standing: Option<Standing>| standing.map_or("not declared".to_owned(), |of| of.to_string());
    for feature in &comparison.features {
        let (old, mut new) = (word(feature.old), word(feature.new));
        if feature.is_regression() {
            new = format!("**{new}**");
        }
        write_row(
            out,
            [feature.name.to_string(), feature.target.clone(), old, new, feature.clauses.join(", ")],
        )?;
    }
    Ok(())
}

fn write_figures(out: &mut String, comparison: &Comparison<'_>) -> fmt::Result {
    if comparison.figures.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Figures\n")?;
    write_row(out, ["figure", "case", "target", "old", "new"])?;
    write_rule(out, 5)?;
    for figure in &comparison.figures {
        let new = figure.new_text();
        let new = if figure.is_worse() { format!("**{new}**") } else { new };
        let case = format!("`{}`", figure.case);
        write_row(out, [figure.name.clone(), case, figure.target.clone(), figure.old.to_string(), new])?;
    }
    Ok(())
}

fn write_durations(out: &mut String, comparison: &Comparison<'_>) -> fmt::Result {
    let (old, new) = (comparison.old.timings.total_seconds, comparison.new.timings.total_seconds);
    writeln!(out, "\n## Durations\n\nThe whole run: {old}, then {new}.")?;
    let [old, new] = [comparison.old, comparison.new].map(|report| &report.timings.peak_memory);
    if !old.is_empty() && !new.is_empty() {
        writeln!(out, "Memory at most: {old}, then {new}.")?;
    }
    if comparison.durations.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_row(out, ["case", "target", "old", "new"])?;
    write_rule(out, 4)?;
    for changed in &comparison.durations {
        let (case, target) = (format!("`{}`", changed.case), changed.target.clone());
        write_row(out, [case, target, changed.old.to_string(), changed.new.to_string()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Outcome, compare, fixture};

    #[test]
    fn a_comparison_renders_every_section() {
        let (old, mut new) = (fixture::report(), fixture::report());
        let target = new.targets.remove(1);
        let cases = target.cases.iter().map(|case| {
            let mut case = target.with_violations(case);
            let outcomes = [Outcome::fail("2 of 4 pods are bound"), Outcome::error("a gap")];
            for (judgement, outcome) in case.clauses.iter_mut().skip(1).zip(outcomes) {
                judgement.outcome = outcome;
            }
            let of_feature = case.clauses.iter_mut().filter(|judgement| judgement.clause == "AON-08");
            of_feature.for_each(|judgement| judgement.outcome = Outcome::unsupported("not declared"));
            let outcomes: Vec<Outcome> = case.clauses.iter().map(|of| of.outcome.clone()).collect();
            case.outcome = Outcome::fold(&outcomes).unwrap();
            case
        });
        let cases = cases.collect();
        let mut without = target.clone();
        without.features.supported.retain(|feature| feature.name() == "GangScheduling");
        new.targets.push(without.reconclude(cases));
        new.operator.version = "0.2.0".to_owned();
        let text = compare(&old, &new).markdown();
        for wanted in [
            "# Regressed: 1 clause, 2 features\n",
            "## Regressions\n\n| clause | target | old | new | why |\n",
            "| AON-01 | default-scheduler (PodGang scope) | pass | fail | 2 of 4 pods are bound |",
            "## No longer decided\n",
            "| AON-02 | default-scheduler (PodGang scope) | pass | error | a gap |",
            "| AON-08 | default-scheduler (PodGang scope) | pass | unsupported | not declared |",
            "| AtomicPodGang | default-scheduler (PodGang scope) | declared and shown | **not declared** | AON-08 |",
            "| operator | grove-backend-controller 0.1.0 | grove-backend-controller 0.2.0 |",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
    }
}
