//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs, which fits. Both pods use a claim without a volume.

use super::Reason;
use crate::prelude::*;

const SET: &str = "volumeless";

pub(crate) const CASE: Case = Case::new(
    "A waiting gang is bound soon after the volume of its claim is created",
    |test| Box::pin(super::drive(test, SET, Reason::VolumeMissing(SET))),
    |history| super::check(history, WAKE_14, SET),
)
.clauses(&[WAKE_14])
.nodes(&[nodes(2).gpus(8)])
.needs(&[Need::Volumes])
.except(Scheduler::KOORDINATOR);
