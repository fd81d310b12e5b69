//! Creates the ServiceAccount, Role, RoleBinding and Secret of init containers. The controller never reads
//! Secrets (START-03), so an existing Secret may belong to a deleted PodCliqueSet of the same name. The
//! Secret is accepted once the PodCliqueSet is older than the time that garbage collection takes.

use grove_api::{PodCliqueSet, names};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Resource, ResourceExt};

use crate::cache::ownership::owner_reference;
use crate::context::error::ReconcileError;
use crate::context::{Context, writes};

const TOKEN: &str = "kubernetes.io/service-account-token";
const SERVICE_ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const REASON_FAILED: &str = "InitContainerAccessFailed";
const RBAC: &str = "rbac.authorization.k8s.io";
const GARBAGE_COLLECTION_TIME: SignedDuration = SignedDuration::from_secs(60);

/// Reports failures: pods that start after others would wait indefinitely without these objects.
pub(super) async fn ensure(context: &Context, pcs: &PodCliqueSet) -> Result<(), ReconcileError> {
    context.events.report(pcs, REASON_FAILED, create_missing(context, pcs).await).await
}

async fn create_missing(context: &Context, pcs: &PodCliqueSet) -> Result<(), ReconcileError> {
    let uid = pcs.uid().unwrap_or_default();
    if context.init_access.with(|known| known.contains(&uid)) {
        return Ok(());
    }
    let client = &context.client;
    writes::create(client, &service_account(pcs), pcs).await?;
    writes::create(client, &role(pcs), pcs).await?;
    writes::create(client, &role_binding(pcs), pcs).await?;
    let secret = secret(pcs);
    match writes::api::<Secret>(client, &secret).create(&PostParams::default(), &secret).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            if !is_older_than_garbage(pcs) {
                let what = format!(
                    "Secret {} of a deleted PodCliqueSet with the same name must be deleted first",
                    secret.name_any()
                );
                return Err(ReconcileError::Waiting(what));
            }
        }
        Err(source) => {
            return Err(ReconcileError::Api {
                action: format!("create Secret {}", secret.name_any()),
                source,
            });
        }
    }
    context.init_access.with(|known| known.insert(uid));
    Ok(())
}

fn is_older_than_garbage(pcs: &PodCliqueSet) -> bool {
    let created = pcs.metadata.creation_timestamp.as_ref().map(|created| created.0);
    created.is_some_and(|created| Timestamp::now().duration_since(created) > GARBAGE_COLLECTION_TIME)
}

fn metadata(pcs: &PodCliqueSet, name: String, component: &str) -> ObjectMeta {
    ObjectMeta {
        // A Role's name may contain a colon, a label value may not.
        labels: Some(names::object_labels(&pcs.name_any(), &name.replace(':', "-"), component)),
        name: Some(name),
        namespace: pcs.namespace(),
        owner_references: owner_reference(pcs).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn service_account(pcs: &PodCliqueSet) -> ServiceAccount {
    let name = names::init_service_account(&pcs.name_any());
    ServiceAccount {
        metadata: metadata(pcs, name, names::COMPONENT_INIT_SERVICE_ACCOUNT),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}

fn role(pcs: &PodCliqueSet) -> Role {
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["pods".to_owned()]),
        verbs: ["get", "list", "watch"].map(str::to_owned).into(),
        ..PolicyRule::default()
    };
    let name = names::init_role(&pcs.name_any());
    Role { metadata: metadata(pcs, name, names::COMPONENT_INIT_ROLE), rules: Some(vec![rule]) }
}

fn role_binding(pcs: &PodCliqueSet) -> RoleBinding {
    let name = names::init_role(&pcs.name_any());
    RoleBinding {
        role_ref: RoleRef {
            api_group: Some(RBAC.to_owned()),
            kind: Role::kind(&()).into_owned(),
            name: name.clone(),
        },
        metadata: metadata(pcs, name, names::COMPONENT_INIT_ROLE_BINDING),
        subjects: Some(vec![Subject {
            kind: ServiceAccount::kind(&()).into_owned(),
            name: names::init_service_account(&pcs.name_any()),
            namespace: pcs.namespace(),
            ..Subject::default()
        }]),
    }
}

fn secret(pcs: &PodCliqueSet) -> Secret {
    let pcs_name = pcs.name_any();
    let mut metadata = metadata(pcs, names::init_token(&pcs_name), names::COMPONENT_INIT_TOKEN);
    metadata.annotations =
        Some([(SERVICE_ACCOUNT_NAME.to_owned(), names::init_service_account(&pcs_name))].into());
    Secret { metadata, type_: Some(TOKEN.to_owned()), ..Secret::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::context::test_api::World;

    fn pcs() -> PodCliqueSet {
        serde_json::from_value(json!({
            "metadata": {"name": "wl", "namespace": "ns", "uid": "u"},
            "spec": {"replicas": 1, "template": {"cliques": []}},
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn access_is_created_once_and_limited_to_reading_pods() {
        let world = World::new();
        ensure(&world.context, &pcs()).await.unwrap();
        let written = world.written();
        let line = |(request, object): &(String, serde_json::Value)| {
            let owner = &object["metadata"]["ownerReferences"][0]["uid"];
            format!("{request} {} {owner}", object["metadata"]["name"])
        };
        insta::assert_snapshot!(written.iter().map(line).collect::<Vec<_>>().join("\n"), @r#"
        POST /api/v1/namespaces/ns/serviceaccounts "wl" "u"
        POST /apis/rbac.authorization.k8s.io/v1/namespaces/ns/roles "grove.io:pcs:wl" "u"
        POST /apis/rbac.authorization.k8s.io/v1/namespaces/ns/rolebindings "grove.io:pcs:wl" "u"
        POST /api/v1/namespaces/ns/secrets "wl-ic-sat" "u"
        "#);
        assert_eq!(written[1].1["metadata"]["labels"]["app.kubernetes.io/name"], "grove.io-pcs-wl");
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]);
        assert_eq!(written[1].1["rules"], rules);
        assert_eq!(written[2].1["roleRef"]["kind"], "Role");
        assert_eq!(
            written[2].1["subjects"],
            json!([{"kind": "ServiceAccount", "name": "wl", "namespace": "ns"}])
        );
        assert_eq!(written[3].1["metadata"]["annotations"][SERVICE_ACCOUNT_NAME], "wl");
        ensure(&world.context, &pcs()).await.unwrap();
        assert_eq!(world.written(), [], "already created");
        world.context.init_access.forget("u");
        ensure(&world.context, &pcs()).await.unwrap();
        assert_eq!(world.written().len(), 4);
    }
}
