//! Which objects in a namespace are leftovers of a deleted PodCliqueSet. Service meshes, policy engines and
//! Kubernetes distributions may create other objects in every namespace at any time.

use std::collections::BTreeSet;

use conformance_contract::kinds::KINDS;
use conformance_contract::names;
use conformance_expect::schedulers;
use conformance_history::{Change, History, SharedMark, is_of_canary};
use serde_json::Value;

/// The domain of Grove's API groups and labels. The suite's own domain, [`SUITE`], is a subdomain.
const GROVE: &str = "grove.io";
const SUITE: &str = "conformance.grove.io";
/// The objects that an operator creates first for a PodCliqueSet.
const CREATED_BY_OPERATOR: [&str; 2] = ["PodClique", "PodGang"];

/// Whether the harness created the object, or every namespace may have it. Kubernetes creates a
/// ServiceAccount and a ConfigMap with the cluster's CA, and Events outlive their objects.
pub fn is_unrelated(object: &Value) -> bool {
    let metadata = &object["metadata"];
    match object["kind"].as_str().unwrap_or_default() {
        "Event" => true,
        "ServiceAccount" if metadata["name"] == "default" => true,
        "ConfigMap" if metadata["name"] == "kube-root-ca.crt" => true,
        _ => is_of_canary(object) || schedulers::is_canary_remnant(object),
    }
}

#[derive(Debug)]
pub struct Leftovers {
    sets: BTreeSet<String>,
    baseline: BTreeSet<String>,
    /// The uids of the objects in the baseline.
    owners_of_others: BTreeSet<String>,
    creators: BTreeSet<String>,
    uids: BTreeSet<String>,
}

impl Leftovers {
    pub fn of<'a>(history: &'a History, listed: impl IntoIterator<Item = &'a Value>) -> Self {
        let sets = history.of("PodCliqueSet").filter(|set| !is_of_canary(set.object)).map(|set| set.name());
        let sets =
            sets.chain(history.header.submitted.keys().map(String::as_str)).map(str::to_owned).collect();
        let before: Vec<_> = history
            .marks(SharedMark::Baseline)
            .flat_map(|(_, mark)| mark.detail.as_array().into_iter().flatten())
            .collect();
        // A manager such as `manager` is not the operator if it wrote objects before the PodCliqueSet.
        let others: BTreeSet<&str> = before.iter().flat_map(|object| managers(object)).collect();
        let mut operator = operators(history);
        operator.retain(|manager| !others.contains(manager.as_str()));
        let owners_of_others = before.iter().filter_map(|object| uid(object)).map(str::to_owned).collect();
        let baseline = before.into_iter().map(identity).collect();
        let mut found = Self { sets, baseline, owners_of_others, creators: operator, uids: BTreeSet::new() };
        let objects: Vec<&Value> = history.versions().map(|version| version.object).chain(listed).collect();
        // Repeat until nothing new is found, because watches may deliver an owner after its dependents.
        loop {
            let known = found.uids.len();
            let new = objects.iter().filter(|object| found.contains(object)).filter_map(|object| uid(object));
            let new: Vec<_> = new.map(str::to_owned).collect();
            found.uids.extend(new);
            if found.uids.len() == known {
                return found;
            }
        }
    }

    /// Whether an object is a leftover of the PodCliqueSets. Neither it nor its owner existed before the first
    /// submit, it does not exist in every namespace, and one of these is true:
    ///
    /// - its kind is Grove's, or that of a scheduler's gang resources;
    /// - a label or annotation is Grove's, or names Grove's operator or the PodCliqueSet;
    /// - its name is the PodCliqueSet's name or starts with it;
    /// - an object of the PodCliqueSet owns it;
    /// - the field manager that created the PodCliques and PodGangs created it.
    pub fn contains(&self, object: &Value) -> bool {
        let is_of_others = owners(object).any(|uid| self.owners_of_others.contains(uid));
        let is_new = !is_unrelated(object) && !is_of_others && !self.baseline.contains(&identity(object));
        is_new
            && (is_of_a_gang_api(object)
                || self.is_labelled(object)
                || self.is_named(object)
                || owners(object).any(|uid| self.uids.contains(uid))
                || creators(object).any(|creator| self.creators.contains(&creator)))
    }

    fn is_labelled(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let keys = [&metadata["labels"], &metadata["annotations"]];
        let mut domains = keys.into_iter().filter_map(Value::as_object).flat_map(|keys| keys.keys());
        let labels = &metadata["labels"];
        labels[names::MANAGED_BY] == names::MANAGER
            || labels[names::PART_OF].as_str().is_some_and(|set| self.sets.contains(set))
            || domains.any(|key| key.split_once('/').is_some_and(|(domain, _)| is_of_grove(domain)))
    }

    fn is_named(&self, object: &Value) -> bool {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let rest = |set: &String| name.strip_prefix(set.as_str());
        self.sets.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('-'))
    }
}

pub fn operators(history: &History) -> BTreeSet<String> {
    let created = |kinds: &[&str]| -> BTreeSet<String> {
        let new = history.versions().filter(|version| version.change == Change::Added);
        let new = new.filter(|version| kinds.contains(&version.kind()) && !is_of_canary(version.object));
        new.flat_map(|version| creators(version.object)).collect()
    };
    let users = created(&["PodCliqueSet"]);
    created(&CREATED_BY_OPERATOR).into_iter().filter(|manager| !users.contains(manager)).collect()
}

fn is_of_grove(domain: &str) -> bool {
    let is_within =
        |of: &str| domain == of || domain.strip_suffix(of).is_some_and(|rest| rest.ends_with('.'));
    is_within(GROVE) && !is_within(SUITE)
}

fn is_of_a_gang_api(object: &Value) -> bool {
    let group = |api_version: &str| api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let known = KINDS.iter().find(|kind| object["kind"] == kind.name);
    known.is_some_and(|kind| kind.scheduler.is_some() || is_of_grove(&group(kind.api_version)))
        || object["apiVersion"].as_str().map(group).is_some_and(|group| {
            is_of_grove(&group)
                || KINDS.iter().any(|kind| {
                    let of_scheduler = kind.scheduler.is_some() && object["kind"] == kind.kind();
                    of_scheduler && group == kind.api_version.split('/').next().unwrap_or_default()
                })
        })
}

fn identity(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{}/{name}/{}", object["kind"].as_str().unwrap_or_default(), uid(object).unwrap_or_default())
}

fn uid(object: &Value) -> Option<&str> {
    object["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty())
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.filter_map(|owner| owner["uid"].as_str())
}

fn managed_fields(object: &Value) -> impl Iterator<Item = &Value> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter(|entry| entry["subresource"].as_str().is_none_or(str::is_empty))
}

fn managers(object: &Value) -> impl Iterator<Item = &str> {
    managed_fields(object).filter_map(|entry| entry["manager"].as_str())
}

fn creators(object: &Value) -> impl Iterator<Item = String> {
    let oldest = managed_fields(object).filter_map(|entry| entry["time"].as_str()).min();
    let of_creation = managed_fields(object).filter(move |entry| entry["time"].as_str() == oldest);
    of_creation.filter_map(|entry| entry["manager"].as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object, one_clique, owned};
    use serde_json::json;

    use super::*;

    fn with(mut object: Value, metadata: Value) -> Value {
        for (key, value) in metadata.as_object().unwrap() {
            object["metadata"][key] = value.clone();
        }
        object
    }

    fn by(manager: &str) -> Value {
        json!({"managedFields": [{"manager": manager, "operation": "Update", "time": "2026-01-01T00:00:00Z"}]})
    }

    fn story() -> History {
        let before = json!([
            with(object("ConfigMap", "w-mesh"), json!({"uid": "1"})),
            with(object("Secret", "of-the-mesh"), by("manager")),
        ]);
        let mut gang = with(object("PodGang", "w-0"), by("operator"));
        gang["metadata"]["managedFields"]
            .as_array_mut()
            .unwrap()
            .push(json!({"manager": "manager", "operation": "Update", "time": "2026-01-01T00:00:00Z"}));
        Story::flat()
            .mark(SharedMark::Baseline, before)
            .submitted(one_clique("w", 1))
            // The watch delivers the owner of this Service later.
            .added(owned(object("Service", "addressed"), "PodClique", "w-0-a"))
            .added(gang)
            .added(object("PodClique", "w-0-a"))
            .deleted(object("PodClique", "w-0-a"))
            .end()
    }

    #[rstest::rstest]
    #[case::gang_api(json!({"kind": "PodGangMap", "apiVersion": "grove.io/v1alpha1", "metadata": {"name": "x"}}))]
    #[case::gang_resource(object("PodGroup.scheduling.volcano.sh", "x"))]
    #[case::listed_gang_resource(json!({"kind": "PodGroup", "apiVersion": "scheduling.volcano.sh/v1beta1", "metadata": {"name": "x"}}))]
    #[case::label_of_the_set(with(object("Service", "x"), json!({"labels": {"app.kubernetes.io/part-of": "w"}})))]
    #[case::label_of_grove(with(object("Role", "x"), json!({"labels": {"scheduler.grove.io/any": ""}})))]
    #[case::managed_by(with(object("Role", "x"), json!({"labels": {"app.kubernetes.io/managed-by": "grove-operator"}})))]
    #[case::name(object("Service", "w-0"))]
    #[case::owner(owned(object("EndpointSlice", "x"), "Service", "addressed"))]
    #[case::creator(with(object("Secret", "x"), by("operator")))]
    #[case::same_name_as_before(with(object("ConfigMap", "w-mesh"), json!({"uid": "2"})))]
    fn an_object_with_a_trace_of_the_pod_clique_set_is_a_leftover(#[case] left: Value) {
        assert!(Leftovers::of(&story(), []).contains(&left), "{left}");
    }

    #[rstest::rstest]
    #[case::injected(with(object("ConfigMap", "istio-ca-root-cert"), by("pilot-discovery")))]
    #[case::by_a_manager_of_the_baseline(with(object("NetworkPolicy", "deny"), by("manager")))]
    #[case::in_the_baseline(with(object("ConfigMap", "w-mesh"), json!({"uid": "1"})))]
    #[case::owned_by_the_baseline(
        json!({"kind": "EndpointSlice", "metadata": {"name": "w-mesh-x", "ownerReferences": [{"uid": "1"}]}})
    )]
    #[case::another_name(object("ConfigMap", "weather"))]
    #[case::part_of_another(with(object("RoleBinding", "x"), json!({"labels": {"app.kubernetes.io/part-of": "mesh"}})))]
    #[case::owned_by_another(owned(object("Secret", "x"), "ServiceAccount", "builder"))]
    #[case::of_the_suite(with(object("ConfigMap", "x"), json!({"labels": {"conformance.grove.io/run": "r"}})))]
    #[case::event(object("Event", "w-0.1"))]
    #[case::not_groves_domain(with(object("ConfigMap", "x"), json!({"labels": {"mangrove.io/x": ""}})))]
    fn an_object_of_others_is_no_leftover(#[case] object: Value) {
        assert!(!Leftovers::of(&story(), []).contains(&object), "{object}");
    }

    #[test]
    fn an_owner_that_only_the_list_contains_is_recognized() {
        let account = with(object("ServiceAccount", "w-account"), json!({"uid": "7"}));
        let token = with(object("Secret", "token"), json!({"ownerReferences": [{"uid": "7"}]}));
        let listed = [token, account];
        assert!(listed.iter().all(|object| Leftovers::of(&story(), &listed).contains(object)));
    }
}
