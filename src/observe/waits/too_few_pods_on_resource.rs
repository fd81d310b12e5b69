//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{on_resource, too_few_pods};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "What does the gang resource report while the gang has too few pods?",
    too_few_pods,
    on_resource
)
.answers(reports::ON_RESOURCE)
.nodes(&[nodes(3).gpus(8)]);
