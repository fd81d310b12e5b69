pub(crate) use conformance_contract::scheduler::Scheduler;
pub(crate) use conformance_driver::case::{Isolation, nodes};
pub(crate) use conformance_driver::context::{Stop, TestContext};
pub(crate) use conformance_history::{History, Live};

pub(crate) use crate::answer::{Answer, Answered};
pub(crate) use crate::observation::{Asked, Observation, question};
pub(crate) use crate::plain_gang::PlainGang;
pub(crate) use crate::{reports, seen, steps};
