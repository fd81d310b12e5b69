//! One file per scheduler: its configuration and its arguments.

pub mod kube_scheduler;
