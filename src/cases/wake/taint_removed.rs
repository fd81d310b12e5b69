//! 2 nodes x 8 GPUs, one of them with a taint; a gang of 2 pods x 8 GPUs: one short. The taint is removed.

use super::Reason;
use crate::prelude::*;

const SET: &str = "tainted-off";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after a taint is removed",
    |test| Box::pin(super::drive(test, SET, Reason::Tainted)),
    |history| super::check(history, WAKE_03, SET),
)
.clauses(&[WAKE_03])
.nodes(&[nodes(2).gpus(8)])
.except(Scheduler::KOORDINATOR);
