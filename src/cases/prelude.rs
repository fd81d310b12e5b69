//! The names that most cases import, and the macros that declare a case and its marks.

pub(crate) use conformance_check::admission::answers;
pub(crate) use conformance_check::binding::{self, scheduler_passed};
pub(crate) use conformance_check::lifecycle::{termination, updates};
pub(crate) use conformance_check::{
    Shown, all, cleanup, ensure, finding, gang_resources, placement, precondition, train_jobs, violation,
};
pub(crate) use conformance_contract::clauses::Feature;
pub(crate) use conformance_contract::clauses::ids::*;
pub(crate) use conformance_contract::names::{self, RACK};
pub(crate) use conformance_contract::property::Property;
pub(crate) use conformance_contract::ruling::{Broken, Finding, Ruling};
pub(crate) use conformance_contract::scheduler::Scheduler;
pub(crate) use conformance_contract::target::{KUBE, Target};
pub(crate) use conformance_contract::violation::Code;
pub(crate) use conformance_driver::case::{Case, Isolation, Need, nodes};
pub(crate) use conformance_driver::context::{Awaited, Stop, TestContext};
pub(crate) use conformance_driver::control_plane::restored;
pub(crate) use conformance_driver::limits::{self, REACTION, SCHEDULING};
pub(crate) use conformance_driver::pod_health::Containers;
pub(crate) use conformance_expect::{Expected, Gang, scaling};
pub(crate) use conformance_facts::attempts::{Attempt, admitted, refused};
pub(crate) use conformance_history::{History, Live, MarkName, Pod, SharedMark};
pub(crate) use serde_json::{Value, json};

/// A case with the `drive` and `check` of its module. The second argument, such as [`restored`], runs `drive`
/// and then repairs what it broke.
macro_rules! case {
    ($title:literal) => {
        Case::new($title, |test| Box::pin(drive(test)), check)
    };
    ($title:literal, $repaired:ident) => {
        Case::new($title, |test| Box::pin($repaired(test, |test| Box::pin(drive(test)))), check)
    };
}
pub(crate) use case;

/// The marks of a case: a constant, and its name in the history.
macro_rules! marks {
    ($($(#[$doc:meta])* $visibility:vis $mark:ident = $name:literal;)+) => {
        $($(#[$doc])* $visibility const $mark: MarkName = MarkName::of_case($name);)+
    };
}
pub(crate) use marks;
