use comfy_table::{ContentArrangement, Row, Table, presets};
use conformance_contract::clauses::{self, Tier};
use conformance_contract::target;
use conformance_driver::case::{Case, Isolation, Need};
use conformance_report::Exit;
use conformance_run::suites;
use serde::Serialize;

use super::args::{ListArgs, ListFormat};
use super::{Failure, output};

pub(crate) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let text = match args.format {
        ListFormat::Table => Ok(table_of_cases()),
        ListFormat::Json => {
            serde_json::to_string_pretty(&suites::cases().map(ListedCase::of).collect::<Vec<_>>())
        }
    };
    output::data(&text.map_err(|error| Failure::Infrastructure(error.to_string()))?);
    Ok(Exit::Conformant)
}

/// The JSON form of a case. Later versions only add fields.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedCase {
    id: &'static str,
    group: &'static str,
    title: &'static str,
    clauses: &'static [&'static str],
    /// `scheduling` if at least one of its clauses is judged on scheduling, else `contract`.
    tier: Tier,
    /// The targets that run the case, by the names of their artifact folders.
    targets: Vec<String>,
    isolation: &'static str,
    needs: Vec<&'static str>,
    /// The usual duration on two cores, while other cases run; null if it was not measured.
    usual_seconds: Option<f64>,
}

impl ListedCase {
    fn of(case: &Case) -> Self {
        let clauses = || case.clauses.iter().filter_map(|id| clauses::clause(id));
        let needs_scheduler = clauses().any(|clause| clause.tier == Tier::Scheduling);
        Self {
            id: case.id,
            group: case.group(),
            title: case.title,
            clauses: case.clauses,
            tier: if needs_scheduler { Tier::Scheduling } else { Tier::Contract },
            targets: target::every()
                .filter(|target| case.is_for(*target) && !case.clauses_on(*target).is_empty())
                .map(|target| target.slug())
                .collect(),
            isolation: match case.isolation {
                Isolation::Shared => "shared",
                Isolation::Dedicated => "dedicated",
                Isolation::Exclusive => "exclusive",
                Isolation::Upgrade => "upgrade",
            },
            needs: case.needs.iter().map(|need| name_of(*need)).collect(),
            usual_seconds: suites::usual_seconds(case.id),
        }
    }
}

fn name_of(need: Need) -> &'static str {
    match need {
        Need::Kubelets => "kubelets",
        Need::SimulatedNodes => "simulatedNodes",
        Need::Devices => "devices",
        Need::Volumes => "volumes",
        Need::AuditLog => "auditLog",
        Need::SeveralSchedulers => "severalSchedulers",
        Need::Process(name) => name,
        Need::ReferenceController => "referenceController",
        Need::DisableableBackend => "disableableBackend",
        Need::Upgrade => "upgrade",
        Need::PodGangsByHand => "podGangsByHand",
        Need::GangResources => "gangResources",
        Need::TrainerPlugin => "trainerPlugin",
    }
}

pub(crate) fn table(header: impl Into<Row>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    table
}

fn table_of_cases() -> String {
    let mut table = table(["CASE", "CLAUSES", "WHAT IT SHOWS"]);
    for case in suites::cases() {
        table.add_row([case.id.to_owned(), case.clauses.join(" "), case.title.to_owned()]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::suites;

    #[test]
    fn every_case_names_clauses_of_the_contract() {
        for case in suites::cases() {
            assert!(!case.clauses.is_empty(), "{} has no clauses", case.id);
            for id in case.clauses {
                assert!(
                    conformance_contract::clauses::clause(id).is_some(),
                    "{} names the unknown clause {id}",
                    case.id
                );
            }
        }
    }

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = suites::cases().map(|case| case.id).collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
