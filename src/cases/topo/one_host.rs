//! One node x 40 GPUs, of which a filler pod takes 16, has room for 3 pods x 8 GPUs. 4 empty nodes x 15 GPUs
//! have room for one pod each. Two gangs require one host each. The gang of 2 required pods and a surplus pod
//! fits only next to the filler. The gang of 4 pods fits the cluster, but no host.

use conformance_contract::names::HOST;

use super::one_block::{Sets, drive, in_the_only_domain};
use crate::prelude::*;

pub(crate) const CASE: Case = Case::new(
    "A gang that requires one host uses the only host with room, or waits",
    |test| Box::pin(drive(test, SETS, 3)),
    |history| vec![finding(TOPO_13, || in_the_only_domain(history, SETS, HOST))],
)
.clauses(&[TOPO_13])
.nodes(&[nodes(4).gpus(15).rack("a"), nodes(1).gpus(40).rack("a")]);

const SETS: Sets = Sets { filler: "host-filler", too_large: "no-host", fits: "one-host" };
