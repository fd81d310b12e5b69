//! 3 nodes x 8 GPUs; two gangs of 1 pod x 8 GPUs run, which are the replicas of one scaling group. A gang of
//! 2 pods x 8 GPUs waits: one short. The scaling group is scaled in to one replica.

use super::Reason;
use crate::prelude::*;

const SET: &str = "heir-of-a-group-replica";
const HOLDER: &str = "shrinking-group";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after a scaling group is scaled in",
    |test| Box::pin(super::drive(test, SET, Reason::HeldByGroupOf(HOLDER))),
    |history| super::check(history, WAKE_05, SET),
)
.clauses(&[WAKE_05])
.nodes(&[nodes(3).gpus(8)])
.except(Scheduler::KOORDINATOR);
