//! Rack a has 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs in one rack: one short. Rack b joins with 2 nodes.

use super::Reason;
use crate::prelude::*;

const SET: &str = "ahead-of-its-rack";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after a rack has joined",
    |test| Box::pin(super::drive(test, SET, Reason::NodeMissing)),
    |history| super::check(history, WAKE_08, SET),
)
.clauses(&[WAKE_08])
.nodes(&[nodes(1).gpus(8).rack("a"), nodes(2).gpus(8).rack("b").joining(1)]);
