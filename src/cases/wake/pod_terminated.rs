//! 2 nodes x 8 GPUs; a deleted gang's pod x 8 GPUs is still Terminating. A gang of 2 pods x 8 GPUs waits.

use super::Reason;
use crate::prelude::*;

const SET: &str = "heir-of-a-pod";
const HOLDER: &str = "departing";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after the last pod of a deleted gang is gone",
    |test| Box::pin(super::drive(test, SET, Reason::Terminating(HOLDER))),
    |history| super::check(history, WAKE_09, SET),
)
.clauses(&[WAKE_09])
.nodes(&[nodes(2).gpus(8)])
.needs(&[Need::SimulatedNodes])
.except(Scheduler::KOORDINATOR);
