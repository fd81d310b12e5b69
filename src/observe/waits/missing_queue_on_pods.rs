//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist.

use crate::causes::{MISSING_QUEUE, on_pods};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    on_pods(&MISSING_QUEUE, "What reason do the pods report while the queue of their gang is missing?");
