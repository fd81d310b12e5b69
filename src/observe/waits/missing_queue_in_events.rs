//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist.

use crate::causes::{MISSING_QUEUE, in_events};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    in_events(&MISSING_QUEUE, "Which objects are events about while the queue of a gang is missing?");
