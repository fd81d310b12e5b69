//! Clauses as Markdown, made from `contract/` and from the cases: what `contract show` prints, and the pages of `docs/contract/`,
//! which `UPDATE_DOCS=1` writes.

use std::fmt::Write as _;

use conformance_contract::clauses::{Clause, Level, Tier};

/// The section of a clause: its text, who owes it, what it is judged on, who says so, and its cases.
pub fn section(clause: &Clause) -> String {
    let owed_by = match clause.level {
        Level::Core => "everybody".to_owned(),
        Level::Extended(feature) => format!("who declares {feature}"),
    };
    let judged_on = match clause.tier {
        Tier::Contract => "what the API server shows",
        Tier::Scheduling => "what the scheduler did with the pods",
    };
    let sources: Vec<_> = clause.source.split(", ").map(source).collect();
    let (id, title, text) = (clause.id, clause.title, clause.text);
    let mut section = format!("## {id}\n\n**{title}.** {text}.\n\n| | |\n|---|---|\n");
    let mut row = |name, content: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(section, "| {name} | {content} |");
    };
    row("owed by", &owed_by);
    row("judged on", judged_on);
    row("sources", &sources.join(", "));
    row("cases", &cases(clause));
    if let Some(part) = clause.not_tested {
        row("not tested", part);
    }
    section
}

/// Threads and proposals of upstream's have addresses.
fn source(source: &str) -> String {
    let (origin, rest) = source.split_at(source.find(' ').unwrap_or(source.len()));
    let number = origin.strip_prefix('#').or_else(|| origin.strip_prefix('G'));
    match number.filter(|number| number.parse::<u32>().is_ok()) {
        Some(number) => format!("[{origin}](https://github.com/ai-dynamo/grove/issues/{number}){rest}"),
        None => source.to_owned(),
    }
}

fn cases(clause: &Clause) -> String {
    let named: Vec<_> = crate::judging(clause.id).map(|case| format!("`{}`", case.id)).collect();
    match clause.rests_on {
        Some(group) => format!("none; it follows from {group}"),
        None => named.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use conformance_contract::clauses::{CLAUSES, GROUPS, Group};

    use super::*;

    const FRONT: &str = include_str!("../../contract/front.md");
    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contract");
    const GENERATED: &str = "<!-- Generated from contract/ by src/cases/contract_pages.rs. -->\n";

    fn clauses(group: &Group) -> impl Iterator<Item = &'static Clause> {
        CLAUSES.iter().filter(|clause| clause.group().is_some_and(|own| own.id == group.id))
    }

    fn file(group: &Group) -> String {
        format!("{}.md", group.id.to_lowercase())
    }

    fn front() -> String {
        let mut page = format!(
            "{GENERATED}{FRONT}\n## Groups\n\n| group | about | clauses | of a feature | ours alone |\n|---|---|---|---|---|\n"
        );
        let row = |about: &str, all: &[&Clause]| {
            let count = |is: fn(&Clause) -> bool| all.iter().filter(|clause| is(clause)).count();
            let (of_feature, own) = (count(|clause| clause.feature().is_some()), count(Clause::is_own));
            format!("{about} | {} | {of_feature} | {own} |\n", all.len())
        };
        for group in GROUPS.iter() {
            let about = format!("| [{}]({}) | {}", group.id, file(group), group.title);
            page.push_str(&row(&about, &clauses(group).collect::<Vec<_>>()));
        }
        page.push_str(&row("| all |", &CLAUSES.iter().collect::<Vec<_>>()));
        page.push_str("\n[Which clauses cover upstream's e2e tests](upstream-tests.md)\n");
        page
    }

    fn page(group: &Group) -> String {
        let title = [&group.title[..1].to_uppercase(), &group.title[1..]].concat();
        let mut page = format!(
            "{GENERATED}# {}: {title}\n\n[All groups, and the words of the contract](README.md)\n",
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

    #[test]
    fn the_pages_are_those_of_the_contract() {
        let groups = GROUPS.iter().map(|group| (file(group), page(group)));
        let update = std::env::var_os("UPDATE_DOCS").is_some();
        for (name, text) in groups.chain([("README.md".to_owned(), front())]) {
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
    fn every_clause_of_a_page_names_its_cases() {
        for clause in CLAUSES.iter() {
            assert!(!cases(clause).is_empty(), "{}", clause.id);
        }
    }
}
