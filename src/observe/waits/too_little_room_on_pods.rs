//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short.

use crate::causes::{TOO_LITTLE_ROOM, on_pods};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    on_pods(&TOO_LITTLE_ROOM, "What reason do the pods report while their gang does not fit?");
