//! Validates scaling of PodCliques and PodCliqueScalingGroups, by an update or by a request to `/scale`. The
//! replicas must stay at or above the minimum (AUTO-05), because some schedulers evict the rest of a gang
//! that falls below it. They may be 0 if the backend lets an idle podgroup leave its gang (AUTO-06). A
//! PodClique in a scaling group can be idle only together with its group.

use std::collections::BTreeMap;

use async_trait::async_trait;
use grove_api::names::{LABEL_PART_OF, LABEL_SCALING_GROUP, LABEL_SCHEDULER_NAME};
use grove_api::{PodClique, PodCliqueScalingGroup, PodGang};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use webhook_server::{Request, Response};

use super::findings::invalid;
use crate::backend::{Registry, Served, Validation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleTarget {
    PodClique,
    ScalingGroup,
}

impl ScaleTarget {
    fn of(resource: &str) -> Option<Self> {
        match resource {
            "podcliques" => Some(Self::PodClique),
            "podcliquescalinggroups" => Some(Self::ScalingGroup),
            _ => None,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::PodClique => "PodClique",
            Self::ScalingGroup => "PodCliqueScalingGroup",
        }
    }
}

/// Looks up what a request to `/scale` does not contain.
#[async_trait]
pub trait ScaledObjects: Send + Sync {
    /// `minAvailable` of the object; `None` if the object does not exist or does not set it.
    async fn minimum(&self, target: ScaleTarget, request: &Request) -> Result<Option<i32>, kube::Error>;

    /// All PodGangs of the PodCliqueSet; empty for a member of a scaling group, which cannot be idle alone.
    async fn gangs(&self, target: ScaleTarget, request: &Request) -> Result<Vec<PodGang>, kube::Error>;
}

#[async_trait]
impl ScaledObjects for Client {
    async fn minimum(&self, target: ScaleTarget, request: &Request) -> Result<Option<i32>, kube::Error> {
        let Request { namespace, name, .. } = request;
        Ok(match target {
            ScaleTarget::PodClique => {
                let found = Api::<PodClique>::namespaced(self.clone(), namespace).get_opt(name).await?;
                found.and_then(|found| found.spec.min_available)
            }
            ScaleTarget::ScalingGroup => {
                let groups = Api::<PodCliqueScalingGroup>::namespaced(self.clone(), namespace);
                groups.get_opt(name).await?.and_then(|found| found.spec.min_available)
            }
        })
    }

    async fn gangs(&self, target: ScaleTarget, request: &Request) -> Result<Vec<PodGang>, kube::Error> {
        let Request { namespace, name, .. } = request;
        let labels = match target {
            ScaleTarget::PodClique => {
                let cliques = Api::<PodClique>::namespaced(self.clone(), namespace);
                cliques.get_metadata_opt(name).await?.map(|found| found.labels().clone())
            }
            ScaleTarget::ScalingGroup => {
                let groups = Api::<PodCliqueScalingGroup>::namespaced(self.clone(), namespace);
                groups.get_metadata_opt(name).await?.map(|found| found.labels().clone())
            }
        };
        let is_member = |labels: &BTreeMap<String, String>| {
            target == ScaleTarget::PodClique && labels.contains_key(LABEL_SCALING_GROUP)
        };
        let pcs =
            labels.filter(|labels| !is_member(labels)).and_then(|labels| labels.get(LABEL_PART_OF).cloned());
        let Some(pcs) = pcs else { return Ok(Vec::new()) };
        let part_of_pcs = ListParams::default().labels(&format!("{LABEL_PART_OF}={pcs}"));
        Ok(Api::<PodGang>::namespaced(self.clone(), namespace).list(&part_of_pcs).await?.items)
    }
}

pub(super) async fn check(
    request: &Request,
    scaled_objects: &dyn ScaledObjects,
    registry: &Registry,
) -> Response {
    let replicas = |object: &Value| object["spec"]["replicas"].as_i64().unwrap_or(0);
    let (before, after) = (replicas(&request.old_object), replicas(&request.object));
    let target = ScaleTarget::of(&request.resource.resource).filter(|_| before != after);
    let Some(target) = target else { return Response::allowed() };
    let minimum = match request.sub_resource.as_str() {
        "scale" => scaled_objects.minimum(target, request).await,
        _ => Ok(request.object["spec"]["minAvailable"].as_i64().and_then(|min| i32::try_from(min).ok())),
    };
    let gangs = match after {
        0 => scaled_objects.gangs(target, request).await,
        _ => Ok(Vec::new()),
    };
    let (minimum, gangs) = match minimum.and_then(|minimum| Ok((minimum, gangs?))) {
        Ok(found) => found,
        Err(error) => {
            return Response::failed(format!("failed to fetch {} {}: {error}", target.kind(), request.name));
        }
    };
    if !gangs.is_empty() && gangs.iter().all(|gang| allows_idle(registry, gang)) {
        return Response::allowed();
    }
    let findings = Validation { errors: below(after, minimum.unwrap_or(1)), warnings: Vec::new() };
    Response::from_findings("grove.io", target.kind(), &request.name, findings)
}

fn allows_idle(registry: &Registry, pod_gang: &PodGang) -> bool {
    let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME).map(String::as_str);
    matches!(registry.serve(scheduler, None), Served::By(backend) if backend.allows_idle(pod_gang))
}

fn below(replicas: i64, minimum: i32) -> Vec<crate::backend::FieldError> {
    let message = format!("must not be less than minAvailable, which is {minimum}");
    (replicas < minimum.into()).then(|| invalid("spec.replicas", replicas, &message)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::fixture::cluster;
    use crate::backend::fake_backend::FakeBackend;

    /// `minAvailable` is 2 everywhere; `member` is in a scaling group.
    struct FakeObjects;

    #[async_trait]
    impl ScaledObjects for FakeObjects {
        async fn minimum(&self, _: ScaleTarget, request: &Request) -> Result<Option<i32>, kube::Error> {
            match request.name.as_str() {
                "unknown" => Err(kube::Error::LinesCodecMaxLineLengthExceeded),
                _ => Ok(Some(2)),
            }
        }

        async fn gangs(&self, _: ScaleTarget, request: &Request) -> Result<Vec<PodGang>, kube::Error> {
            let gang = |backend: &str| {
                let mut gang = PodGang::default();
                gang.labels_mut().insert(LABEL_SCHEDULER_NAME.to_owned(), backend.to_owned());
                gang
            };
            Ok(match request.name.as_str() {
                "member" => Vec::new(),
                "rigid" => vec![gang("lets-idle"), gang("does-not")],
                _ => vec![gang("lets-idle")],
            })
        }
    }

    async fn answer(resource: &str, sub_resource: &str, name: &str, [old, new]: [Value; 2]) -> Value {
        let spec = |replicas: Value| json!({"spec": {"replicas": replicas, "minAvailable": 2}});
        let request = json!({
            "uid": "u", "operation": "UPDATE", "name": name, "namespace": "ns", "subResource": sub_resource,
            "resource": {"group": "grove.io", "version": "v1alpha1", "resource": resource},
            "oldObject": spec(old), "object": spec(new),
        });
        let backends = vec![
            FakeBackend { allows_idle: true, ..FakeBackend::ready("lets-idle") },
            FakeBackend::ready("does-not"),
        ];
        let registry = cluster(backends).registry;
        let answer = check(&serde_json::from_value(request).unwrap(), &FakeObjects, &registry).await;
        answer.into_review("u")["response"].take()
    }

    #[rstest::rstest]
    #[case::to_the_minimum(json!(3), json!(2), true)]
    #[case::below(json!(3), json!(1), false)]
    #[case::to_zero(json!(3), json!(0), false)]
    #[case::to_zero_by_omission(json!(3), json!(null), false)]
    #[case::unchanged_below(json!(1), json!(1), true)]
    #[case::increased_but_still_below(json!(0), json!(1), false)]
    #[case::out(json!(2), json!(9), true)]
    #[tokio::test]
    async fn replicas_below_the_minimum_are_refused(
        #[case] old: Value,
        #[case] new: Value,
        #[case] allowed: bool,
    ) {
        for resource in ["podcliques", "podcliquescalinggroups"] {
            for sub_resource in ["", "scale"] {
                let given = [old.clone(), new.clone()];
                assert_eq!(answer(resource, sub_resource, "rigid", given).await["allowed"], allowed);
            }
        }
    }

    #[rstest::rstest]
    #[case::supported_by_all_gangs("x", true)]
    #[case::not_supported_by_one_gang("rigid", false)]
    #[case::a_member_of_a_group("member", false)]
    #[tokio::test]
    async fn scaling_to_zero_requires_support_for_idle_podgroups(#[case] name: &str, #[case] allowed: bool) {
        for replicas in [json!(0), json!(null)] {
            let answer = answer("podcliques", "scale", name, [json!(3), replicas]).await;
            assert_eq!(answer["allowed"], allowed);
        }
    }

    #[tokio::test]
    async fn a_refusal_names_the_bound() {
        let answer = answer("podcliques", "scale", "x", [json!(3), json!(1)]).await;
        insta::assert_snapshot!(answer["status"]["message"].as_str().unwrap(), @"spec.replicas: Invalid value: 1: must not be less than minAvailable, which is 2");
        assert_eq!(answer["status"]["code"], 422);
    }

    #[tokio::test]
    async fn a_failed_lookup_refuses_the_request() {
        let answer = answer("podcliques", "scale", "unknown", [json!(3), json!(2)]).await;
        assert_eq!((&answer["allowed"], &answer["status"]["code"]), (&json!(false), &json!(500)));
    }
}
