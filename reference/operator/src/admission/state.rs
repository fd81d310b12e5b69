use std::sync::Arc;

use super::{ScaledObjects, TopologyBindings};
use crate::backend::Registry;

#[derive(Clone)]
pub struct AdmissionState {
    pub registry: Registry,
    pub bindings: Arc<dyn TopologyBindings>,
    pub scaled_objects: Arc<dyn ScaledObjects>,
}
