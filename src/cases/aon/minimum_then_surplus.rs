//! A gang of 3 with 2 surplus pods, each x 8 GPUs. 2 nodes x 8 GPUs: less than the minimum. With a third
//! node: the minimum and no more. With a fourth and fifth: all.

use super::surplus_last;
use crate::prelude::*;

const SET: &str = "elastic";

pub(crate) const CASE: Case = Case::new(
    "The minimum of a gang is bound first and whole, surplus pods after it",
    |test| Box::pin(surplus_last::drive(test, SET, 3, 5)),
    check,
)
.clauses(&[AON_05])
.nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1), nodes(2).gpus(8).joining(2)]);

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_05, || {
        surplus_last::check(history, SET, |live| binding::exactly(live, "elastic-0-worker", 3))
    })]
}
