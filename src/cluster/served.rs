use std::collections::BTreeSet;

use conformance_contract::kinds::Kind;
use kube::Client;
use kube::discovery::{Discovery, Scope, verbs};

use super::ClusterError;
use super::rights::{Right, granted};

#[derive(Debug, Default)]
pub(crate) struct Served {
    /// The served `GROUP/VERSION`s, and `v1`.
    versions: BTreeSet<String>,
    /// Group and plural of each kind that can be listed, and whether the kind is namespaced.
    listed: BTreeSet<(String, String, bool)>,
}

impl Served {
    pub(crate) async fn discover(client: &Client) -> Result<Self, ClusterError> {
        let failed = |source| ClusterError::api("discover the kinds of the API server", source);
        let discovery = Discovery::new(client.clone()).run().await.map_err(failed)?;
        let mut served = Self::default();
        for group in discovery.groups() {
            served.versions.extend(group.versions().map(|version| match group.name() {
                "" => version.to_owned(),
                name => format!("{name}/{version}"),
            }));
            for (kind, capabilities) in group.resources_by_stability() {
                if capabilities.supports_operation(verbs::LIST) {
                    let is_namespaced = capabilities.scope == Scope::Namespaced;
                    served.listed.insert((kind.group, kind.plural, is_namespaced));
                }
            }
        }
        Ok(served)
    }

    /// Fails if a kind is not served: a scheduler would wait and bind no pod, which only its log would show.
    pub(crate) fn check_kinds(&self, kinds: &[Kind]) -> Result<(), ClusterError> {
        let is_served = |kind: &&Kind| {
            let group = kind.api_version.split_once('/').map_or("", |(group, _)| group);
            kind.served(&self.versions).is_some_and(|kind| self.versions.contains(kind.api_version))
                && self.listed.contains(&(group.to_owned(), kind.plural.to_owned(), kind.namespaced))
        };
        let missing: Vec<_> = kinds
            .iter()
            .filter(|kind| !is_served(kind))
            .map(|kind| format!("{} of {}", kind.plural, kind.api_version))
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(ClusterError::NotServed { missing }) }
    }

    pub(crate) async fn check_rights(&self, client: &Client, needed: Vec<Right>) -> Result<(), ClusterError> {
        granted(client, self.needed(needed)).await
    }

    /// Returns the rights for the kinds that are served, and those to list all kinds, to find leftovers.
    pub(crate) fn needed(&self, needed: Vec<Right>) -> BTreeSet<Right> {
        let mut rights = BTreeSet::new();
        for (group, plural, is_namespaced) in &self.listed {
            if *is_namespaced {
                let (group, resource) = (group.clone(), plural.clone());
                rights.insert(Right { verb: "list", group, resource, served_in: Vec::new() });
            }
        }
        for right in needed {
            let is_served = |version: &String| self.versions.contains(version);
            if right.served_in.is_empty() || right.served_in.iter().any(is_served) {
                rights.insert(Right { served_in: Vec::new(), ..right });
            }
        }
        rights
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::api_server;

    /// An API server that serves pods and PodGangs, and grants every right that is not in `denied`.
    fn client(denied: &'static [&'static str]) -> Client {
        api_server(move |_, uri, mut body| {
            let resources = |group_version: &str, plural: &str, kind: &str| {
                json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": [
                    {"name": plural, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["list"]}]})
            };
            let answer = match uri.path() {
                "/apis" => json!({"kind": "APIGroupList", "groups": [{"name": "scheduler.grove.io",
                    "versions": [{"groupVersion": "scheduler.grove.io/v1alpha1", "version": "v1alpha1"}]}]}),
                "/api" => {
                    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
                }
                "/api/v1" => resources("v1", "pods", "Pod"),
                "/apis/scheduler.grove.io/v1alpha1" => {
                    resources("scheduler.grove.io/v1alpha1", "podgangs", "PodGang")
                }
                _ => {
                    let asked = &body["spec"]["resourceAttributes"];
                    let part = |key: &str| asked[key].as_str().unwrap_or_default();
                    let words = format!("{} {}/{}", part("verb"), part("resource"), part("subresource"));
                    body["status"] = json!({"allowed": !denied.contains(&words.as_str())});
                    body
                }
            };
            (200, answer)
        })
    }

    #[rstest::rstest]
    #[case::all_granted(&[], &[])]
    #[case::several(&["watch pods/", "patch nodes/status"], &["patch nodes/status", "watch pods"])]
    #[case::leftovers_could_not_be_found(&["list podgangs/"], &["list podgangs.scheduler.grove.io"])]
    #[case::not_served_there(&["watch hypernodes/"], &[])]
    #[tokio::test]
    async fn all_missing_rights_are_reported(
        #[case] denied: &'static [&'static str],
        #[case] missing: &[&str],
    ) {
        let right = |verb: &'static str, group: &str, resource: &str, served_in: &[&str]| Right {
            verb,
            group: group.into(),
            resource: resource.into(),
            served_in: served_in.iter().map(|version| (*version).to_owned()).collect(),
        };
        let needed = vec![
            right("watch", "", "pods", &["v1"]),
            right("patch", "", "nodes/status", &[]),
            right("watch", "topology.volcano.sh", "hypernodes", &["topology.volcano.sh/v1alpha1"]),
        ];
        let client = client(denied);
        let served = Served::discover(&client).await.unwrap();
        match served.check_rights(&client, needed).await {
            Ok(()) => assert!(missing.is_empty()),
            Err(ClusterError::Rights { missing: found }) => assert_eq!(found, missing),
            Err(other) => panic!("{other}"),
        }
    }

    #[rstest::rstest]
    #[case::all(&["queues"], &["v1beta1"], &[])]
    #[case::one_lacks(&[], &["v1beta1"], &["queues of scheduling.volcano.sh/v1beta1"])]
    #[case::another_version(&["queues"], &["v2"], &["podgroups of scheduling.volcano.sh/v1beta1", "queues of scheduling.volcano.sh/v1beta1"])]
    fn kinds_that_are_not_served_are_reported(
        #[case] besides: &[&str],
        #[case] versions: &[&str],
        #[case] wanted: &[&str],
    ) {
        let group = "scheduling.volcano.sh";
        let listed = besides.iter().map(|plural| (group.to_owned(), (*plural).to_owned(), false));
        let served = Served {
            versions: versions.iter().map(|version| format!("{group}/{version}")).collect(),
            listed: listed.chain([(group.to_owned(), "podgroups".to_owned(), true)]).collect(),
        };
        let kinds = ["PodGroup.scheduling.volcano.sh", "Queue.scheduling.volcano.sh"];
        let kinds: Vec<Kind> = kinds.iter().filter_map(|name| Kind::named(name)).copied().collect();
        match served.check_kinds(&kinds) {
            Ok(()) => assert!(wanted.is_empty()),
            Err(ClusterError::NotServed { missing }) => assert_eq!(missing, wanted),
            Err(other) => panic!("{other}"),
        }
    }
}
