//! A profile of type External (EXT-01): its scheduler reads PodGangs itself, so there are no gang resources and a pod
//! joins nothing.

use serde_json::Value;

use super::{Expectations, Made, Name, Resource, WITH_RESOURCES, of, schedule_by};
use crate::cluster::local::EXTERNAL_SCHEDULER;
use crate::suite::expect::{Gang, Group};
use crate::suite::history::Pod;

/// The backend of the External profile.
#[derive(Debug)]
pub struct External;

impl Expectations for External {
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    fn resources(&self, _pod_gang: &str, _podgroups: &[(String, usize)]) -> Vec<Resource> {
        Vec::new()
    }

    fn size(&self, _resource: &Value) -> Option<u64> {
        None
    }

    fn faults(&self, _gang: Made<'_>, _wanted: &Resource, _found: &Value) -> Vec<String> {
        Vec::new()
    }

    fn joins(&self, _gang: &Gang, _group: &Group, _index: usize) -> Option<Name> {
        None
    }

    /// The gang resource of any other scheduler.
    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        WITH_RESOURCES.into_iter().find_map(|other| of(other).named_by(pod))
    }

    fn claim(&self, pcs: &mut Value) {
        schedule_by(pcs, EXTERNAL_SCHEDULER);
    }

    /// There is no scheduler to bind one.
    fn canary(&self, _name: &str) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}
