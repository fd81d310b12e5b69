//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist.

use crate::causes::{WITHOUT_QUEUES, missing_queue, on_resource};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "What does the gang resource report while the queue of the gang is missing?",
    missing_queue,
    on_resource
)
.answers(reports::ON_RESOURCE)
.not_on(WITHOUT_QUEUES)
.nodes(&[nodes(3).gpus(8)]);
