//! 1 node x 8 GPUs; a gang of a pod x 8 GPUs and a pod x 9 GPUs, which fits nowhere until a node x 16 GPUs
//! joins. While its termination delay of 6 s expires four times, the gang must release its node at least
//! twice.

use conformance_driver::limits::RETRIES;

use super::{is_bound, releases_capacity, replica};
use crate::prelude::*;

marks! {
    WAITED = "the delay has expired several times";
    WHOLE = "whole at last";
}

const SET: &str = "lopsided";
const CLIQUES: [&str; 2] = ["lopsided-0-narrow", "lopsided-0-wide"];
/// Seconds, as in the manifest.
const DELAY: u32 = 6;

pub(crate) const CASE: Case =
    case!("A partially bound gang releases its capacity once per terminationDelay until it fits")
        .clauses(&[TERM_17])
        .nodes(&[nodes(1).gpus(8), nodes(1).gpus(16).joining(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let clock = test.start_clock(&format!("{DELAY}s")).await?;
    test.submit(SET).await?;
    let narrow = Awaited::demanded_by(AON_01, "the pod that fits bound");
    test.until(narrow, SCHEDULING, |live| is_bound(live, CLIQUES[0])).await?;
    test.run_clock(&clock, 4, WAITED).await?;
    test.add_nodes(1).await?;
    let whole = Awaited::demanded_by(TERM_17, "both pods bound");
    test.until(whole, RETRIES, |live| CLIQUES.iter().all(|clique| is_bound(live, clique))).await?;
    test.mark(WHOLE, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_17, || {
        let waited = history.waited_for(WAITED)?;
        let scope = replica(history, SET, 0)?.scope();
        releases_capacity(history, &scope, waited, 2, DELAY)?;
        history.reached(WHOLE)?;
        all(CLIQUES.map(|clique| binding::exactly(&history.end(), clique, 1)))
    })]
}
