//! 1 node; a PodCliqueSet of two cliques; the second starts after the first. The PodCliqueSet is deleted.

use conformance_check::startup;

use crate::prelude::*;

marks! { RIGHTS = "rights of the init container"; }

const SET: &str = "two-steps";

pub(crate) const CASE: Case =
    case!("Init containers may only read pods, and their access is deleted with the PodCliqueSet")
        .clauses(&[START_03, DEL_01])
        .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    test.submit_and_converge(SET).await?;
    test.record_init_rights(RIGHTS).await?;
    test.delete("PodCliqueSet", SET).await?;
    test.until_nothing_left().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(START_03, || {
            startup::token_in_one_container(history, SET)?;
            for (_, mark) in history.marks(RIGHTS) {
                startup::minimal_permissions(mark)?;
            }
            match history.marks(RIGHTS).count() {
                0 => Err(Broken::NotReached("the rights of the service account were not read".into())),
                _ => Ok(()),
            }
        }),
        finding(DEL_01, || cleanup::nothing_left(history)),
    ]
}
