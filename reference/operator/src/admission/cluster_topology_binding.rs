//! Upstream reports scheduler errors under `spec.schedulerTopologyReferences`, a field that does not exist.
//! This webhook uses the path `spec.schedulerTopologyBindings`. A level may be removed even if PodCliqueSets
//! use it: their condition `TopologyLevelsUnavailable` then reports the missing level.

use grove_api::ClusterTopologyBinding;

use super::findings::{duplicate, invalid, repeated};
use crate::backend::{FieldError, Registry};

/// `old` is the stored object on an update. Deletions and metadata edits are never rejected.
pub fn validate_cluster_topology_binding(
    binding: &ClusterTopologyBinding,
    old: Option<&ClusterTopologyBinding>,
    registry: &Registry,
) -> Vec<FieldError> {
    let is_deleted = binding.metadata.deletion_timestamp.is_some();
    if is_deleted || old.is_some_and(|old| old.spec == binding.spec) {
        return Vec::new();
    }
    let spec = &binding.spec;
    let mut errors = Vec::new();
    for (index, domain) in repeated(spec.levels.iter().map(|level| level.domain.as_str())) {
        errors.push(duplicate(format!("spec.levels[{index}].domain"), domain));
    }
    for (index, key) in repeated(spec.levels.iter().map(|level| level.key.as_str())) {
        errors.push(duplicate(format!("spec.levels[{index}].key"), key));
    }
    let schedulers = || spec.scheduler_topology_bindings.iter().map(|entry| entry.scheduler_name.as_str());
    let path = |index: usize| format!("spec.schedulerTopologyBindings[{index}].schedulerName");
    for (index, scheduler) in repeated(schedulers()) {
        errors.push(duplicate(path(index), scheduler));
    }
    for (index, scheduler) in schedulers().enumerate() {
        let message = match registry.get(scheduler) {
            None => "no profile of the OperatorConfiguration enables this scheduler backend",
            Some(backend) if backend.topology().is_none() => {
                "this scheduler backend has no topology objects: remove the entry"
            }
            Some(_) => continue,
        };
        errors.push(invalid(path(index), scheduler, message));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{cluster, lines, typed};
    use crate::backend::TopologyState;
    use crate::backend::fake_backend::FakeBackend;

    fn registry() -> Registry {
        let topology = Some(TopologyState::InSync);
        let aware = FakeBackend { topology, ..FakeBackend::ready("kai-scheduler") };
        cluster(vec![FakeBackend::ready("default-scheduler"), aware]).registry
    }

    fn binding(levels: &[(&str, &str)], schedulers: &[&str]) -> ClusterTopologyBinding {
        let levels: Vec<_> =
            levels.iter().map(|(domain, key)| json!({ "domain": domain, "key": key })).collect();
        let entry = |name: &&str| json!({ "schedulerName": name, "topologyReference": "topology" });
        let entries: Vec<_> = schedulers.iter().map(entry).collect();
        let spec = json!({ "levels": levels, "schedulerTopologyBindings": entries });
        typed(json!({ "metadata": { "name": "topo" }, "spec": spec }))
    }

    const LEVELS: &[(&str, &str)] = &[("zone", "z"), ("rack", "r")];

    #[rstest::rstest]
    #[case(LEVELS, &[])]
    #[case(LEVELS, &["kai-scheduler"])]
    fn a_valid_binding_is_admitted(#[case] levels: &[(&str, &str)], #[case] schedulers: &[&str]) {
        assert_eq!(validate_cluster_topology_binding(&binding(levels, schedulers), None, &registry()), []);
    }

    #[rstest::rstest]
    #[case::domain(&[("zone", "z"), ("zone", "r")], &[])]
    #[case::key(&[("zone", "z"), ("rack", "z")], &[])]
    #[case::scheduler_twice(LEVELS, &["kai-scheduler", "kai-scheduler"])]
    #[case::not_enabled(LEVELS, &["volcano"])]
    #[case::not_aware(LEVELS, &["default-scheduler"])]
    fn an_invalid_binding_is_refused(#[case] levels: &[(&str, &str)], #[case] schedulers: &[&str]) {
        assert_eq!(
            validate_cluster_topology_binding(&binding(levels, schedulers), None, &registry()).len(),
            1
        );
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let binding = binding(
            &[("zone", "z"), ("zone", "z")],
            &["kai-scheduler", "kai-scheduler", "volcano", "default-scheduler"],
        );
        let errors = validate_cluster_topology_binding(&binding, None, &registry());
        insta::assert_snapshot!(lines(&errors), @r#"
        spec.levels[1].domain: Duplicate value: "zone"
        spec.levels[1].key: Duplicate value: "z"
        spec.schedulerTopologyBindings[1].schedulerName: Duplicate value: "kai-scheduler"
        spec.schedulerTopologyBindings[2].schedulerName: Invalid value: "volcano": no profile of the OperatorConfiguration enables this scheduler backend
        spec.schedulerTopologyBindings[3].schedulerName: Invalid value: "default-scheduler": this scheduler backend has no topology objects: remove the entry
        "#);
    }

    #[rstest::rstest]
    #[case(json!({ "finalizers": [] }), false)]
    #[case(json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }), true)]
    fn a_binding_of_a_disabled_scheduler_can_be_edited_and_deleted(
        #[case] metadata: Value,
        #[case] other_spec: bool,
    ) {
        let old = binding(LEVELS, &["volcano"]);
        let mut new = if other_spec { binding(&LEVELS[..1], &["volcano"]) } else { old.clone() };
        new.metadata = typed(metadata);
        assert_eq!(validate_cluster_topology_binding(&new, Some(&old), &registry()), []);
        new.metadata = old.metadata.clone();
        new.spec.levels.pop();
        assert_eq!(validate_cluster_topology_binding(&new, Some(&old), &registry()).len(), 1);
    }
}
