//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: room for one pod less.

use crate::causes::{in_events, too_little_room};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Which objects are events about while a gang does not fit?", too_little_room, in_events)
        .answers(reports::IN_EVENTS)
        .nodes(&[nodes(2).gpus(8)]);
