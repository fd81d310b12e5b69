//! A companion: an object that the PodCliqueSets of a manifest need.

use conformance_contract::names;
use conformance_history::{list, text};
use serde_json::{Value, json};

use crate::kinds::{Kind, ROLE_BINDING, VOLCANO_GROUP};

/// Created before the PodCliqueSets, and deleted after them.
#[derive(Debug)]
pub(crate) struct Companion {
    pub(super) kind: &'static Kind,
    pub(super) document: usize,
    pub(super) object: Value,
}

impl Companion {
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.kind.name, self.name())
    }

    pub(super) fn name(&self) -> &str {
        text(&self.object["metadata"]["name"])
    }

    pub(crate) fn document(&self) -> usize {
        self.document
    }

    pub(crate) fn is(&self, kind: &str, name: &str) -> bool {
        self.kind.name == kind && self.name() == name
    }

    pub(crate) fn is_headless(&self) -> bool {
        self.object["spec"]["clusterIP"] == "None"
    }

    pub(crate) fn is_cluster_scoped(&self) -> bool {
        !self.kind.is_namespaced
    }

    /// Whether the object can conflict with objects of other cases.
    pub(super) fn is_exclusive(&self) -> bool {
        let spec = &self.object["spec"];
        let has_address = spec["clusterIP"].as_str().is_some_and(|address| !["", "None"].contains(&address));
        let has_port = list(&spec["ports"]).iter().any(|port| port["nodePort"].is_number());
        self.is_cluster_scoped() || (self.kind.name == "Service" && (has_address || has_port))
    }

    pub(crate) fn in_namespace(&self, namespace: &str, run: &str) -> Value {
        let mut object = self.object.clone();
        if self.kind.name == ROLE_BINDING {
            bind_in_namespace(&mut object, namespace);
        }
        if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            metadata.remove("namespace");
        }
        if self.kind.is_namespaced {
            object["metadata"]["namespace"] = namespace.into();
        } else {
            // The label identifies leftovers of a killed run.
            object["metadata"]["labels"][names::RUN] = run.into();
        }
        if let Some(claim) = object.pointer_mut("/spec/claimRef").and_then(Value::as_object_mut) {
            claim.retain(|field, _| ["apiVersion", "kind", "name"].contains(&field.as_str()));
            claim.insert("namespace".into(), namespace.into());
        }
        if self.kind.group == VOLCANO_GROUP {
            // Volcano uses only Open queues. Its controller, which would open them, does not run here.
            object["status"] = json!({"state": "Open"});
        }
        object
    }
}

/// Subjects in the namespace of a RoleBinding are in the new namespace too.
fn bind_in_namespace(binding: &mut Value, namespace: &str) {
    let own = binding["metadata"]["namespace"].as_str().map(str::to_owned);
    for subject in binding.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(of_subject) = subject.get_mut("namespace")
            && own.as_deref().is_none_or(|own| *of_subject == *own)
        {
            *of_subject = namespace.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    fn companions(documents: &[&str]) -> Vec<Companion> {
        let set = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w, namespace: team}\n";
        Manifest::read(&[&[set], documents].concat().join("---\n")).unwrap().companions
    }

    #[test]
    fn a_companion_is_created_in_the_namespace_of_the_case() {
        let found = companions(&[
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: team, uid: '1', resourceVersion: '2', labels: {a: b}}\n",
            "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {claimRef: {namespace: team, name: c, uid: '3'}}\n",
            "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\nstatus: {state: Closed}\n",
        ]);
        let of = |title: &str| {
            let companion = found.iter().find(|companion| companion.title() == title).unwrap();
            companion.in_namespace("case-1", "run-1")
        };
        let metadata = json!({"name": "s", "namespace": "case-1", "labels": {"a": "b"}});
        assert_eq!(of("Secret s"), json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}));
        let volume = of("PersistentVolume v");
        assert_eq!(volume["spec"]["claimRef"], json!({"namespace": "case-1", "name": "c"}));
        assert_eq!(volume["metadata"], json!({"name": "v", "labels": {(names::RUN): "run-1"}}));
        assert_eq!(of("Queue q")["status"], json!({"state": "Open"}));
    }

    #[rstest::rstest]
    #[case::in_its_namespace("team", "case-1")]
    #[case::in_another_namespace("monitoring", "monitoring")]
    fn a_role_binding_binds_accounts_of_its_namespace(#[case] of_subject: &str, #[case] expected: &str) {
        let binding = format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: b, namespace: team}}\nroleRef: \
             {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}\nsubjects: [{{kind: ServiceAccount, name: a, \
             namespace: {of_subject}}}]\n"
        );
        let found = companions(&[&binding])[0].in_namespace("case-1", "run-1");
        assert_eq!(found["subjects"][0]["namespace"], expected);
        assert_eq!(found["metadata"]["namespace"], "case-1");
    }
}
