//! A scheduler that reads PodGangs itself (`type: External`). It needs no gang resources (EXT-04). A
//! PodCliqueSet is refused if it requires a capability that the profile does not declare (EXT-02). Only the
//! scheduler's behaviour can show whether a declaration is true (EXT-03).

use async_trait::async_trait;
use grove_api::PodCliqueSet;
use kube::api::DynamicObject;
use serde::Deserialize;

use super::template::{Constrained, constraints};
use super::{BackendError, FieldError, Membership, SchedulerBackend, Validation, pod_spec};

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExternalConfig {
    pub topology_constraints: bool,
}

pub struct External {
    name: String,
    config: ExternalConfig,
}

impl External {
    pub fn new(name: impl Into<String>, config: ExternalConfig) -> Self {
        Self { name: name.into(), config }
    }
}

#[async_trait]
impl SchedulerBackend for External {
    fn name(&self) -> &str {
        &self.name
    }

    async fn init(&self) -> Result<(), BackendError> {
        let topology_constraints = self.config.topology_constraints;
        tracing::info!(backend = self.name(), topology_constraints, "ready");
        Ok(())
    }

    async fn readiness(&self) -> Result<(), String> {
        Ok(())
    }

    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
        let mut findings = Validation::default();
        // Constraints are immutable (ADM-03), so an update adds none.
        if old.is_some() || self.config.topology_constraints {
            return findings;
        }
        let undeclared =
            format!("the profile of scheduler {} does not declare topologyConstraints", self.name);
        for Constrained { path, constraint, .. } in constraints(&pcs.spec.template) {
            if constraint.required_domain().is_some() {
                let message =
                    format!("{undeclared}: remove the required constraint, which would have no effect");
                findings.errors.push(FieldError::forbidden(path, message));
            } else {
                findings.warnings.push(format!("{path}.pack.preferred may have no effect: {undeclared}"));
            }
        }
        findings
    }

    fn prepare_pod(&self, pod: &mut DynamicObject, member: &Membership<'_>) -> Result<(), BackendError> {
        pod_spec::set_scheduler_name(&self.name, pod, member).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use grove_api::{PodGang, PodGangSpec};
    use kube::api::ApiResource;
    use serde_json::{Value, json};

    use super::*;
    use crate::backend::{GangState, Release, Synced};
    use crate::cache::observed_pod::Pod;

    fn backend(topology_constraints: bool) -> External {
        External::new("outside", ExternalConfig { topology_constraints })
    }

    fn pcs(edit: impl FnOnce(&mut Value)) -> PodCliqueSet {
        let clique = |name: &str| json!({"name": name, "spec": {"podSpec": {}, "replicas": 2}});
        let mut template = json!({
            "cliques": [clique("a"), clique("b")],
            "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["b"]}],
        });
        edit(&mut template);
        let spec = json!({"replicas": 1, "template": template});
        serde_json::from_value(json!({"metadata": {"name": "wl"}, "spec": spec})).unwrap()
    }

    fn packed(pack: &Value) -> PodCliqueSet {
        let constraint = json!({"topologyName": "t", "pack": pack});
        pcs(|template| {
            template["topologyConstraint"] = constraint.clone();
            template["cliques"][1]["topologyConstraint"] = constraint.clone();
            template["podCliqueScalingGroups"][0]["topologyConstraint"] = constraint;
        })
    }

    #[tokio::test]
    async fn a_pod_gets_the_scheduler_name_and_nothing_else() {
        let resource = ApiResource::erase::<Pod>(&());
        let mut pod = DynamicObject::new("p", &resource).data(json!({"spec": {"containers": []}}));
        let pod_gang = PodGang::new(
            "wl-0",
            PodGangSpec { priority_class_name: Some("high".into()), ..PodGangSpec::default() },
        );
        let member = Membership { pod_gang: &pod_gang, pod_clique: "wl-0-a", pod_index: 0 };
        backend(true).prepare_pod(&mut pod, &member).unwrap();
        assert_eq!(pod.data, json!({"spec": {"containers": [], "schedulerName": "outside"}}));
        let state = GangState::without_pods(&pod_gang);
        let released = backend(true).release_pod(&Pod::default(), &state).await.unwrap();
        assert_eq!(released, Release::Now(Vec::new()));
    }

    #[tokio::test]
    async fn an_external_scheduler_gets_no_gang_resources() {
        let pod_gang = PodGang::new("wl-0", PodGangSpec::default());
        assert_eq!(
            backend(false).sync_pod_gang(&GangState::without_pods(&pod_gang), &[]).await.unwrap(),
            Synced::default()
        );
        assert!(backend(false).gang_resources().is_empty());
        assert_eq!(backend(false).readiness().await, Ok(()));
    }

    #[rstest::rstest]
    #[case::none(json!(null), false, 0, 0)]
    #[case::required(json!({"required": "rack"}), false, 3, 0)]
    #[case::both(json!({"required": "rack", "preferred": "host"}), false, 3, 0)]
    #[case::preferred(json!({"preferred": "rack"}), false, 0, 3)]
    #[case::required_declared(json!({"required": "rack"}), true, 0, 0)]
    #[case::preferred_declared(json!({"preferred": "rack"}), true, 0, 0)]
    #[tokio::test]
    async fn undeclared_topology_is_refused_or_warned_about(
        #[case] pack: Value,
        #[case] declared: bool,
        #[case] errors: usize,
        #[case] warnings: usize,
    ) {
        let pcs = if pack.is_null() { pcs(|_| {}) } else { packed(&pack) };
        let findings = backend(declared).validate_pod_clique_set(&pcs, None).await;
        assert_eq!((findings.errors.len(), findings.warnings.len()), (errors, warnings), "{findings:?}");
    }

    #[tokio::test]
    async fn a_withdrawn_declaration_blocks_no_update() {
        let old = packed(&json!({"required": "rack"}));
        let mut new = old.clone();
        new.spec.replicas = 0;
        assert_eq!(backend(false).validate_pod_clique_set(&new, Some(&old)).await, Validation::default());
    }

    #[tokio::test]
    async fn messages_name_the_field_and_the_rule() {
        let required =
            backend(false).validate_pod_clique_set(&packed(&json!({"required": "rack"})), None).await;
        let preferred =
            backend(false).validate_pod_clique_set(&packed(&json!({"preferred": "rack"})), None).await;
        let text = format!("{}\n{}", required.errors[0], preferred.warnings[0]);
        insta::assert_snapshot!(text, @"
        spec.template.topologyConstraint: Forbidden: the profile of scheduler outside does not declare topologyConstraints: remove the required constraint, which would have no effect
        spec.template.topologyConstraint.pack.preferred may have no effect: the profile of scheduler outside does not declare topologyConstraints
        ");
    }
}
