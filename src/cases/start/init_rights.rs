//! 1 node; two cliques, one starting after the other. Then the PodCliqueSet is deleted.

use conformance_contract::ruling::{Broken, Finding};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, MarkName};
use conformance_judge::{cleanup, finding, startup};

const RIGHTS: MarkName = MarkName::of_case("rights of the init container");

const SET: &str = "modest";

pub(crate) const CASE: Case = Case::new(
    "Init containers may only read pods, and their access is deleted with the PodCliqueSet",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["START-03", "DEL-01"])
.nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    test.read_init_rights(RIGHTS).await?;
    test.delete("PodCliqueSet", SET).await?;
    test.until_nothing_left().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("START-03", || {
            startup::token_in_one_container(history, SET)?;
            for (_, mark) in history.marks(RIGHTS) {
                startup::least_rights(mark)?;
            }
            match history.marks(RIGHTS).count() {
                0 => Err(Broken::NotReached("the rights of the service account were not read".into())),
                _ => Ok(()),
            }
        }),
        finding("DEL-01", || cleanup::nothing_left(history)),
    ]
}
