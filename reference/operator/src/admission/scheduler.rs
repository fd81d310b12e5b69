//! All cliques must use one backend, which must be enabled and ready. Only the rules of this backend apply
//! (ADM-01, 02, 06, 14, 18, 23).
//!
//! If the backend of a live PodCliqueSet becomes disabled or not ready, an update that keeps the gangs' shape
//! passes with a warning: scaling in must stay possible. A backend's finding on an update counts only if the
//! stored object does not have it. So a queue that was closed later blocks no update (ADM-16).

use std::sync::Arc;

use grove_api::PodCliqueSet;

use super::findings::{invalid, keep_new};
use super::structure;
use crate::backend::{FieldError, Registry, SchedulerBackend, Validation};

const NOT_ENABLED: &str = "no profile of the OperatorConfiguration enables this scheduler backend: \
                           name an enabled one, or add a profile";

pub(super) async fn check(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>, registry: &Registry) -> Validation {
    let (backend, error) = resolve(registry, pcs).await;
    let mut findings = Validation::default();
    match (error, old) {
        (None, _) => {}
        (Some(error), None) => {
            findings.errors.push(error);
            return findings;
        }
        // schedulerName is immutable, so the cause of the error is a change in the cluster, not this update.
        (Some(error), Some(_)) => findings.warnings.push(format!("{error}; new pods are not scheduled")),
    }
    if let Some(backend) = backend
        && structure::check(pcs).is_empty()
    {
        findings.extend(backend_findings(backend.as_ref(), pcs, old).await);
    }
    findings
}

async fn resolve(
    registry: &Registry,
    pcs: &PodCliqueSet,
) -> (Option<Arc<dyn SchedulerBackend>>, Option<FieldError>) {
    let names = scheduler_names(registry, pcs);
    let Some(&(index, name)) = names.first() else { return (None, None) };
    let error = |index: usize, value: &str, message: &str| {
        Some(invalid(format!("spec.template.cliques[{index}].spec.podSpec.schedulerName"), value, message))
    };
    if let Some((other, _)) = names.get(1) {
        let all: Vec<_> = names.iter().map(|(_, name)| *name).collect();
        return (None, error(*other, &all.join(", "), "all cliques must have the same schedulerName"));
    }
    let Some(backend) = registry.get(name) else { return (None, error(index, name, NOT_ENABLED)) };
    let error = match backend.readiness().await {
        Ok(()) => None,
        Err(reason) => error(index, name, &format!("scheduler backend is not ready: {reason}")),
    };
    (Some(backend), error)
}

fn scheduler_names<'a>(registry: &'a Registry, pcs: &'a PodCliqueSet) -> Vec<(usize, &'a str)> {
    let mut names: Vec<(usize, &str)> = Vec::new();
    for (index, clique) in pcs.spec.template.cliques.iter().enumerate() {
        let name = clique.spec.pod_spec.scheduler_name().unwrap_or(registry.default_name());
        if names.iter().all(|(_, known)| *known != name) {
            names.push((index, name));
        }
    }
    names
}

async fn backend_findings(
    backend: &dyn SchedulerBackend,
    pcs: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
) -> Validation {
    let findings = backend.validate_pod_clique_set(pcs, old).await;
    match old {
        Some(old) if !findings.admits() => {
            keep_new(findings, &backend.validate_pod_clique_set(old, None).await)
        }
        _ => findings,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::fixture::{cluster, lines, pcs};
    use crate::backend::fake_backend::FakeBackend;

    fn pcs_on(names: [&str; 3]) -> PodCliqueSet {
        let [a, b, c] = names.map(|name| json!(name));
        pcs(&[
            ("/spec/template/cliques/0/spec/podSpec/schedulerName", a),
            ("/spec/template/cliques/1/spec/podSpec/schedulerName", b),
            ("/spec/template/cliques/2/spec/podSpec/schedulerName", c),
        ])
    }

    fn registry() -> Registry {
        let asked = |name: &'static str| FakeBackend {
            rules: |_, _| Validation { errors: Vec::new(), warnings: vec!["asked".into()] },
            ..FakeBackend::ready(name)
        };
        let not_ready = FakeBackend { readiness: Err("CRD is missing".into()), ..asked("volcano") };
        cluster(vec![asked("default-scheduler"), asked("kai-scheduler"), not_ready]).registry
    }

    #[rstest::rstest]
    #[case(["", "", ""])]
    #[case(["default-scheduler", "", "default-scheduler"])]
    #[case(["kai-scheduler", "kai-scheduler", "kai-scheduler"])]
    #[tokio::test]
    async fn the_only_enabled_backend_is_asked(#[case] names: [&str; 3]) {
        let findings = check(&pcs_on(names), None, &registry()).await;
        assert_eq!((findings.errors, findings.warnings), (Vec::new(), vec!["asked".to_owned()]));
    }

    #[rstest::rstest]
    #[case::two(["kai-scheduler", "", "kai-scheduler"])]
    #[case::not_enabled(["koord-scheduler", "koord-scheduler", "koord-scheduler"])]
    #[case::not_ready(["volcano", "volcano", "volcano"])]
    #[tokio::test]
    async fn a_new_pod_clique_set_is_refused_without_asking_the_backend(#[case] names: [&str; 3]) {
        let findings = check(&pcs_on(names), None, &registry()).await;
        assert_eq!((findings.errors.len(), findings.warnings.len()), (1, 0));
    }

    #[rstest::rstest]
    #[case::two(["kai-scheduler", "", "kai-scheduler"], false)]
    #[case::not_enabled(["koord-scheduler", "koord-scheduler", "koord-scheduler"], false)]
    #[case::not_ready(["volcano", "volcano", "volcano"], true)]
    #[tokio::test]
    async fn an_existing_pod_clique_set_gets_a_warning(#[case] names: [&str; 3], #[case] asked: bool) {
        let findings = check(&pcs_on(names), Some(&pcs_on(names)), &registry()).await;
        assert_eq!((findings.errors.len(), findings.warnings.len()), (0, 1 + usize::from(asked)));
    }

    #[tokio::test]
    async fn messages_name_the_field_and_the_rule() {
        let mut text = Vec::new();
        for names in [["", "volcano", "kai-scheduler"], ["koord-scheduler"; 3], ["volcano"; 3]] {
            let pcs = pcs_on(names);
            text.push(lines(&check(&pcs, None, &registry()).await.errors));
            text.extend(check(&pcs, Some(&pcs), &registry()).await.warnings);
        }
        insta::assert_snapshot!(text.join("\n"), @r#"
        spec.template.cliques[1].spec.podSpec.schedulerName: Invalid value: "default-scheduler, volcano, kai-scheduler": all cliques must have the same schedulerName
        spec.template.cliques[1].spec.podSpec.schedulerName: Invalid value: "default-scheduler, volcano, kai-scheduler": all cliques must have the same schedulerName; new pods are not scheduled
        spec.template.cliques[0].spec.podSpec.schedulerName: Invalid value: "koord-scheduler": no profile of the OperatorConfiguration enables this scheduler backend: name an enabled one, or add a profile
        spec.template.cliques[0].spec.podSpec.schedulerName: Invalid value: "koord-scheduler": no profile of the OperatorConfiguration enables this scheduler backend: name an enabled one, or add a profile; new pods are not scheduled
        spec.template.cliques[0].spec.podSpec.schedulerName: Invalid value: "volcano": scheduler backend is not ready: CRD is missing
        spec.template.cliques[0].spec.podSpec.schedulerName: Invalid value: "volcano": scheduler backend is not ready: CRD is missing; new pods are not scheduled
        asked
        "#);
    }
}
