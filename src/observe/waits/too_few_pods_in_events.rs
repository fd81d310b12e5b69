//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{in_events, too_few_pods};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Which objects are events about while a gang has too few pods?", too_few_pods, in_events)
        .answers(reports::IN_EVENTS)
        .nodes(&[nodes(3).gpus(8)]);
