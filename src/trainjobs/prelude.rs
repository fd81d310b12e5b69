pub(crate) use conformance_check::admission::answers;
pub(crate) use conformance_check::{all, cleanup, finding, precondition};
pub(crate) use conformance_contract::clauses::Feature;
pub(crate) use conformance_contract::clauses::ids::*;
pub(crate) use conformance_contract::names::RACK;
pub(crate) use conformance_contract::ruling::{Broken, Finding, Ruling};
pub(crate) use conformance_contract::scheduler::Scheduler;
pub(crate) use conformance_driver::case;
pub(crate) use conformance_driver::case::{Case, Isolation, Need, nodes};
pub(crate) use conformance_driver::context::{Awaited, Stop, TestContext};
pub(crate) use conformance_driver::control_plane::restored;
pub(crate) use conformance_driver::limits::{self, REACTION};
pub(crate) use conformance_facts::attempts::{Attempt, admitted, refused};
pub(crate) use conformance_history::{History, Live, SharedMark, marks};
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::checks;
pub(crate) use crate::steps::TrainJobSteps;
