//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist.

use crate::causes::{WITHOUT_QUEUES, missing_queue, on_pods};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "What reason do the pods report while the queue of their gang is missing?",
    missing_queue,
    on_pods
)
.answers(reports::ON_PODS)
.not_on(WITHOUT_QUEUES)
.nodes(&[nodes(3).gpus(8)]);
