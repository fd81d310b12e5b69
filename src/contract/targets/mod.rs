//! Each scheduler has one file and a line in [`DESCRIPTIONS`]: its targets, and the kinds of its clusters.

mod ai_conformance;
mod external;
mod kai;
mod koordinator;
mod kube;
mod train_job;
mod volcano;

use crate::kinds::{self, Kind};
use crate::target::{Target, TargetDescription};

pub use ai_conformance::{KINDS as AI_CONFORMANCE_KINDS, TARGETS as AI_CONFORMANCE_TARGETS};
pub(crate) use external::{CONFORMANCE_EXTERNAL, why_not_of_an_external_profile};
pub use kube::KUBE;
pub use train_job::{KINDS as TRAIN_JOB_KINDS, TARGETS as TRAIN_JOB_TARGETS};

pub(crate) struct SchedulerDescription {
    /// The scheduler's targets, in the order of the report.
    targets: &'static [&'static TargetDescription],
    kinds: &'static [Kind],
}

/// All schedulers, in the order of the report.
static DESCRIPTIONS: [&SchedulerDescription; 5] = [
    &kube::DESCRIPTION,
    &volcano::DESCRIPTION,
    &koordinator::DESCRIPTION,
    &kai::DESCRIPTION,
    &external::DESCRIPTION,
];

const fn counts() -> (usize, usize) {
    let (mut targets, mut kinds, mut i) = (0, kinds::OF_EVERY_CLUSTER.len(), 0);
    while i < DESCRIPTIONS.len() {
        targets += DESCRIPTIONS[i].targets.len();
        kinds += DESCRIPTIONS[i].kinds.len();
        i += 1;
    }
    (targets, kinds)
}

/// All targets that the command line selects by name alone, in the order of the report.
pub const TARGETS: [Target; counts().0] = {
    let mut all = [Target::of(DESCRIPTIONS[0].targets[0]); counts().0];
    let (mut i, mut next) = (0, 0);
    while i < DESCRIPTIONS.len() {
        let mut j = 0;
        while j < DESCRIPTIONS[i].targets.len() {
            all[next] = Target::of(DESCRIPTIONS[i].targets[j]);
            (j, next) = (j + 1, next + 1);
        }
        i += 1;
    }
    all
};

/// The kinds in a history: those of every cluster, then those of each scheduler.
pub static KINDS: [Kind; counts().1] = {
    let mut all = [kinds::OF_EVERY_CLUSTER[0]; counts().1];
    let (mut i, mut next) = (0, 0);
    while next < kinds::OF_EVERY_CLUSTER.len() {
        all[next] = kinds::OF_EVERY_CLUSTER[next];
        next += 1;
    }
    while i < DESCRIPTIONS.len() {
        let mut j = 0;
        while j < DESCRIPTIONS[i].kinds.len() {
            all[next] = DESCRIPTIONS[i].kinds[j];
            (j, next) = (j + 1, next + 1);
        }
        i += 1;
    }
    all
};
