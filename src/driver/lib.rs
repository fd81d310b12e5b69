//! What a case does to a cluster, and how it waits.
//!
//! A driver acts and waits; it does not judge. [`case`] is what a case is, [`context`] one run of it on a target.
//!
//! - [`test_cluster`]: the cluster it runs on; [`recorder`]: the watches that write its history; [`limits`]: how long waits are,
//!   and [`speed`] by how much longer on this machine;
//! - [`rights`]: which permissions all that needs in an existing cluster;
//! - [`barrier`]: the proof that nothing happened; [`clock_canary`]: the proof that a delay has run out; [`quiescence`]: the one wait of fixed length; [`convergence`]: when a
//!   PodCliqueSet has become all that it should be; [`cleanup`]: what is left of it;
//! - [`pending`]: what makes a scheduler try a pending gang again;
//! - [`plain_gangs`]: gangs without an operator;
//! - [`admission_attempts`], [`scaling`], [`init_access`], [`mutations`], [`queues`], [`crds`], [`foreign_gates`]: what drivers do through the API;
//! - [`control_plane`]: the control plane taken apart and put back; [`fault_proxy`]: its parts' requests and watches disturbed;
//!   [`lease_watch`]: who leads the controller's replicas; [`upgrade`]: the operator replaced by another release;
//! - [`pod_health`]: what a kubelet would say of a pod, said in its place; [`updates`]: templates changed; [`metrics`]: the
//!   operator's, read;
//! - [`domains`]: when a scheduler knows the topology; [`kubelets`]: what is done to real nodes, and read there;
//! - [`diagnostics`]: what a wait that ran out shows.

pub mod admission_attempts;
pub mod barrier;
pub mod case;
pub mod cleanup;
pub mod clock_canary;
pub mod context;
pub mod control_plane;
pub mod convergence;
pub mod crds;
pub mod devices;
pub mod diagnostics;
pub mod domains;
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
pub mod plain_gangs;
pub mod pod_health;
pub mod queues;
pub mod quiescence;
pub mod recorder;
pub mod rights;
pub mod scaling;
pub mod speed;
pub mod test_cluster;
pub mod train_jobs;
pub mod updates;
pub mod upgrade;
pub mod volumes;
