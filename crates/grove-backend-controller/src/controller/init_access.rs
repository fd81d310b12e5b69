//! What the init containers of a PodCliqueSet with a startup order need to see its pods: a service account, its token, and a
//! Role for pods in the namespace, bound to it (START-03). All of it goes with the PodCliqueSet.
//!
//! Made once and not watched: Secrets are created, and never read. So one of that name that is there already cannot be told
//! from a predecessor's, which the garbage collector will come to; it counts once the PodCliqueSet is older than that takes.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use grove_api::{PodCliqueSet, names};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Resource, ResourceExt};

use super::context::Context;
use super::error::ReconcileError;
use super::ownership::owner_reference;
use super::writes;

/// The type of a Secret that gets the token of a service account.
const TOKEN: &str = "kubernetes.io/service-account-token";
/// Annotation of such a Secret: which service account's.
const OF_ACCOUNT: &str = "kubernetes.io/service-account.name";
/// Reason of the event on a PodCliqueSet whose init containers will not see pods.
const REASON_FAILED: &str = "InitContainerAccessFailed";
const RBAC: &str = "rbac.authorization.k8s.io";
/// The garbage collector has been past by then.
const COLLECTED: SignedDuration = SignedDuration::from_secs(60);

/// The PodCliqueSets, by uid, for which all is there.
#[derive(Default)]
pub(super) struct InitAccess(Mutex<HashSet<String>>);

impl InitAccess {
    /// A PodCliqueSet is gone.
    pub(super) fn forget(&self, pcs: &str) {
        self.with(|known| known.remove(pcs));
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashSet<String>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Makes what is missing. Without it pods that wait for others wait for ever, so a failure is told.
///
/// # Errors
/// The first write that failed, or something of a predecessor that has to go first.
pub(super) async fn ensure(context: &Context, pcs: &PodCliqueSet) -> Result<(), ReconcileError> {
    context.events.told(pcs, REASON_FAILED, make(context, pcs).await).await
}

async fn make(context: &Context, pcs: &PodCliqueSet) -> Result<(), ReconcileError> {
    let uid = pcs.uid().unwrap_or_default();
    if context.init_access.with(|known| known.contains(&uid)) {
        return Ok(());
    }
    let client = &context.client;
    writes::create(client, &account(pcs), pcs).await?;
    writes::create(client, &role(pcs), pcs).await?;
    writes::create(client, &binding(pcs), pcs).await?;
    let secret = secret(pcs);
    match writes::api::<Secret>(client, &secret).create(&PostParams::default(), &secret).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            if !is_older_than_garbage(pcs) {
                let what = format!("Secret {} of a predecessor has to go first", secret.name_any());
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
    let made = pcs.metadata.creation_timestamp.as_ref().map(|made| made.0);
    made.is_some_and(|made| Timestamp::now().duration_since(made) > COLLECTED)
}

fn metadata(pcs: &PodCliqueSet, name: String, component: &str) -> ObjectMeta {
    ObjectMeta {
        // A Role may have a colon in its name, a label may not.
        labels: Some(names::object_labels(&pcs.name_any(), &name.replace(':', "-"), component)),
        name: Some(name),
        namespace: pcs.namespace(),
        owner_references: owner_reference(pcs).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn account(pcs: &PodCliqueSet) -> ServiceAccount {
    let name = names::init_service_account(&pcs.name_any());
    ServiceAccount {
        metadata: metadata(pcs, name, names::COMPONENT_INIT_SERVICE_ACCOUNT),
        // Its token is for init containers, which mount it themselves.
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

fn binding(pcs: &PodCliqueSet) -> RoleBinding {
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
    let set = pcs.name_any();
    let mut metadata = metadata(pcs, names::init_token(&set), names::COMPONENT_INIT_TOKEN);
    metadata.annotations = Some([(OF_ACCOUNT.to_owned(), names::init_service_account(&set))].into());
    Secret { metadata, type_: Some(TOKEN.to_owned()), ..Secret::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::test_api::World;

    fn pcs() -> PodCliqueSet {
        serde_json::from_value(json!({
            "metadata": {"name": "wl", "namespace": "ns", "uid": "u"},
            "spec": {"replicas": 1, "template": {"cliques": []}},
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn made_once_and_no_more_than_it_takes() {
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
        assert_eq!(written[3].1["metadata"]["annotations"][OF_ACCOUNT], "wl");
        ensure(&world.context, &pcs()).await.unwrap();
        assert_eq!(world.written(), [], "it is known");
        world.context.init_access.forget("u");
        ensure(&world.context, &pcs()).await.unwrap();
        assert_eq!(world.written().len(), 4);
    }
}
