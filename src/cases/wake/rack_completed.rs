//! 2 nodes x 8 GPUs, only one of them in rack a; a gang of 2 pods x 8 GPUs in one rack: one short.

use super::Reason;
use crate::prelude::*;

const SET: &str = "in-an-incomplete-rack";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after a label completes a rack",
    |test| Box::pin(super::drive(test, SET, Reason::Unlabelled)),
    |history| super::check(history, WAKE_07, SET),
)
.clauses(&[WAKE_07])
.nodes(&[nodes(1).gpus(8).rack("a"), nodes(1).gpus(8)]);
