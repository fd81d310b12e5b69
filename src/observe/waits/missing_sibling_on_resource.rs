//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling does not exist.

use crate::causes::{WITHOUT_SIBLINGS, missing_sibling, on_resource};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "What does the gang resource report while a sibling of the gang is missing?",
    missing_sibling,
    on_resource
)
.answers(reports::ON_RESOURCE)
.not_on(WITHOUT_SIBLINGS)
.nodes(&[nodes(3).gpus(8)]);
