//! Facts about a state or a history. A driver waits until one is true, and a check turns it into a ruling.
//!
//! - PodCliqueSets: [`convergence`], [`updates`], [`migration`], [`generations`]
//! - pods: [`health`], [`cliques`], [`binding`], [`startup`], [`kubelets`], [`requests`], [`quantity`]
//! - PodGangs and other objects: [`pod_gangs`], [`gang_resources`], [`ownership`], [`leftovers`],
//!   [`topology`]
//! - reports of an operator: [`warnings`], [`metrics`], [`preemption`]
//! - data of cases that drivers and checks use: [`attempts`], [`configuration`], [`invariant`]
//! - [`testing`]: pods for hand-written histories

pub mod attempts;
pub mod binding;
pub mod cliques;
pub mod configuration;
pub mod convergence;
pub mod deviation;
pub mod gang_resources;
pub mod generations;
pub mod health;
pub mod invariant;
pub mod kubelets;
pub mod leftovers;
pub mod metrics;
pub mod migration;
pub mod ownership;
pub mod pod_gangs;
pub mod preemption;
pub mod quantity;
pub mod requests;
pub mod startup;
pub mod testing;
pub mod topology;
pub mod updates;
pub mod warnings;
