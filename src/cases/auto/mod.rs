//! Autoscaling and `/scale`. The harness plays the autoscaler.

pub(crate) mod autoscalers;
pub(crate) mod below_minimum;
pub(crate) mod foreign_autoscaler;
pub(crate) mod quick_changes;
pub(crate) mod refused_metric;
pub(crate) mod scale_out_partly_fits;
pub(crate) mod scale_out_then_in;
pub(crate) mod scale_read;
pub(crate) mod scale_to_zero;
pub(crate) mod scale_to_zero_briefly;
pub(crate) mod scaled_while_base_pending;
pub(crate) mod template_replicas;
