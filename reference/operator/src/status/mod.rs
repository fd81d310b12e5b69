//! Reconcilers of statuses. Each collects changes, and writes a status only if it differs.

pub(crate) mod cluster_topology_binding;
mod disruption;
mod foreign_gates;
pub(crate) mod held;
pub(crate) mod pod_clique;
pub(crate) mod pod_clique_set;
pub(crate) mod pod_gang;
pub(crate) mod scaling_group;
mod startup_wait;
mod unbound_claims;

/// Lists the first items, and how many are left out, so that the message of a large gang is short.
fn shortened(items: &[String], most: usize) -> String {
    let listed = items[..items.len().min(most)].join(", ");
    match items.len().saturating_sub(most) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}
