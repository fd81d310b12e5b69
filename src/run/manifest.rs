//! Reads the manifest of a user's workload: PodCliqueSets and the *companions* that they need.

mod companion;

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::{list, text};
use serde_json::Value;

pub(crate) use self::companion::Companion;
use crate::exported::as_before_creation;
use crate::kinds::{self, KUSTOMIZE, Kind, ROLE_BINDING, SET, SET_VERSION};
use crate::types::{self, WrongType};

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("{0}")]
    Yaml(grove_yaml::YamlError),
    #[error(
        "{error}\n  line {line} has {{{{, so the file may be a template: render it first, for example with helm template"
    )]
    Template { error: grove_yaml::YamlError, line: usize },
    #[error("{error}\n  line {line} is indented with a tab: use spaces")]
    Tab { error: grove_yaml::YamlError, line: usize },
    #[error("document {document}: {reason}")]
    Document {
        /// The number of the document, from 1. Empty documents do not count.
        document: usize,
        reason: DocumentError,
    },
    #[error("the manifest has no PodCliqueSet: add one of apiVersion {SET_VERSION}")]
    NoSet,
    #[error("the PodCliqueSets select the gang scopes {}: use one gang scope", .0.join(" and "))]
    Scopes(Vec<String>),
}

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("{field} is missing: {remedy}")]
    Missing { field: &'static str, remedy: &'static str },
    #[error(
        "metadata.name is {0:?}, so the file may be a template: render it first, for example with helm template"
    )]
    Template(String),
    #[error("{0}: metadata.name is missing: add it, also in place of generateName")]
    NoName(String),
    #[error("metadata.name is {0}, expected a string: write it in quotes")]
    Name(Value),
    #[error("apiVersion is {found}, expected {wanted}")]
    Version { found: String, wanted: &'static str },
    #[error("{kind} of {version} is not supported: {advice}")]
    Unsupported { kind: String, version: String, advice: String },
    #[error("{object} is also in document {first}: remove one of them")]
    Twice { object: String, first: usize },
    #[error(
        "{object} has the namespace {own}, and document {first} has {other}: use one namespace, which the run replaces by its own"
    )]
    Namespaces { object: String, own: String, first: usize, other: String },
    #[error("metadata.finalizers: no controller of the run removes {0}: remove the field")]
    Finalizer(String),
    #[error("{0}")]
    Type(WrongType),
    #[error(
        "globalDefault: PriorityClass {0} would apply to all pods of the run: remove the field, and name the class in priorityClassName"
    )]
    GlobalDefault(String),
    #[error(
        "spec.volumeName: {claim} names PersistentVolume {volume}, which is not in the manifest: add it, or remove the field"
    )]
    NoVolume { claim: String, volume: String },
    #[error(
        "PodCliqueSet {0} has no replicas, so there is nothing to schedule: set spec.replicas to at least 1"
    )]
    NoReplicas(String),
    #[error(
        "spec.template.cliques[{clique}].spec.podSpec.resourceClaims[{index}]: {object} is not in the manifest: add it"
    )]
    NoClaim { clique: usize, index: usize, object: String },
    #[error(
        "spec.template.cliques[{clique}].spec.podSpec.resourceClaims[{index}]: {object} requests a device of DeviceClass {class}, which neither the manifest nor the nodes have: add it to one of them"
    )]
    NoDeviceClass { clique: usize, index: usize, object: String, class: String },
    #[error("PodCliqueSet {set} has more than {most} pods: lower the replicas")]
    TooManyPods { set: String, most: u64 },
    #[error(
        "spec.template.cliques[{clique}].spec.podSpec.schedulingGroup: Grove creates no gang resources for pods with a scheduling group of their own, so there is no gang to judge: remove the field"
    )]
    OwnSchedulingGroup { clique: usize },
    #[error(
        "PodCliqueSets {first} and {second} would both have {object}: rename one of them, or their cliques and scaling groups"
    )]
    SameName { first: String, second: String, object: String },
    #[error(
        "Grove creates {object} for PodCliqueSet {set}, so the manifest may have no other one: rename one of them, or remove the document if Grove created it"
    )]
    NameOfGrove { set: String, object: String },
}

#[derive(Debug, Default)]
pub(crate) struct Manifest {
    /// Each with the number of its document.
    pub(crate) sets: Vec<(usize, Value)>,
    /// In the order of their creation: cluster-scoped ones first, and RoleBindings last, after their Roles.
    pub(crate) companions: Vec<Companion>,
}

impl Manifest {
    pub(crate) fn read(manifest: &str) -> Result<Self, ManifestError> {
        let (mut read, mut namespace) = (Self::default(), None);
        let mut known: BTreeMap<(String, String, String), usize> = BTreeMap::new();
        for (document, found) in (1..).zip(documents(manifest)?) {
            for object in items(found).into_iter().map(as_before_creation) {
                let refused = |reason: DocumentError| ManifestError::Document { document, reason };
                // Skip it, because the run uses its own namespace.
                if object["kind"] == "Namespace" && object["apiVersion"] == "v1" {
                    continue;
                }
                let kind = text(&object["kind"]).to_owned();
                let companion = companion_kind(&object).map_err(refused)?;
                types::check(&object, companion.is_none()).map_err(DocumentError::Type).map_err(refused)?;
                if let Some(foreign) = list(&object["metadata"]["finalizers"]).first() {
                    return Err(refused(DocumentError::Finalizer(text(foreign).to_owned())));
                }
                let name = match &object["metadata"]["name"] {
                    Value::String(name) if !name.is_empty() => name.as_str(),
                    Value::Null | Value::String(_) => return Err(refused(DocumentError::NoName(kind))),
                    other => return Err(refused(DocumentError::Name(other.clone()))),
                };
                if name.contains("{{") {
                    return Err(refused(DocumentError::Template(name.to_owned())));
                }
                let group = companion.map_or("", |kind| kind.group).to_owned();
                if let Some(first) = known.insert((group, kind.clone(), name.to_owned()), document) {
                    let object = format!("{kind} {name}");
                    return Err(refused(DocumentError::Twice { object, first }));
                }
                let is_namespaced = companion.is_none_or(|kind| kind.is_namespaced);
                if let Some(own) = object["metadata"]["namespace"].as_str().filter(|_| is_namespaced) {
                    let (first, other) = namespace.get_or_insert_with(|| (document, own.to_owned()));
                    if own != other.as_str() {
                        return Err(refused(DocumentError::Namespaces {
                            object: format!("{kind} {name}"),
                            own: own.to_owned(),
                            first: *first,
                            other: other.clone(),
                        }));
                    }
                }
                match companion {
                    None => read.sets.push((document, object)),
                    Some(kind) => {
                        check_fields(kind, &object).map_err(refused)?;
                        read.companions.push(Companion { kind, document, object });
                    }
                }
            }
        }
        read.companions
            .sort_by_key(|companion| (companion.kind.is_namespaced, companion.kind.name == ROLE_BINDING));
        read.checked()
    }

    fn checked(self) -> Result<Self, ManifestError> {
        if self.sets.is_empty() {
            return Err(ManifestError::NoSet);
        }
        let scopes: BTreeSet<_> = self.sets.iter().filter_map(|(_, set)| scope_of(set)).collect();
        if scopes.len() > 1 {
            return Err(ManifestError::Scopes(scopes.into_iter().map(str::to_owned).collect()));
        }
        for companion in self.of_kind("PersistentVolumeClaim") {
            let volume = text(&companion.object["spec"]["volumeName"]);
            if !volume.is_empty() && !self.has("PersistentVolume", volume) {
                return Err(ManifestError::Document {
                    document: companion.document,
                    reason: DocumentError::NoVolume { claim: companion.title(), volume: volume.to_owned() },
                });
            }
        }
        Ok(self)
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Companion> {
        self.companions.iter().filter(move |companion| companion.kind.name == kind)
    }

    pub(crate) fn objects(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.of_kind(kind).map(|companion| &companion.object)
    }

    pub(crate) fn names(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.of_kind(kind).map(Companion::name)
    }

    pub(crate) fn has(&self, kind: &str, name: &str) -> bool {
        self.names(kind).any(|known| known == name)
    }

    pub(crate) fn claim(&self, name: &str) -> Option<&Value> {
        self.spec("PersistentVolumeClaim", name)
    }

    pub(crate) fn spec(&self, kind: &str, name: &str) -> Option<&Value> {
        let found = self.of_kind(kind).find(|companion| companion.name() == name);
        found.map(|companion| &companion.object["spec"])
    }

    /// The StorageClasses of the PersistentVolumes; `""` stands for a volume without a class.
    pub(crate) fn classes_of_volumes(&self) -> BTreeSet<String> {
        let class = |volume: &Companion| text(&volume.object["spec"]["storageClassName"]).to_owned();
        self.of_kind("PersistentVolume").map(class).collect()
    }

    pub(crate) fn needs_volumes(&self) -> bool {
        let is_created_for_pod = |(_, set): &(usize, Value)| {
            let cliques = list(&set["spec"]["template"]["cliques"]).iter();
            let mut volumes = cliques.flat_map(|clique| list(&clique["spec"]["podSpec"]["volumes"]));
            volumes.any(|volume| volume["ephemeral"].is_object())
        };
        self.of_kind("PersistentVolumeClaim").next().is_some() || self.sets.iter().any(is_created_for_pod)
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.companions.iter().any(Companion::is_exclusive)
    }

    /// Returns the titles of the cluster-scoped companions, each with the number of its document.
    pub(crate) fn cluster_scoped(&self) -> Vec<String> {
        let found = self.companions.iter().filter(|companion| companion.is_cluster_scoped());
        found.map(|companion| format!("{} (document {})", companion.title(), companion.document)).collect()
    }

    pub(crate) fn scope(&self) -> Option<&str> {
        self.sets.iter().find_map(|(_, set)| scope_of(set))
    }

    pub(crate) fn not_served(&self, target: Target) -> Option<String> {
        self.companions.iter().find_map(|companion| {
            let backend = companion.kind.backend.filter(|backend| *backend != target.backend())?;
            Some(format!(
                "document {}: {} belongs to {backend}, and the run tests {}: pass --backend {backend}, or remove the \
                 document",
                companion.document,
                companion.title(),
                target.backend()
            ))
        })
    }
}

fn scope_of(set: &Value) -> Option<&str> {
    set["metadata"]["annotations"][names::GANG_SCOPE].as_str()
}

fn documents(manifest: &str) -> Result<Vec<Value>, ManifestError> {
    grove_yaml::documents(manifest).map_err(|error| {
        let first = |is_cause: fn(&str) -> bool| manifest.lines().position(is_cause).map(|index| index + 1);
        // JSON may be indented with tabs.
        let is_json = manifest.trim_start().starts_with(['{', '[']);
        if let Some(line) = first(|line| line.contains("{{")) {
            ManifestError::Template { error, line }
        } else if !is_json && let Some(line) = first(is_indented_with_tab) {
            ManifestError::Tab { error, line }
        } else {
            ManifestError::Yaml(error)
        }
    })
}

/// After spaces, a tab may belong to the text of a block.
fn is_indented_with_tab(line: &str) -> bool {
    line.starts_with('\t') && !line.trim().is_empty()
}

fn items(document: Value) -> Vec<Value> {
    if document["kind"] != "List" {
        return vec![document];
    }
    list(&document["items"]).iter().cloned().flat_map(items).collect()
}

/// The files of kustomize and Helm, which are in the same folders as manifests, need not have a kind.
fn missing(object: &Value) -> DocumentError {
    if object["kind"].is_string() {
        return DocumentError::Missing { field: "apiVersion", remedy: "add it" };
    }
    let remedy = if object["resources"].is_array() || object["patches"].is_array() {
        KUSTOMIZE
    } else if ["apiVersion", "name", "version"].into_iter().all(|field| object[field].is_string()) {
        "this is the Chart.yaml of a Helm chart; render the chart with helm template, and pass the result"
    } else if object.is_object() && object["apiVersion"].is_null() && object["metadata"].is_null() {
        "if the file has Helm values, render the chart with helm template CHART --values FILE, and pass the result"
    } else {
        "add it"
    };
    DocumentError::Missing { field: "kind", remedy }
}

/// `None` for a PodCliqueSet.
fn companion_kind(object: &Value) -> Result<Option<&'static Kind>, DocumentError> {
    let (Some(kind), Some(version)) = (object["kind"].as_str(), object["apiVersion"].as_str()) else {
        return Err(missing(object));
    };
    if kind == SET {
        let is_known = version == SET_VERSION;
        return if is_known {
            Ok(None)
        } else {
            Err(DocumentError::Version { found: version.to_owned(), wanted: SET_VERSION })
        };
    }
    let group = version.split_once('/').map_or("", |(group, _)| group);
    kinds::find(group, kind).map(Some).ok_or_else(|| DocumentError::Unsupported {
        kind: kind.to_owned(),
        version: version.to_owned(),
        advice: kinds::advice(group, kind),
    })
}

/// Rejects fields that would affect other workloads.
fn check_fields(kind: &Kind, object: &Value) -> Result<(), DocumentError> {
    if kind.name == "PriorityClass" && object["globalDefault"] == true {
        return Err(DocumentError::GlobalDefault(text(&object["metadata"]["name"]).to_owned()));
    }
    Ok(())
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
