//! Eight cliques, the most at one level of a tree of gang resources, each of one required and one surplus pod
//! x 1 GPU. 1 node x 4 GPUs is too small for the minimum, 2 nodes fit exactly the minimum, 4 nodes fit all.

use super::surplus_last;
use crate::prelude::*;

const SET: &str = "eight-cliques";

pub(crate) const CASE: Case = Case::new(
    "The minimum of eight cliques is bound before any surplus pod",
    |test| Box::pin(surplus_last::drive(test, SET, 8, 16)),
    check,
)
.clauses(&[AON_05, AON_22])
.nodes(&[nodes(1).gpus(4), nodes(1).gpus(4).joining(1), nodes(2).gpus(4).joining(2)])
.in_scope("Tree");

fn check(history: &History) -> Vec<Finding> {
    surplus_last::check(history, SET, |live| {
        let base = history.base(SET)?;
        all(base.groups.iter().map(|group| binding::exactly(live, &group.clique, 1)))
    })
}
