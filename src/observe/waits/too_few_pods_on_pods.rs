//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{TOO_FEW_PODS, on_pods};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    on_pods(&TOO_FEW_PODS, "What reason do the pods report while their gang has too few pods?");
