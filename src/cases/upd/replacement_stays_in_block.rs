//! Block `home` has 2 nodes x 8 GPUs, each in its own rack; block `away` has one node x 8. A gang of 2 pods x
//! 8 GPUs, both required, requires one block. The steps are those of case `upd/replacement-stays-in-rack`.

use conformance_contract::names::BLOCK;

use super::replacement_stays_in_rack::{check, drive};
use crate::prelude::*;

const SET: &str = "in-block";

pub(crate) const CASE: Case = Case::new(
    "A pod replaced by an update waits for room in its gang's block",
    |test| Box::pin(drive(test, SET)),
    |history| check(history, SET, BLOCK),
)
.clauses(&[UPD_19])
.nodes(&[
    nodes(1).gpus(8).block("home").rack("h1"),
    nodes(1).gpus(8).block("home").rack("h2"),
    nodes(1).gpus(8).block("away").rack("a1"),
]);
