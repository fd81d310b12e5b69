//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling does not exist.

use crate::causes::{MISSING_SIBLING, on_pods};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    on_pods(&MISSING_SIBLING, "What reason do the pods report while a sibling of their gang is missing?");
