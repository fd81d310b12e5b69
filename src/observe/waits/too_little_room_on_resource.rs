//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short.

use crate::causes::{TOO_LITTLE_ROOM, on_resource};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    on_resource(&TOO_LITTLE_ROOM, "What does the gang resource report while the gang does not fit?");
