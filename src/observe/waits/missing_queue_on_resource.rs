//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist.

use crate::causes::{MISSING_QUEUE, on_resource};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    on_resource(&MISSING_QUEUE, "What does the gang resource report while the queue of the gang is missing?");
