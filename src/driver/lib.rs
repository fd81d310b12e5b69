//! What a case does to a cluster, and how it waits.
//!
//! A driver acts and waits; checks decide. [`mod@case`] defines a case, and [`context`] is one run of a case
//! on a target. [`test_cluster`] is the cluster, and [`recorder`] writes the histories. [`limits`] defines
//! all timeouts, and [`speed`] extends them. [`barrier`] proves that the scheduler bound nothing, and
//! [`clock_canary`] that a delay has expired. [`quiescence`] has the only waits of fixed length.

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
