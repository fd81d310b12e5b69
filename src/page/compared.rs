use askama::Template;
use conformance_report::{ChangeKind, ClauseResult, Comparison, Exit, Standing, matrix};

use super::Unrendered;
use super::policy::{NO_SCRIPT, STYLE, policy};

#[derive(Template)]
#[template(path = "compared.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    comparison: &'a Comparison<'a>,
    page: &'a str,
    result: String,
    result_class: &'static str,
    changes: Vec<(ChangeKind, Vec<Row<'a>>)>,
    counted: Vec<(ChangeKind, Vec<(String, String)>)>,
    features: Vec<Feature<'a>>,
}

struct Row<'a> {
    id: &'a str,
    target: &'a str,
    old: Cell,
    new: Cell,
    why: String,
    text: &'a str,
}

struct Cell {
    verdict: &'static str,
    word: String,
}

struct Feature<'a> {
    name: String,
    target: &'a str,
    old: String,
    new: String,
    is_regression: bool,
    clauses: &'a [String],
}

impl Cell {
    fn of(clause: Option<&ClauseResult>) -> Self {
        match clause {
            Some(clause) => {
                Self { verdict: clause.outcome.verdict.as_str(), word: matrix::cell(&clause.outcome) }
            }
            None => Self { verdict: "not-run", word: "none".to_owned() },
        }
    }
}

/// Renders a comparison as a page. Clauses link to `page`, the relative path of the newer report's page.
pub fn compared(comparison: &Comparison<'_>, page: &str) -> Result<String, Unrendered> {
    let changes = comparison.listed().into_iter().map(|(kind, changed)| {
        let rows = changed.into_iter().map(|changed| Row {
            id: changed.id,
            target: &changed.target,
            old: Cell::of(changed.old),
            new: Cell::of(changed.new),
            why: changed.reason(),
            text: changed.new.or(changed.old).map(|clause| clause.requirement.as_str()).unwrap_or_default(),
        });
        (kind, rows.collect())
    });
    let word = |standing: Option<Standing>| standing.map_or("not declared".to_owned(), |of| of.to_string());
    let features = comparison.features.iter().map(|feature| Feature {
        name: feature.name.to_string(),
        target: &feature.target,
        old: word(feature.old),
        new: word(feature.new),
        is_regression: feature.is_regression(),
        clauses: &feature.clauses,
    });
    let result_class = match comparison.exit() {
        Exit::Conformant => "pass",
        Exit::NotConformant => "fail",
        Exit::Inconclusive | Exit::Usage => "error",
    };
    let rendered = Page {
        policy: policy(NO_SCRIPT),
        style: STYLE,
        comparison,
        page,
        result: comparison.result(),
        result_class,
        changes: changes.collect(),
        counted: comparison.counted(),
        features: features.collect(),
    };
    rendered.render().map_err(Unrendered)
}
