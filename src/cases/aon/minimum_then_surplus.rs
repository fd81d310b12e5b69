//! A gang of 3 required and 2 surplus pods, each x 8 GPUs. 2 nodes x 8 GPUs have room for less than the
//! minimum, 3 nodes for exactly the minimum, and 5 nodes for all pods.

use super::surplus_last;
use crate::prelude::*;

const SET: &str = "elastic";

pub(crate) const CASE: Case = Case::new(
    "The minimum of a gang is bound first and whole, surplus pods after it",
    |test| Box::pin(surplus_last::drive(test, SET, 3, 5)),
    check,
)
.clauses(&[AON_05, AON_22])
.nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1), nodes(2).gpus(8).joining(2)]);

fn check(history: &History) -> Vec<Finding> {
    surplus_last::check(history, SET, |live| binding::exactly(live, "elastic-0-worker", 3))
}
