//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling does not exist.

use crate::causes::{WITHOUT_SIBLINGS, missing_sibling, on_pods};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "What reason do the pods report while a sibling of their gang is missing?",
    missing_sibling,
    on_pods
)
.answers(reports::ON_PODS)
.not_on(WITHOUT_SIBLINGS)
.nodes(&[nodes(3).gpus(8)]);
