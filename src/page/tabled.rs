use askama::Template;
use conformance_report::{Standing, Table};

use super::Unrendered;
use super::policy::{NO_SCRIPT, STYLE, policy};

#[derive(Template)]
#[template(path = "tabled.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    table: &'a Table,
}

pub fn tabled(table: &Table) -> Result<String, Unrendered> {
    Page { policy: policy(NO_SCRIPT), style: STYLE, table }.render().map_err(Unrendered)
}

impl Page<'_> {
    #[expect(clippy::unused_self, reason = "templates call methods")]
    fn verdict(&self, standing: &Option<Standing>) -> &'static str {
        match standing {
            Some(Standing::DeclaredAndShown) => "pass",
            Some(Standing::DeclaredAndNotShown) => "fail",
            Some(Standing::DeclaredAndNotJudged) => "not-run",
            Some(Standing::ShownAndNotDeclared) => "known-deviation",
            None => "unsupported",
        }
    }
}
