//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling does not exist.

use crate::causes::{MISSING_SIBLING, on_resource};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation = on_resource(
    &MISSING_SIBLING,
    "What does the gang resource report while a sibling of the gang is missing?",
);
