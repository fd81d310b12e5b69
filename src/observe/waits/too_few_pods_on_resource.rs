//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{TOO_FEW_PODS, on_resource};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    on_resource(&TOO_FEW_PODS, "What does the gang resource report while the gang has too few pods?");
