//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: room for one pod less.

use crate::causes::{on_pods, too_little_room};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("What reason do the pods report while their gang does not fit?", too_little_room, on_pods)
        .answers(reports::ON_PODS)
        .nodes(&[nodes(2).gpus(8)]);
