pub(crate) mod counts_match_pods;
pub(crate) mod foreign_gate;
pub(crate) mod gang_resources_refused;
pub(crate) mod name_taken;
pub(crate) mod pods_refused;
mod rests;
pub(crate) mod scarce_resource;
pub(crate) mod status_stable_while_pending;
pub(crate) mod status_write_faults;
