//! A backend whose operator does not declare GangScheduling. The scheduler still binds the harness's gangs.

use std::sync::LazyLock;
use std::time::Duration;

use conformance_contract::target::Target;
use conformance_history::{Live, Pod};
use serde_json::Value;

use super::{Expectations, TopologyModel, all};

static TARGETS: LazyLock<Vec<(Target, WithoutGangs)>> =
    LazyLock::new(|| all().map(|(target, scheduler)| (target, WithoutGangs { scheduler })).collect());

pub(super) fn of(target: Target) -> Option<&'static dyn Expectations> {
    let found = TARGETS.iter().find(|(known, _)| *known == target);
    found.map(|(_, expectations)| expectations as &'static dyn Expectations)
}

struct WithoutGangs {
    scheduler: &'static dyn Expectations,
}

impl Expectations for WithoutGangs {
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        self.scheduler.named_by(pod)
    }

    fn assign(&self, pcs: &mut Value) {
        self.scheduler.assign(pcs);
    }

    fn add_requests(&self, pcs: &mut Value) {
        self.scheduler.add_requests(pcs);
    }

    fn topology_kind(&self) -> Option<&'static str> {
        self.scheduler.topology_kind()
    }

    fn topology_faults(&self, binding: &Value, live: &Live, pool: &str) -> Vec<String> {
        self.scheduler.topology_faults(binding, live, pool)
    }

    fn topology_model(&self) -> Option<TopologyModel> {
        self.scheduler.topology_model()
    }

    fn writers(&self) -> &[&'static str] {
        self.scheduler.writers()
    }

    fn own_keys(&self) -> &'static [&'static str] {
        self.scheduler.own_keys()
    }

    fn gang_timeout(&self) -> Option<Duration> {
        self.scheduler.gang_timeout()
    }

    fn retries_in_sessions(&self) -> bool {
        self.scheduler.retries_in_sessions()
    }

    fn is_canary_remnant(&self, object: &Value) -> bool {
        self.scheduler.is_canary_remnant(object)
    }

    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)> {
        self.scheduler.plain_gang(name, pods)
    }

    fn canary(&self, name: &str) -> Vec<(&'static str, Value)> {
        self.scheduler.canary(name)
    }

    fn may_miss_gang_resources(&self) -> bool {
        self.scheduler.may_miss_gang_resources()
    }

    fn canary_set(&self) -> Option<Value> {
        self.scheduler.canary_set()
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;
    use conformance_contract::clauses::Feature;

    use super::super::of;
    use super::*;

    #[test]
    fn no_gang_resources_are_expected_without_gang_scheduling() {
        let declaring = |features: Vec<Feature>| {
            Target::KUBE_POD_GROUP
                .declared_by(BackendDeclaration { features, ..BackendDeclaration::default() })
        };
        let (without, with) = (of(declaring(Vec::new())), of(declaring(vec![Feature::GangScheduling])));
        assert!(without.kinds().is_empty() && !with.kinds().is_empty());
        assert_eq!(without.writers(), with.writers());
        assert_eq!(without.plain_gang("canary", 1), with.plain_gang("canary", 1));
    }
}
