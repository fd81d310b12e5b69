//! What the webhooks read in addition to the request.

use std::sync::Arc;

use super::{Minimums, TopologyBindings};
use crate::backend::Registry;

#[derive(Clone)]
pub struct AdmissionState {
    pub registry: Registry,
    pub bindings: Arc<dyn TopologyBindings>,
    pub minimums: Arc<dyn Minimums>,
}
