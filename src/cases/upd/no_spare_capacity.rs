//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs, all required: no spare room. The case changes its template.

use crate::prelude::*;

marks! { UPDATED = "every pod is new"; }

const SET: &str = "full";

pub(crate) const CASE: Case = case!("An update of a gang that fills its nodes proceeds pod by pod")
    .clauses(&[UPD_05])
    .nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    if test.revise(SET, "2").await? {
        test.until_updated(SET, UPD_05).await?;
        test.mark(UPDATED, Value::Null);
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![update_finding(history, UPD_05, || {
        updates::steps_do_not_overlap(history, SET)?;
        updates::updater_deletes_only_old(history, SET)?;
        history.at(UPDATED, |updated| updates::is_complete(history, updated, SET))
    })]
}
