//! 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs: one short. A second node joins.

use super::Reason;
use crate::prelude::*;

const SET: &str = "joined-by-a-node";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after a node has joined",
    |test| Box::pin(super::drive(test, SET, Reason::NodeMissing)),
    |history| super::check(history, WAKE_01, SET),
)
.clauses(&[WAKE_01])
.nodes(&[nodes(1).gpus(8), nodes(1).gpus(8).joining(1)])
.except(Scheduler::KOORDINATOR);
