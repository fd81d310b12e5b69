//! Renders clauses as Markdown, for `contract show` and for `docs/contract/` (`UPDATE_DOCS=1`).

use std::fmt::Write as _;

use conformance_contract::clauses::{Clause, Source, Tier};

use crate::deviations::DEVIATIONS;
use crate::suites;

pub fn section(clause: &Clause) -> String {
    let owed_by = match clause.feature {
        None => "everybody".to_owned(),
        Some(feature) => format!("operators that declare {feature}"),
    };
    let judged_on = match clause.tier {
        Tier::Contract => "what the API server shows",
        Tier::Scheduling => "what the scheduler did with the pods",
    };
    let (id, title, requirement) = (clause.id, clause.title, clause.requirement);
    let depends_on: Vec<_> = clause.depends_on.iter().map(ToString::to_string).collect();
    let mut section = format!("## {id}\n\n**{title}.** {requirement}\n\n| | |\n|---|---|\n");
    let mut row = |name, content: &str| {
        let _ = writeln!(section, "| {name} | {content} |");
    };
    row("level", &clause.level.to_string());
    row("owed by", &owed_by);
    if let Some(backends) = backends(clause) {
        row("applies to", &backends);
    }
    row("depends on", &depends_on.join(", "));
    row("if violated", clause.rationale);
    row("judged on", judged_on);
    row("needs", &clause.environment.to_string());
    row("sources", &sources(clause));
    for known in DEVIATIONS.iter().filter(|known| known.clause == clause.id) {
        let reason = known.reason.replace('|', "\\|");
        row("known deviation", &format!("{} {}, `{}`: {reason}", known.target, known.version, known.case));
    }
    if let Some(part) = clause.not_tested {
        row("not tested", part);
    }
    match clause.split_from {
        Some(former) => row("since", &format!("{}, previously part of {former}", clause.since)),
        None => row("since", clause.since),
    }
    format!("{section}\nCases:\n\n{}", cases(clause))
}

/// Which backends the clause is about, or `None` for a clause that applies to all of them.
fn backends(clause: &Clause) -> Option<String> {
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let mut excluded: Vec<String> = Vec::new();
    if !clause.not_on.is_empty() {
        excluded.push(quoted(clause.not_on));
    }
    excluded.extend(clause.not_in_scope.map(|scope| format!("the gang scope {scope}")));
    let only: Vec<_> = clause.backend().into_iter().chain(clause.only_on.iter().copied()).collect();
    if only.is_empty() && !clause.applies_to_external {
        excluded.push("external schedulers".to_owned());
    }
    if only.is_empty() && excluded.is_empty() {
        return None;
    }
    let applies_to = if only.is_empty() { "all backends".to_owned() } else { quoted(&only) };
    if excluded.is_empty() {
        return Some(applies_to);
    }
    Some(format!("{applies_to}, except {}", excluded.join(" and ")))
}

fn sources(clause: &Clause) -> String {
    let links: Vec<_> = clause.sources.iter().map(|source| link(*source)).collect();
    if links.is_empty() { "none: only this suite asks for it".to_owned() } else { links.join(", ") }
}

fn link(source: Source<'_>) -> String {
    match source.address() {
        Some(address) => format!("[{}]({address})", source.name()),
        None => source.name(),
    }
}

/// A list of the cases, each with its title, or what stands in for them.
fn cases(clause: &Clause) -> String {
    let mut list = String::new();
    let mut item = |text: &str| {
        let _ = writeln!(list, "- {text}");
    };
    for case in suites::covering(clause.id) {
        item(&format!("`{}`: {}", case.id, case.title));
    }
    if let Some(group) = clause.rests_on {
        item(&format!("none; it follows from the clauses of {group}"));
    }
    if !clause.restates.is_empty() {
        item(&format!("the cases of {}, on this backend", clause.restates.join(", ")));
    }
    list
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use conformance_contract::clauses::{CLAUSES, GROUPS, Group, clause};

    use super::*;

    const FRONT: &str = include_str!("../../contract/front.md");
    const FORMER_LEVELS: &str = include_str!("../../contract/levels.yaml");
    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contract");
    const GENERATED: &str = "<!-- Generated from contract/ by src/run/contract_pages.rs. -->\n";

    fn clauses(group: &Group) -> impl Iterator<Item = &'static Clause> {
        CLAUSES.iter().filter(|clause| clause.group().is_some_and(|own| own.id == group.id))
    }

    fn file(group: &Group) -> String {
        format!("{}.md", group.id.to_lowercase())
    }

    fn front() -> String {
        let header =
            "| group | about | clauses | core | extended | recommended |\n|---|---|---|---|---|---|\n";
        let mut page = format!("{GENERATED}{FRONT}\n## Groups\n\n{header}");
        let row = |about: &str, all: &[&Clause]| {
            let count = |has: fn(&Clause) -> bool| all.iter().filter(|clause| has(clause)).count();
            let (core, recommended) = (count(Clause::is_core), count(Clause::is_recommended));
            format!(
                "{about} | {} | {core} | {} | {recommended} |\n",
                all.len(),
                all.len() - core - recommended
            )
        };
        for group in GROUPS.iter() {
            let about = format!("| [{}]({}) | {}", group.id, file(group), group.title);
            page.push_str(&row(&about, &clauses(group).collect::<Vec<_>>()));
        }
        page.push_str(&row("| all |", &CLAUSES.iter().collect::<Vec<_>>()));
        page.push_str(
            "\n- [Former core clauses that are recommended now](levels.md)\n\
             - [Which clauses cover upstream's e2e tests](upstream-tests.md)\n\
             - [Contention by scheduler](contention.md)\n",
        );
        page
    }

    fn page(group: &Group) -> String {
        let title = [&group.title[..1].to_uppercase(), &group.title[1..]].concat();
        let mut page = format!(
            "{GENERATED}# {}: {title}\n\n[All groups, and the vocabulary of the contract](README.md)\n",
            group.id
        );
        if let Some(about) = group.about {
            writeln!(page, "\n{about}").unwrap();
        }
        page.push('\n');
        for clause in clauses(group) {
            writeln!(page, "- [{}](#{}): {}", clause.id, clause.id.to_lowercase(), clause.title).unwrap();
        }
        for clause in clauses(group) {
            write!(page, "\n{}", section(clause)).unwrap();
        }
        page
    }

    fn levels() -> String {
        let reasons: BTreeMap<String, String> = serde_yaml::from_str(FORMER_LEVELS).unwrap();
        let mut page = format!(
            "{GENERATED}# Clauses that are no longer required\n\n\
             Before clauses had levels, these core clauses were required of every operator. Only this suite asks for them, so they\n\
             are recommended now.\n\n| clause | title | reason |\n|---|---|---|\n"
        );
        let mut listed = 0;
        for clause in CLAUSES.iter() {
            let Some(reason) = reasons.get(clause.id) else { continue };
            assert!(clause.is_recommended(), "{} is required: contract/levels.yaml lists it", clause.id);
            let link = clause.group().map(file).unwrap_or_default();
            let (id, title, anchor) = (clause.id, clause.title, clause.id.to_lowercase());
            writeln!(page, "| [{id}]({link}#{anchor}) | {title} | {reason} |").unwrap();
            listed += 1;
        }
        assert_eq!(listed, reasons.len(), "contract/levels.yaml names a clause that does not exist");
        page
    }

    #[test]
    fn the_committed_pages_match_the_contract() {
        let groups = GROUPS.iter().map(|group| (file(group), page(group)));
        let update = std::env::var_os("UPDATE_DOCS").is_some();
        let others = [("README.md".to_owned(), front()), ("levels.md".to_owned(), levels())];
        for (name, text) in groups.chain(others) {
            let path: PathBuf = Path::new(FOLDER).join(&name);
            if update {
                std::fs::write(&path, &text).unwrap();
            }
            assert_eq!(
                std::fs::read_to_string(&path).unwrap_or_default(),
                text,
                "{name}: UPDATE_DOCS=1 writes it"
            );
        }
    }

    #[test]
    fn every_clause_names_its_cases_or_what_it_follows_from() {
        for clause in CLAUSES.iter() {
            assert!(!cases(clause).is_empty(), "{}", clause.id);
        }
    }
    #[rstest::rstest]
    #[case("AON-10", "| sources | none: only this suite asks for it |")]
    #[case(
        "AON-12",
        "- `aon/scheduler-killed-half-way`: A restarted scheduler binds the rest of a gang that is half bound"
    )]
    #[case("VOL-02", "| applies to | `volcano` |")]
    #[case("ADM-10", "| applies to | `volcano` |")]
    #[case("ADM-21", "| applies to | all backends, except `default-scheduler` and external schedulers |")]
    #[case("KUBE-01", "| applies to | `default-scheduler`, except the gang scope Tree |")]
    #[case("EXT-03", "- none; it follows from the clauses of AON")]
    fn a_section_says_who_asks_where_it_applies_and_what_tests_it(#[case] id: &str, #[case] line: &str) {
        let section = section(clause(id).unwrap());
        assert!(section.lines().any(|found| found == line), "{section}");
    }

    #[test]
    fn a_clause_about_all_backends_names_none() {
        assert!(!section(clause("AON-10").unwrap()).contains("applies to"));
    }
}
