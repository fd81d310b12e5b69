//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{on_pods, too_few_pods};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("What reason do the pods report while their gang has too few pods?", too_few_pods, on_pods)
        .answers(reports::ON_PODS)
        .nodes(&[nodes(3).gpus(8)]);
