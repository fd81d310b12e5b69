pub(crate) use conformance_check::finding;
pub(crate) use conformance_contract::clauses::ids::*;
pub(crate) use conformance_contract::ruling::Finding;
pub(crate) use conformance_driver::case;
pub(crate) use conformance_driver::case::{Case, nodes};
pub(crate) use conformance_driver::context::{Stop, TestContext};
pub(crate) use conformance_history::History;

pub(crate) use crate::checks;
pub(crate) use crate::steps::PlainGangSteps;
