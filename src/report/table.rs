//! A table of many reports: whether each feature was shown, by operator, backend and scheduler version. A
//! column is an operator with its version, a target, its scheduler's version and the version of Kubernetes;
//! the latest report with it counts. A cell shows the report's [evidence](super::FeatureEvidence).

use conformance_contract::clauses::Feature;
use jiff::Timestamp;

use super::{Report, Standing, Summary, TargetReport};

/// A report and the address of its page.
#[derive(Clone, Debug)]
pub struct Source {
    /// Address of the page relative to the table. Clauses are anchors in it.
    pub page: String,
    /// The report that the page shows.
    pub report: Report,
}

/// A table with features as rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// The columns, sorted by operator, target and versions.
    pub columns: Vec<Column>,
    /// Each feature with its result in every column.
    pub features: Vec<(Feature, Vec<Cell>)>,
    /// For each count, the text of every column: the passed clauses of the applicable ones, such as `40/41`.
    pub counts: Vec<(&'static str, Vec<String>)>,
    /// Pages of reports without a column, because a later report has the same columns.
    pub superseded: Vec<String>,
}

/// A target in one report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name and version of the operator.
    pub operator: String,
    /// Title of the target.
    pub target: String,
    /// Version of the scheduler.
    pub scheduler: String,
    /// Version of Kubernetes.
    pub kubernetes: String,
    /// When the run ended.
    pub date: Timestamp,
    /// The target's result in one line.
    pub outcome: String,
    /// Address of the report's page.
    pub page: String,
}

impl Column {
    fn is_same_subject(&self, other: &Self) -> bool {
        let subject = |column: &Self| {
            [&column.operator, &column.target, &column.scheduler, &column.kubernetes].map(String::clone)
        };
        subject(self) == subject(other)
    }
}

/// The result of a feature in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The result. `None` if the feature is neither declared nor shown.
    pub standing: Option<Standing>,
    /// The clauses that decided the result, each with its address in the report's page.
    pub clauses: Vec<(String, String)>,
    /// Why the feature is not declared.
    pub reason: Option<String>,
}

impl Cell {
    fn of(target: &TargetReport, feature: Feature, page: &str) -> Self {
        let evidence = target.evidence().into_iter().find(|of| of.name == feature);
        let unsupported = target.features.unsupported.iter().find(|not| not.name == feature);
        let clauses = evidence.iter().flat_map(|of| &of.clauses);
        Self {
            standing: evidence.as_ref().map(|of| of.standing),
            clauses: clauses.map(|id| (id.clone(), format!("{page}#{id}"))).collect(),
            reason: unsupported.map(|not| not.reason.clone()),
        }
    }

    /// The result in one or two words, in capitals if it makes the run non-conformant.
    pub fn word(&self) -> &'static str {
        match self.standing {
            Some(Standing::DeclaredAndShown) => "shown",
            Some(Standing::DeclaredAndNotShown) => "NOT SHOWN",
            Some(Standing::DeclaredAndNotJudged) => "not judged",
            Some(Standing::ShownAndNotDeclared) => "shown, undeclared",
            None => "–",
        }
    }
}

/// Builds the table of these reports.
pub fn table(sources: &[Source]) -> Table {
    let mut columns: Vec<(Column, &TargetReport)> = Vec::new();
    for Source { page, report } in sources {
        for target in &report.targets {
            let column = column(page, report, target);
            match columns.iter_mut().find(|(known, _)| known.is_same_subject(&column)) {
                Some(known) if known.0.date < column.date => *known = (column, target),
                Some(_) => {}
                None => columns.push((column, target)),
            }
        }
    }
    let is_used = |page: &str| columns.iter().any(|(column, _)| column.page == page);
    let superseded =
        sources.iter().filter(|source| !is_used(&source.page)).map(|source| source.page.clone()).collect();
    columns.sort_by_key(|(column, _)| {
        (column.operator.clone(), column.target.clone(), column.scheduler.clone(), column.kubernetes.clone())
    });
    let row = |feature: Feature| {
        let cells = columns.iter().map(|(column, target)| Cell::of(target, feature, &column.page));
        (feature, cells.collect::<Vec<_>>())
    };
    let has_result = |cell: &Cell| cell.standing.is_some();
    let features = Feature::ALL.into_iter().map(row).filter(|(_, cells)| cells.iter().any(has_result));
    let counts = Summary::COUNTS.into_iter().map(|(name, count)| {
        let kept = columns.iter().map(|(_, target)| count(&target.summary).passed_of_applicable());
        (name, kept.collect())
    });
    let (features, counts) = (features.collect(), counts.collect());
    Table { features, counts, superseded, columns: columns.into_iter().map(|(column, _)| column).collect() }
}

fn column(page: &str, report: &Report, target: &TargetReport) -> Column {
    // A merged report has several providers. Kubernetes' own scheduler has the version of the provider.
    let providers = report.providers();
    let same_version =
        providers.iter().copied().find(|provider| provider.kubernetes_version == target.version);
    Column {
        operator: format!("{} {}", report.operator.name, report.operator.version),
        target: target.title(),
        scheduler: target.version.clone(),
        kubernetes: same_version.unwrap_or(&report.provider).kubernetes_version.clone(),
        date: report.date,
        outcome: target.headline(&report.providers()).to_string(),
        page: page.to_owned(),
    }
}

impl Table {
    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let row = |cells: Vec<String>| {
            let cells = cells.into_iter().map(|cell| cell.replace('|', r"\|"));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let line = |name: &str, value: &dyn Fn(&Column) -> String| {
            row(std::iter::once(name.to_owned()).chain(self.columns.iter().map(value)).collect())
        };
        let mut text = String::from("# Features by backend and version\n\n");
        text += &line("operator", &|column| column.operator.clone());
        text += &format!("{}|\n", "|---".repeat(1 + self.columns.len()));
        text += &line("target", &|column| column.target.clone());
        text += &line("scheduler", &|column| column.scheduler.clone());
        text += &line("Kubernetes", &|column| column.kubernetes.clone());
        text += &line("run", &|column| format!("[{}]({})", column.date.strftime("%Y-%m-%d"), column.page));
        text += &line("result", &|column| column.outcome.clone());
        for (feature, cells) in &self.features {
            let cells = cells.iter().map(|cell| {
                let links: Vec<String> =
                    cell.clauses.iter().map(|(id, address)| format!("[{id}]({address})")).collect();
                match links.is_empty() {
                    true => cell.word().to_owned(),
                    false => format!("{} ({})", cell.word(), links.join(", ")),
                }
            });
            text += &row(std::iter::once(format!("**{feature}**")).chain(cells).collect());
        }
        for (name, kept) in &self.counts {
            text += &row(std::iter::once(format!("{name}, kept/owed")).chain(kept.iter().cloned()).collect());
        }
        text += "\nA feature is *shown* if its applicable clauses hold. `–`: the feature is not declared.\n";
        if !self.superseded.is_empty() {
            text += &format!(
                "\nLeft out, because later reports have the same columns: {}.\n",
                self.superseded.join(", ")
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn source(page: &str, change: impl FnOnce(&mut Report)) -> Source {
        let mut report = fixture::all_backends();
        change(&mut report);
        Source { page: page.to_owned(), report }
    }

    #[test]
    fn features_by_backend_and_version() {
        let older = source("old/report.html", |report| report.operator.version = "0.0.9".to_owned());
        let table = table(&[source("new/report.html", |_| {}), older]);
        assert_eq!(table.columns.len(), 12);
        insta::assert_snapshot!(table.markdown());
    }

    #[test]
    fn the_latest_of_several_reports_on_one_subject_counts() {
        let later = |report: &mut Report| report.date = "2026-12-02T10:00:00Z".parse().unwrap();
        for sources in [[source("a", later), source("b", |_| {})], [source("b", |_| {}), source("a", later)]]
        {
            let table = table(&sources);
            assert!(table.columns.iter().all(|column| column.page == "a"));
            assert_eq!(table.superseded, ["b"]);
        }
    }
}
