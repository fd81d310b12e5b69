//! Reads Nodes, ResourceSlices and DeviceClasses from a file or a cluster, as templates for the nodes of a
//! user's workload. The workload's case and the feasibility check use the same nodes.

mod devices;
mod document;
mod fields;

use std::collections::{BTreeMap, BTreeSet};

use conformance_cluster::nodes::NodeTemplate;
use conformance_contract::arena::Arena;
use conformance_contract::names::{BLOCK, GPU, RACK};
use conformance_driver::case::{Nodes, nodes};
use conformance_history::text;
use grove_yaml::YamlError;
use serde_json::{Value, json};

use self::devices::OF_SEVERAL_NODES;
use self::fields::Wrong;

pub const MAX_NODES: u32 = 1000;
/// Annotation of a Node in a file: the number of such nodes.
const REPLICAS: &str = "conformance.grove.io/replicas";

static TEMPLATES: Arena<NodeTemplate> = Arena::empty();
static DOMAINS: Arena<String> = Arena::empty();

#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("{0}")]
    Yaml(#[from] YamlError),
    #[error("{place}: {path}: {reason}")]
    Field { place: String, path: String, reason: String },
    #[error("{place}: kind is {kind}, expected Node, ResourceSlice or DeviceClass: remove the document")]
    Kind { place: String, kind: Value },
    #[error("{place}: {field} names Node {node}, which does not exist: add the Node, or remove the document")]
    UnknownNode { place: String, field: &'static str, node: String },
    #[error("there is no Node: write at least one, with apiVersion v1 and kind Node")]
    NoNodes,
    #[error("{0} nodes, want at most {MAX_NODES}: use fewer")]
    TooMany(u64),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Templates {
    all: Vec<Template>,
    device_classes: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Template {
    /// Name to which ResourceSlices refer.
    name: String,
    source: String,
    count: u32,
    labels: BTreeMap<String, String>,
    rack: Option<String>,
    block: Option<String>,
    taints: Vec<Value>,
    allocatable: BTreeMap<String, String>,
    pods: u32,
    slices: Vec<Value>,
}

struct Document {
    place: String,
    object: Value,
}

impl Templates {
    pub fn read(text: &str, file: &str) -> Result<Self, TemplateError> {
        let mut templates = Self::of_documents(flattened(grove_yaml::documents(text)?))?;
        for template in &mut templates.all {
            template.source = format!("{file}: {}", template.source);
        }
        templates.within_limit()
    }

    /// Reads the objects of a cluster and merges equal nodes into one template. Also returns how many
    /// ResourceSlices were omitted because their devices belong to no single node.
    pub fn of_cluster(objects: Vec<Value>, cluster: &str) -> Result<(Self, usize), TemplateError> {
        let names: BTreeSet<_> = objects.iter().filter(|object| object["kind"] == "Node").map(name).collect();
        let is_of_several = |object: &Value| {
            let spec = &object["spec"];
            object["kind"] == "ResourceSlice"
                && (OF_SEVERAL_NODES.iter().any(|field| !spec[*field].is_null())
                    || !names.contains(text(&spec["nodeName"])))
        };
        let is_left_out: Vec<_> = objects.iter().map(is_of_several).collect();
        let left_out = is_left_out.iter().filter(|is_left_out| **is_left_out).count();
        let kept = objects.into_iter().zip(is_left_out).filter(|(_, is_left_out)| !is_left_out);
        let templates = Self::of_documents(kept.map(|(object, _)| document(object, None)).collect())?;
        Ok((templates.merged(cluster).within_limit()?, left_out))
    }

    fn of_documents(documents: Vec<Document>) -> Result<Self, TemplateError> {
        let mut templates = Self::default();
        let mut identities: Vec<BTreeSet<&str>> = Vec::new();
        let kind_of = |document: &Document| text(&document.object["kind"]).to_owned();
        for document in documents.iter().filter(|document| kind_of(document) == "Node") {
            let template = document::read(&document.object).map_err(|wrong| at(document, wrong))?;
            let has_name = |known: &Template| !known.name.is_empty() && known.name == template.name;
            if templates.all.iter().any(has_name) {
                let reason = "an earlier Node has this name: choose another, or raise its replicas";
                return Err(at(document, fields::wrong("metadata.name", reason)));
            }
            templates.all.push(Template { source: document.place.clone(), ..template });
            identities.push(document::identity(&document.object));
        }
        for document in &documents {
            match kind_of(document).as_str() {
                "Node" => {}
                "ResourceSlice" => {
                    let read = devices::slice(&document.object);
                    let (node, slice) = read.map_err(|wrong| at(document, wrong))?;
                    let Some(template) = templates.all.iter_mut().find(|template| template.name == node)
                    else {
                        let place = document.place.clone();
                        return Err(TemplateError::UnknownNode { place, field: "spec.nodeName", node });
                    };
                    template.slices.push(slice);
                }
                "DeviceClass" => {
                    let class = devices::class(&document.object).map_err(|wrong| at(document, wrong))?;
                    templates.device_classes.push(class);
                }
                _ => {
                    let (place, kind) = (document.place.clone(), document.object["kind"].clone());
                    return Err(TemplateError::Kind { place, kind });
                }
            }
        }
        for (template, identity) in templates.all.iter_mut().zip(&identities) {
            devices::strip(&mut template.slices, identity);
        }
        if templates.all.is_empty() { Err(TemplateError::NoNodes) } else { Ok(templates) }
    }

    fn within_limit(self) -> Result<Self, TemplateError> {
        let count: u64 = self.all.iter().map(|template| u64::from(template.count)).sum();
        if count > u64::from(MAX_NODES) { Err(TemplateError::TooMany(count)) } else { Ok(self) }
    }

    /// Replaces the names of the cluster's nodes and merges equal nodes.
    fn merged(self, cluster: &str) -> Self {
        let mut all: Vec<Template> = Vec::new();
        for template in self.all {
            let template = Template { name: String::new(), source: cluster.to_owned(), ..template };
            let is_equal =
                |known: &&mut Template| Template { count: template.count, ..(**known).clone() } == template;
            match all.iter_mut().find(is_equal) {
                Some(known) => known.count += template.count,
                None => all.push(template),
            }
        }
        for (index, template) in all.iter_mut().enumerate() {
            template.name = format!("shape-{index}");
        }
        Self { all, ..self }
    }

    pub fn nodes(&self) -> Vec<Nodes> {
        let mut all = Vec::new();
        for template in &self.all {
            let gpus = template.allocatable.get(GPU).and_then(|amount| amount.parse().ok()).unwrap_or(0);
            let mut node = nodes(1).gpus(gpus).like(TEMPLATES.add(NodeTemplate {
                source: template.source.clone(),
                labels: template.labels.clone(),
                taints: template.taints.clone(),
                allocatable: template.allocatable.clone(),
                pods: template.pods,
                slices: template.slices.clone(),
                device_classes: self.device_classes.clone(),
            }));
            if let Some(rack) = &template.rack {
                node = node.rack(DOMAINS.add(rack.clone()));
            }
            if let Some(block) = &template.block {
                node = node.block(DOMAINS.add(block.clone()));
            }
            all.extend(std::iter::repeat_n(node, template.count as usize));
        }
        all
    }

    pub fn write(&self, comment: &str) -> Result<String, YamlError> {
        let mut file = format!("# {comment}\n");
        let of_templates = self.all.iter().flat_map(Template::objects);
        for object in of_templates.chain(self.device_classes.iter().cloned()) {
            file.push_str("---\n");
            file.push_str(&grove_yaml::write(&object)?);
        }
        Ok(file)
    }
}

impl Template {
    fn objects(&self) -> Vec<Value> {
        let mut labels = self.labels.clone();
        labels.extend(self.rack.iter().map(|rack| (RACK.to_owned(), rack.clone())));
        labels.extend(self.block.iter().map(|block| (BLOCK.to_owned(), block.clone())));
        let mut allocatable = self.allocatable.clone();
        allocatable.insert("pods".into(), self.pods.to_string());
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": self.name, "labels": labels, "annotations": {(REPLICAS): self.count.to_string()},
            },
            "spec": {"taints": self.taints},
            "status": {"allocatable": allocatable},
        });
        let slice = |(index, slice): (usize, &Value)| {
            let mut slice = slice.clone();
            slice["apiVersion"] = "resource.k8s.io/v1".into();
            slice["kind"] = "ResourceSlice".into();
            slice["metadata"] = json!({"name": format!("{}-{index}", self.name)});
            slice["spec"]["nodeName"] = self.name.as_str().into();
            slice
        };
        std::iter::once(node).chain(self.slices.iter().enumerate().map(slice)).collect()
    }
}

fn at(document: &Document, Wrong { path, reason }: Wrong) -> TemplateError {
    TemplateError::Field { place: document.place.clone(), path, reason }
}

fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

fn flattened(documents: Vec<Value>) -> Vec<Document> {
    let mut all = Vec::new();
    for (number, mut object) in (1..).zip(documents) {
        match object.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => {
                let of_list =
                    |(index, item)| document(item, Some(format!("document {number}, items[{index}]")));
                all.extend(items.into_iter().enumerate().map(of_list));
            }
            _ => all.push(document(object, Some(format!("document {number}")))),
        }
    }
    all
}

fn document(object: Value, place: Option<String>) -> Document {
    let name = format!("{} {}", text(&object["kind"]), name(&object));
    let place = match place {
        Some(place) if name == " " => place,
        Some(place) => format!("{place} ({})", name.trim()),
        None => name,
    };
    Document { place, object }
}

#[cfg(test)]
mod tests;
