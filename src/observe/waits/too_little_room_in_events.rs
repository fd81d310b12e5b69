//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short.

use crate::causes::{TOO_LITTLE_ROOM, in_events};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    in_events(&TOO_LITTLE_ROOM, "Which objects are events about while a gang does not fit?");
