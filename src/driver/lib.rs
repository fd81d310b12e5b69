//! What a case does to a cluster, and how it waits.
//!
//! A driver acts and waits; checks decide. [`mod@case`] defines a case, [`created_case`] one that is created
//! while the program runs, and [`context`] is one run of a case on a target. [`suite`] describes the cases of
//! one kind of workload.
//!
//! - The environment: [`test_cluster`] is the cluster, and [`recorder`] watches it and writes the histories.
//!   [`rights`] lists the permissions that a run needs in an existing cluster.
//! - Time: [`limits`] defines all timeouts, and [`speed`] extends them on a slow machine.
//! - Proofs: [`barrier`] proves that nothing was bound, [`clock_canary`] that a delay has expired.
//!   [`convergence`] waits until a PodCliqueSet is complete, [`cleanup`] until nothing is left of it.
//!   [`quiescence`] has the only waits of fixed length.
//! - Changes to a control plane: [`control_plane`] stops and restores components, and [`fault_proxy`]
//!   disturbs their requests and watches. [`lease_watch`] watches the operator's leader, [`upgrade`]
//!   replaces the operator, and [`crds`] removes and restores CRDs.
//! - Changes to pods and nodes: [`pod_health`] sets statuses in place of a kubelet, and [`kubelets`] changes
//!   real nodes. [`domains`] waits until a scheduler knows the topology.
//! - Changes to workloads: [`admission_attempts`], [`scaling`], [`updates`], [`mutations`], [`queues`],
//!   [`foreign_gates`], and [`pending`], which makes a scheduler retry a pending gang. [`enrichment`] adds to
//!   each manifest what its case is not about.
//! - [`metrics`], [`init_access`] and [`usage`] read what no API object shows; [`diagnostics`] describes a
//!   timeout.

pub mod admission_attempts;
pub mod barrier;
pub mod case;
pub mod cleanup;
pub mod clock_canary;
pub mod context;
pub mod control_plane;
pub mod convergence;
pub mod crds;
pub mod created_case;
pub mod devices;
pub mod diagnostics;
pub mod domains;
pub mod enrichment;
pub mod fault_proxy;
pub mod foreign_gates;
pub mod init_access;
pub mod kubelets;
pub mod lease_watch;
pub mod limits;
pub mod metrics;
pub mod mutations;
mod namespace_end;
pub mod pending;
pub mod pod_health;
pub mod queues;
pub mod quiescence;
pub mod recorder;
pub mod rights;
pub mod scaling;
pub mod speed;
pub mod suite;
pub mod test_cluster;
pub mod updates;
pub mod upgrade;
pub mod usage;
pub mod volumes;
