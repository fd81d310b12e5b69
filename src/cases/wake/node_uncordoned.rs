//! 2 nodes x 8 GPUs, one of them cordoned; a gang of 2 pods x 8 GPUs: one short. The node is uncordoned.

use super::Reason;
use crate::prelude::*;

const SET: &str = "cordoned-off";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after a node is uncordoned",
    |test| Box::pin(super::drive(test, SET, Reason::Cordoned)),
    |history| super::check(history, WAKE_02, SET),
)
.clauses(&[WAKE_02])
.nodes(&[nodes(2).gpus(8)])
.except(Scheduler::KOORDINATOR);
