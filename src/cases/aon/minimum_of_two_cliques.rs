//! Two cliques, each of one required and one surplus pod x 8 GPUs. 1 node x 8 GPUs has room for less than the
//! minimum. 2 nodes have room for the minimum, or for a surplus instead of a required pod. 4 nodes fit all.

use super::competing_two_clique_gangs::is_atomic;
use super::surplus_last;
use crate::prelude::*;

const SET: &str = "two-cliques";

pub(crate) const CASE: Case = case!("The minimum of two cliques is bound before any surplus pod")
    .clauses(&[AON_05, AON_22])
    .nodes(&[nodes(1).gpus(8), nodes(1).gpus(8).joining(1), nodes(2).gpus(8).joining(2)])
    .with_feature(Feature::AtomicPodGang);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if is_atomic(test.target).is_err() {
        return Ok(());
    }
    surplus_last::drive(test, SET, 2, 4).await
}

fn check(history: &History) -> Vec<Finding> {
    if let Err(why) = is_atomic(history.header.target) {
        return [AON_05, AON_22].map(|clause| finding(clause, || Err(why.clone()))).into();
    }
    surplus_last::check(history, SET, |live| {
        binding::exactly(live, "two-cliques-0-left", 1)?;
        binding::exactly(live, "two-cliques-0-right", 1)
    })
}
