//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling does not exist.

use crate::causes::{WITHOUT_SIBLINGS, in_events, missing_sibling};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "Which objects are events about while a sibling of a gang is missing?",
    missing_sibling,
    in_events
)
.answers(reports::IN_EVENTS)
.not_on(WITHOUT_SIBLINGS)
.nodes(&[nodes(3).gpus(8)]);
