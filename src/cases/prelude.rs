pub(crate) use conformance_check::admission::answers;
pub(crate) use conformance_check::binding::{self, scheduler_passed};
pub(crate) use conformance_check::lifecycle::{scaled, termination, updates};
pub(crate) use conformance_check::{
    Shown, all, cleanup, ensure, finding, gang_resources, none, placement, precondition, violation,
};
pub(crate) use conformance_contract::clauses::Feature;
pub(crate) use conformance_contract::clauses::ids::*;
pub(crate) use conformance_contract::names::{self, RACK};
pub(crate) use conformance_contract::property::Property;
pub(crate) use conformance_contract::ruling::{Broken, Finding, Ruling};
pub(crate) use conformance_contract::scheduler::Scheduler;
pub(crate) use conformance_contract::target::{KUBE, Target};
pub(crate) use conformance_contract::violation::Code;
pub(crate) use conformance_driver::case;
pub(crate) use conformance_driver::case::{Case, Isolation, Need, nodes};
pub(crate) use conformance_driver::context::{Awaited, Stop, TestContext};
pub(crate) use conformance_driver::control_plane::restored;
pub(crate) use conformance_driver::limits::{self, REACTION, SCHEDULING};
pub(crate) use conformance_driver::pod_health::Containers;
pub(crate) use conformance_expect::{Expected, Gang, scaling, schedulers};
pub(crate) use conformance_facts::attempts::{Attempt, admitted, refused};
pub(crate) use conformance_facts::cliques::pods_of;
pub(crate) use conformance_facts::generations;
pub(crate) use conformance_facts::updates::is_of_revision;
pub(crate) use conformance_history::{History, Live, MarkName, Pod, SharedMark, marks, text};
pub(crate) use conformance_install::part::Part;
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::update_finding::update_finding;

#[cfg(test)]
pub(crate) use conformance_check::{codes, message};
#[cfg(test)]
pub(crate) use conformance_history::testing::{
    Story, object, one_clique, one_clique_gang, owned, running, worker,
};
#[cfg(test)]
pub(crate) use rstest::rstest;

#[cfg(test)]
pub(crate) use crate::answered::{Override, answered};
