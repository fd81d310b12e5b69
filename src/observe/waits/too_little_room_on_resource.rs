//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: room for one pod less.

use crate::causes::{on_resource, too_little_room};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "What does the gang resource report while the gang does not fit?",
    too_little_room,
    on_resource
)
.answers(reports::ON_RESOURCE)
.nodes(&[nodes(2).gpus(8)]);
