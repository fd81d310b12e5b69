//! `contract`: prints the clauses as Markdown, as a list, or as data.

pub(crate) mod cited_lines;

use conformance_contract::clauses::{CLAUSES, Clause, Environment, Feature, Level, Party, Tier};
use conformance_report::Exit;
use conformance_run::contract_pages::section;
use conformance_run::suites;
use serde::Serialize;

use super::args::{ContractArgs, ContractFormat, ContractVerb};
use super::list::table;
use super::{Failure, output};

pub(crate) fn contract(args: &ContractArgs) -> Result<Exit, Failure> {
    let text = match &args.verb {
        ContractVerb::List { ids } => listed(&named_or_all(ids)?),
        ContractVerb::Show { ids } => shown(&named_or_all(ids)?),
        ContractVerb::Cases { ids } => with_cases(&named_or_all(ids)?),
        ContractVerb::Export { format: ContractFormat::Markdown } => shown(&named_or_all(&[])?),
        ContractVerb::Export { format: ContractFormat::Json } => {
            let all: Vec<_> = CLAUSES.iter().map(Exported::of).collect();
            serde_json::to_string_pretty(&all).map_err(|error| Failure::Infrastructure(error.to_string()))?
        }
    };
    output::data(&text);
    Ok(Exit::Conformant)
}

/// The JSON form of a clause. Later versions only add fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Exported {
    id: &'static str,
    title: &'static str,
    requirement: &'static str,
    level: Level,
    feature: Option<Feature>,
    tier: Tier,
    depends_on: &'static [Party],
    environment: Environment,
    sources: Vec<String>,
    rationale: &'static str,
    since: &'static str,
    split_from: Option<&'static str>,
    not_tested: Option<&'static str>,
    cases: Vec<&'static str>,
}

impl Exported {
    fn of(clause: &Clause) -> Self {
        Self {
            id: clause.id,
            title: clause.title,
            requirement: clause.requirement,
            level: clause.level,
            feature: clause.feature,
            tier: clause.tier,
            depends_on: clause.depends_on,
            environment: clause.environment,
            sources: clause.sources.iter().filter_map(|source| source.address()).collect(),
            rationale: clause.rationale,
            since: clause.since,
            split_from: clause.split_from,
            not_tested: clause.not_tested,
            cases: cases(clause),
        }
    }
}

fn cases(clause: &Clause) -> Vec<&'static str> {
    suites::covering(clause.id).map(|case| case.id).collect()
}

fn shown(clauses: &[&Clause]) -> String {
    let sections: Vec<_> = clauses.iter().map(|clause| section(clause)).collect();
    sections.join("\n")
}

fn listed(clauses: &[&Clause]) -> String {
    let mut table = table(["CLAUSE", "LEVEL", "FEATURE", "TITLE"]);
    for clause in clauses {
        let feature = clause.feature.map_or_else(|| "-".to_owned(), |feature| feature.to_string());
        table.add_row([clause.id.into(), clause.level.to_string(), feature, clause.title.into()]);
    }
    table.to_string()
}

fn with_cases(clauses: &[&Clause]) -> String {
    let mut table = table(["CLAUSE", "TITLE", "CASES"]);
    for clause in clauses {
        let cases = cases(clause);
        let cases = if cases.is_empty() { "-".to_owned() } else { cases.join(" ") };
        table.add_row([clause.id.to_owned(), clause.title.to_owned(), cases]);
    }
    table.to_string()
}

fn named_or_all(ids: &[String]) -> Result<Vec<&'static Clause>, Failure> {
    if ids.is_empty() {
        return Ok(CLAUSES.iter().collect());
    }
    let found = ids.iter().map(|id| named(id)).collect::<Result<Vec<_>, _>>()?;
    Ok(found.concat())
}

/// `id` may be in lower case.
fn named(id: &str) -> Result<Vec<&'static Clause>, Failure> {
    let is_named = |clause: &&Clause| {
        let group = clause.group().map(|group| group.id).unwrap_or_default();
        clause.id.eq_ignore_ascii_case(id) || group.eq_ignore_ascii_case(id)
    };
    let found: Vec<_> = CLAUSES.iter().filter(is_named).collect();
    if found.is_empty() {
        return Err(Failure::Usage(format!(
            "{id} is neither a clause nor a group: `contract list` lists them"
        )));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_a_clause_or_a_group() {
        let ids = |id: &str| named(id).unwrap().iter().map(|clause| clause.id).collect::<Vec<_>>();
        assert_eq!(ids("aon-02"), ["AON-02"]);
        assert!(ids("COEX").starts_with(&["COEX-01", "COEX-02"]));
        assert!(named("AON-99").unwrap_err().to_string().contains("AON-99"));
    }

    #[test]
    fn a_list_has_every_clause_once() {
        let all = named_or_all(&[]).unwrap();
        assert_eq!(all.len(), CLAUSES.len());
        for text in [listed(&all), with_cases(&all)] {
            assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("AON-02 ")).count(), 1);
        }
    }
}
