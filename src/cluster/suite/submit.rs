//! Submits a run as a Job. Checks the user's rights before it creates anything.

use std::collections::BTreeSet;
use std::time::Duration;

use conformance_contract::names;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::{Client, ResourceExt};

use super::{SuiteRun, run_of_share};
use crate::polling::{names_left, until_complete};
use crate::rights::{Right, granted};
use crate::sweep::{self, RunLabel};
use crate::{ClusterError, deploy};

const NEEDED: [(&[&str], &str, &str); 10] = [
    (&["create", "list", "delete"], "", "namespaces"),
    (&["create"], "", "serviceaccounts"),
    (&["create", "list", "delete"], "rbac.authorization.k8s.io", "clusterroles"),
    (&["create", "list", "delete"], "rbac.authorization.k8s.io", "clusterrolebindings"),
    (&["create"], "rbac.authorization.k8s.io", "roles"),
    (&["create"], "rbac.authorization.k8s.io", "rolebindings"),
    (&["create", "list", "watch", "delete"], "batch", "jobs"),
    (&["list", "watch"], "", "pods"),
    (&["get"], "", "pods/log"),
    (&["get", "list"], "", "configmaps"),
];
/// How long the pods of an interrupted run may take to be deleted: slightly longer than their grace period.
const PODS_DELETED: Duration = Duration::from_secs(150);
/// Annotation of a run's namespace: the label of the nodes that the run leases.
const LEASED_NODES: &str = "conformance.grove.io/nodes-where";

/// Also checks the rights of the pods: Kubernetes lets no user grant rights that the user does not have.
pub async fn check_rights(client: &Client, run: &SuiteRun) -> Result<(), ClusterError> {
    let right = |verb: &'static str, group: &str, resource: &str| Right {
        verb,
        group: group.into(),
        resource: resource.into(),
        served_in: Vec::new(),
    };
    let needed: BTreeSet<_> = NEEDED
        .iter()
        .flat_map(|(verbs, group, resource)| verbs.iter().map(move |verb| right(verb, group, resource)))
        .collect();
    granted(client, needed).await?;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    for object in run.rights()?.iter().filter(|object| object["kind"] == "ClusterRole") {
        let (api, kind, name) = deploy::api_of(client, object);
        let failed = |source| ClusterError::api(format!("create {kind} {name}"), source);
        let typed: DynamicObject =
            serde_json::from_value(object.clone()).map_err(|error| failed(kube::Error::SerdeError(error)))?;
        api.create(&dry_run, &typed).await.map_err(failed)?;
    }
    Ok(())
}

/// Creates the objects of a run; the caller must call [`remove`]. Fails if another run leases the same nodes.
pub async fn submit(client: &Client, run: &SuiteRun) -> Result<(), ClusterError> {
    for mut object in run.rights()? {
        let is_namespace = object["kind"] == "Namespace";
        if let Some(label) = run.leased_nodes.as_deref().filter(|_| is_namespace) {
            object["metadata"]["annotations"][LEASED_NODES] = label.into();
        }
        deploy::create_unless_exists(client, &object).await?;
        if is_namespace {
            check_nodes_are_free(client, run).await?;
        }
    }
    deploy::create_unless_exists(client, &run.job()?).await
}

/// Fails if an older run leases nodes with the same label. Between runs of the same age, the name decides.
async fn check_nodes_are_free(client: &Client, run: &SuiteRun) -> Result<(), ClusterError> {
    let Some(label) = &run.leased_nodes else { return Ok(()) };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces.list(&ListParams::default().labels(names::RUN)).await;
    let found = found.map_err(ClusterError::during("list the namespaces of runs"))?;
    let leases_the_nodes = |namespace: &&Namespace| {
        namespace.annotations().get(LEASED_NODES) == Some(label)
            && namespace.metadata.deletion_timestamp.is_none()
    };
    let age =
        |namespace: &Namespace| (namespace.creation_timestamp().map(|time| time.0), namespace.name_any());
    match found.iter().filter(leases_the_nodes).min_by_key(|namespace| age(namespace)) {
        Some(first) if first.name_any() != run.name() => {
            Err(ClusterError::NodesLeased { label: label.clone(), namespace: first.name_any() })
        }
        _ => Ok(()),
    }
}

pub async fn end(client: &Client, run: &SuiteRun) -> Result<(), ClusterError> {
    let jobs: Api<Job> = Api::namespaced(client.clone(), &run.name());
    match jobs.delete(&run.name(), &DeleteParams::background()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        done => done.map(drop).map_err(ClusterError::during("delete the run's Job")),
    }
}

/// Removes all objects of a run. Continues after a failure and returns the first error.
pub async fn remove(client: &Client, run: &SuiteRun) -> Result<(), ClusterError> {
    let mut removed = Ok(());
    let shares = (0..run.shares).map(|index| run_of_share(&run.run, index));
    for id in std::iter::once(run.run.clone()).chain(shares) {
        removed = removed.and(sweep::remove_all(client, RunLabel { key: names::RUN, run: Some(&id) }).await);
    }
    removed
}

pub async fn until_without_pods(client: &Client, run: &SuiteRun) -> Result<(), ClusterError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &run.name());
    until_complete("the deletion of the run's pods", PODS_DELETED, || async {
        let found = pods.list(&ListParams::default()).await;
        found.map(|found| names_left(&found)).map_err(ClusterError::during("list the run's pods"))
    })
    .await
}

#[cfg(test)]
#[path = "submit_tests.rs"]
mod tests;
