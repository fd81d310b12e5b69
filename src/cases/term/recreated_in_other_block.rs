//! Block `old` has one node x 16 GPUs and one x 8, each in its own rack. Block `new` has 3 nodes x 8 GPUs in
//! two racks. A gang of 3 pods x 8 GPUs requires one block. The steps: `term/recreated-in-other-rack`.

use conformance_contract::names::BLOCK;

use super::recreated_in_other_rack::{check, drive};
use crate::prelude::*;

const SET: &str = "leaves-block";

pub(crate) const CASE: Case = Case::new(
    "A recreated gang moves to another block if the old block has no room",
    |test| Box::pin(drive(test, SET)),
    |history| check(history, SET, BLOCK),
)
.clauses(&[TERM_18])
.nodes(&[
    nodes(1).gpus(16).block("old").rack("o1"),
    nodes(1).gpus(8).block("old").rack("o2"),
    nodes(2).gpus(8).block("new").rack("n1").joining(1),
    nodes(1).gpus(8).block("new").rack("n2").joining(1),
]);
