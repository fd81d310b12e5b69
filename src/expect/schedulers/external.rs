//! Profiles of type External (EXT-04), which have no gang resources.

use conformance_contract::external_scheduler::ExternalProfile;
use conformance_contract::names;
use conformance_history::Pod;
use serde_json::{Value, json};

use super::{Expectations, all, schedule_by};

impl Expectations for ExternalProfile {
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// The pods may name a gang resource of any other scheduler.
    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        all().find_map(|(_, other)| other.named_by(pod))
    }

    /// Only the name of the scheduler is known. Empty if no scheduler runs.
    fn writers(&self) -> &[&'static str] {
        if self.runs { std::slice::from_ref(&self.scheduler) } else { &[] }
    }

    fn assign(&self, pcs: &mut Value) {
        schedule_by(pcs, self.scheduler);
    }

    /// Empty, because only Grove creates PodGangs. The canary is a PodCliqueSet instead
    /// ([`Expectations::canary_set`]).
    fn plain_gang(&self, _name: &str, _pods: usize) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Only the operator can write the status of a complete PodGang. So the canary is a PodCliqueSet with one
    /// pod, which gets the clique's labels.
    fn canary_set(&self) -> Option<Value> {
        let clique = json!({"name": "a", "labels": {names::CANARY: "true"}, "spec": {
            "roleName": "a", "replicas": 1, "podSpec": {"schedulerName": self.scheduler},
        }});
        let set = json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {},
            "spec": {"replicas": 1, "template": {"cliques": [clique]}},
        });
        self.runs.then_some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_scheduler_that_runs_binds_a_canary() {
        let set = |runs| ExternalProfile { scheduler: "mine", runs }.canary_set();
        assert_eq!(set(false), None);
        let pod_spec = set(true).unwrap()["spec"]["template"]["cliques"][0]["spec"]["podSpec"].clone();
        assert_eq!(pod_spec, json!({"schedulerName": "mine"}));
    }
}
