//! 2 nodes x 8 GPUs without the label of the level; a gang of 2 pods x 8 GPUs that requires the level.

use super::{WITHOUT_LEVELS, missing_label, on_pods};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "What reason do the pods report while no node has the label of a required level?",
    missing_label,
    on_pods
)
.answers(reports::ON_PODS)
.not_on(WITHOUT_LEVELS)
.nodes(&[nodes(2).gpus(8)]);
