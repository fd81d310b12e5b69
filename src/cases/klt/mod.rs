//! What only real kubelets show.

mod containers_run;
mod controller_rolled;
mod gpus_allocated_once;
mod gpus_unhealthy;
mod image_missing;
mod kubelet_restarted;
mod node_lost;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &containers_run::CASE,
    &gpus_allocated_once::CASE,
    &gpus_unhealthy::CASE,
    &kubelet_restarted::CASE,
    &node_lost::CASE,
    &image_missing::CASE,
    &controller_rolled::CASE,
];
