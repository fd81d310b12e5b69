//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist.

use crate::causes::{WITHOUT_QUEUES, in_events, missing_queue};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "Which objects are events about while the queue of a gang is missing?",
    missing_queue,
    in_events
)
.answers(reports::IN_EVENTS)
.not_on(WITHOUT_QUEUES)
.nodes(&[nodes(3).gpus(8)]);
