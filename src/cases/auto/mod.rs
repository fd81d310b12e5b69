//! Autoscaling and `/scale`. The harness plays the autoscaler.

pub(crate) mod autoscalers;
pub(crate) mod below_minimum;
pub(crate) mod group_out;
pub(crate) mod idle;
pub(crate) mod off_and_on;
pub(crate) mod out_and_in;
pub(crate) mod quick_changes;
pub(crate) mod refused_metric;
pub(crate) mod scale_read;
pub(crate) mod template_replicas;
pub(crate) mod while_waiting;
