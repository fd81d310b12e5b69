//! One node x 40 GPUs, of which a filler pod takes 16: places for 3 pods of 8 GPUs. 4 empty nodes x 15 GPUs: one place each.
//! Of two gangs that must be on one host, one of 2 with a surplus pod has room beside the filler only; one of 4 has room
//! in the cluster, but on no host.

use conformance_contract::names::HOST;
use conformance_driver::case::{Case, nodes};
use conformance_judge::finding;

use super::one_block::{drive, in_the_only_domain};

/// TOPO-13.
pub(crate) const CASE: Case = Case::new(
    "A gang that must be on one host is on the only one with room; one that no host has room for is not bound",
    |test| Box::pin(drive(test, 3)),
    |history| vec![finding("TOPO-13", || in_the_only_domain(history, HOST))],
)
.clauses(&["TOPO-13"])
.nodes(&[nodes(4).gpus(15).rack("a"), nodes(1).gpus(40).rack("a")]);
