//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{TOO_FEW_PODS, in_events};
use crate::observation::Observation;

pub(crate) const OBSERVATION: Observation =
    in_events(&TOO_FEW_PODS, "Which objects are events about while a gang has too few pods?");
