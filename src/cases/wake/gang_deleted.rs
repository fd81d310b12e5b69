//! 3 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs runs, and another of 2 waits: one short. The first is deleted.

use super::Reason;
use crate::prelude::*;

const SET: &str = "heir";
const HOLDER: &str = "ending";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after another is deleted",
    |test| Box::pin(super::drive(test, SET, Reason::HeldBy(HOLDER))),
    |history| super::check(history, WAKE_04, SET),
)
.clauses(&[WAKE_04])
.nodes(&[nodes(3).gpus(8)])
.except(Scheduler::KOORDINATOR);
