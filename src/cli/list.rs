//! `list`: cases and the clauses they judge, or clauses and the cases that judge them.

use comfy_table::{ContentArrangement, Table, presets};
use conformance_cases as cases;
use conformance_contract::clauses::CLAUSES;
use conformance_report::Exit;

use super::args::ListArgs;
use super::output;

/// Prints the table.
pub(crate) fn list(args: &ListArgs) -> Exit {
    output::data(&if args.clauses { by_clause() } else { by_case() });
    Exit::Conformant
}

fn table(header: [&str; 3]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    table
}

/// One row a case.
fn by_case() -> String {
    let mut table = table(["CASE", "CLAUSES", "WHAT IT SHOWS"]);
    for case in cases::all() {
        table.add_row([case.id.to_owned(), case.clauses.join(" "), case.title.to_owned()]);
    }
    table.to_string()
}

/// One row a clause.
fn by_clause() -> String {
    let mut table = table(["CLAUSE", "LEVEL", "CASES"]);
    for clause in CLAUSES {
        let judged: Vec<_> =
            cases::all().filter(|case| case.clauses.contains(&clause.id)).map(|case| case.id).collect();
        let cases = if judged.is_empty() { "-".to_owned() } else { judged.join(" ") };
        table.add_row([clause.id.to_owned(), clause.level.to_string(), cases]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_names_clauses_of_the_contract() {
        for case in super::cases::all() {
            assert!(!case.clauses.is_empty(), "{} judges nothing", case.id);
            for id in case.clauses {
                assert!(
                    conformance_contract::clauses::clause(id).is_some(),
                    "{} names {id}, which is no clause",
                    case.id
                );
            }
        }
    }

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = super::cases::all().map(|case| case.id).collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
