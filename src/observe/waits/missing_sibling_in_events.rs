//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling does not exist.

use crate::causes::{MISSING_SIBLING, in_events};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    in_events(&MISSING_SIBLING, "Which objects are events about while a sibling of a gang is missing?");
