//! Annotations for GitHub Actions. GitHub shows the first 10 errors and the first 10 warnings of a step.

use conformance_contract::verdict::Verdict;

use super::{ClauseResult, Exit, Report, TargetReport};

/// The workflow commands: an error per violated clause, then a warning per undecided clause.
pub fn annotations(report: &Report) -> Vec<String> {
    let clauses = || {
        let targets = report.targets.iter();
        targets.flat_map(|target| target.clauses.iter().map(move |clause| (target, clause)))
    };
    let is_violated =
        |clause: &ClauseResult| matches!(clause.outcome.verdict, Verdict::Fail | Verdict::Flaky);
    let decisive = || clauses().filter(|(_, clause)| clause.exit(report.settings.strict) != Exit::Conformant);
    let violated = decisive().filter(|(_, clause)| is_violated(clause)).map(|found| line("error", found));
    let undecided = decisive().filter(|(_, clause)| !is_violated(clause)).map(|found| line("warning", found));
    violated.chain(undecided).collect()
}

fn line(command: &str, (target, clause): (&TargetReport, &ClauseResult)) -> String {
    let title = format!("{} {} on {}", clause.id, clause.outcome.verdict, target.title());
    let mut message = clause.outcome.reason().unwrap_or_else(|| clause.requirement.clone());
    if let Some(reproduce) = &clause.reproduce {
        message.push_str(&format!("\nreproduce: {reproduce}"));
    }
    let title = escaped(&title).replace(':', "%3A").replace(',', "%2C");
    format!("::{command} title={title}::{}", escaped(&message))
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, fixture};

    #[test]
    fn clauses_that_affect_the_exit_code_are_annotated_errors_first() {
        let lines = annotations(&fixture::all_backends());
        let commands: Vec<&str> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
        let errors = commands.iter().take_while(|command| **command == "::error").count();
        assert!(errors > 0 && commands[errors..].iter().all(|command| *command == "::warning"), "{lines:#?}");
        assert!(
            lines
                .iter()
                .any(|line| line.contains("title=AON-02 fail on default-scheduler (PodGroup scope)::"))
        );
        assert!(
            !lines.iter().any(|line| line.contains("kai-scheduler")),
            "an announced clause is not annotated"
        );
    }

    #[test]
    fn a_workflow_command_is_escaped_to_one_line() {
        let mut report = fixture::report();
        let clause = &mut report.targets[0].clauses[0];
        clause.outcome = Outcome::fail("100 %\nof: it, at last");
        clause.reproduce = None;
        report.targets[0].variant = Some("a: b, c".to_owned());
        let line = &annotations(&report)[0];
        let title = format!("{} fail on default-scheduler (a%3A b%2C c)", report.targets[0].clauses[0].id);
        assert_eq!(*line, format!("::error title={title}::100 %25%0Aof: it, at last"));
    }
}
