//! 2 nodes x 8 GPUs without the label of the level; a gang of 2 pods x 8 GPUs that requires the level.

use super::{WITHOUT_LEVELS, in_events, missing_label};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "Which objects are events about while no node has the label of a required level?",
    missing_label,
    in_events
)
.answers(reports::IN_EVENTS)
.not_on(WITHOUT_LEVELS)
.nodes(&[nodes(2).gpus(8)]);
