//! The tree of CompositePodGroups of a PodGang on Kubernetes 1.37 (KUBE-10). It has one CompositePodGroup per
//! topology group config, and one PodGroup per podgroup without a config.

use serde_json::{Value, json};

use super::kube::{reference, template_faults};
use super::{CreatedGang, Name, Resource, differs, list, text};

pub(super) const COMPOSITE: &str = "CompositePodGroup";

pub(super) fn children(pod_gang: &Value) -> Vec<Resource> {
    let gang = text(&pod_gang["metadata"]["name"]);
    let named = |config: &Value| Resource { kind: COMPOSITE, name: child(gang, config), size: None };
    configs(pod_gang).map(named).collect()
}

fn root(gang: CreatedGang<'_>) -> Name {
    Name::object(gang.name().to_owned())
}

fn child(gang: &str, config: &Value) -> Name {
    Name::object(format!("{gang}-{}", text(&config["name"])))
}

fn configs(pod_gang: &Value) -> impl Iterator<Item = &Value> {
    let configs = list(&pod_gang["spec"]["topologyConstraintGroupConfigs"]).iter();
    configs.filter(|config| !list(&config["podGroupNames"]).is_empty())
}

/// Templates of a Workload at any depth, each with the name of its parent.
pub(super) fn templates(workload: &Value) -> impl Iterator<Item = (&Value, Option<&str>)> {
    let mut found = Vec::new();
    let mut left = vec![(&workload["spec"], None)];
    while let Some((holder, above)) = left.pop() {
        for template in list(&holder["podGroupTemplates"]) {
            found.push((template, above));
        }
        for template in list(&holder["compositePodGroupTemplates"]) {
            found.push((template, above));
            left.push((template, Some(text(&template["name"]))));
        }
    }
    found.into_iter()
}

pub(super) fn faults(gang: CreatedGang<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
    match wanted.kind {
        "Workload" => workload_faults(gang, found),
        COMPOSITE => composite_faults(gang, wanted, found),
        _ => {
            let mut podgroups = gang.podgroups.iter().map(|(name, _)| name);
            let is_it = |name: &&String| Name::object(format!("{}-{name}", gang.name())) == wanted.name;
            let name = podgroups.find(is_it).map(String::as_str).unwrap_or_default();
            let spec =
                list(&gang.pod_gang["spec"]["podgroups"]).iter().find(|podgroup| podgroup["name"] == name);
            let config = config_of(gang.pod_gang, name);
            let parent = config.map_or_else(|| root(gang), |config| child(gang.name(), config));
            place_faults(gang, found, Some(&parent), spec.unwrap_or(&Value::Null))
        }
    }
}

fn config_of<'a>(pod_gang: &'a Value, podgroup: &str) -> Option<&'a Value> {
    configs(pod_gang).find(|config| list(&config["podGroupNames"]).iter().any(|name| name == podgroup))
}

fn workload_faults(gang: CreatedGang<'_>, found: &Value) -> Vec<String> {
    let spec = &found["spec"];
    let mut faults = Vec::new();
    let roots = list(&spec["compositePodGroupTemplates"]).len();
    if roots != 1 || !list(&spec["podGroupTemplates"]).is_empty() {
        faults.push(format!(
            "the Workload has {roots} root templates or other top-level templates, want exactly one root"
        ));
    }
    let templates = templates(found).count();
    let wanted = 1 + configs(gang.pod_gang).count() + gang.podgroups.len();
    if templates != wanted {
        faults.push(format!("the Workload has {templates} templates, want {wanted}"));
    }
    faults
}

fn composite_faults(gang: CreatedGang<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
    let config = configs(gang.pod_gang).find(|config| child(gang.name(), config) == wanted.name);
    let (parent, config_spec, below) = match config {
        Some(config) => (Some(root(gang)), config, list(&config["podGroupNames"]).len()),
        None => {
            let outside =
                gang.podgroups.iter().filter(|(name, _)| config_of(gang.pod_gang, name).is_none()).count();
            (None, &gang.pod_gang["spec"], configs(gang.pod_gang).count() + outside)
        }
    };
    let count = &found["spec"]["schedulingPolicy"]["gang"]["minGroupCount"];
    let mut faults: Vec<_> = differs("minGroupCount", count, &json!(below)).into_iter().collect();
    faults.extend(template_faults(gang, found));
    faults.extend(place_faults(gang, found, parent.as_ref(), config_spec));
    faults
}

/// Compares a CompositePodGroup's parent, template and topology keys.
fn place_faults(
    gang: CreatedGang<'_>,
    found: &Value,
    parent: Option<&Name>,
    config_spec: &Value,
) -> Vec<String> {
    let mut faults = Vec::new();
    let above = &found["spec"]["parentCompositePodGroupName"];
    if !parent.map_or(above.is_null(), |parent| above.as_str().is_some_and(|above| parent.matches(above))) {
        let wanted = parent.map_or_else(|| "none".to_owned(), ToString::to_string);
        faults.push(format!("its parent is {above}, want {wanted}"));
    }
    if let Some(workload) = gang.live.get("Workload", gang.name()) {
        let of_parent = above.as_str().and_then(|name| gang.live.get(COMPOSITE, name));
        let of_parent = of_parent.map(|parent| reference(parent).1);
        let template = templates(workload).find(|(template, _)| template["name"] == reference(found).1);
        if let Some((_, below)) = template.filter(|(_, below)| *below != of_parent) {
            faults.push(format!(
                "its template is below template {below:?}, want {of_parent:?}, the template of its parent"
            ));
        }
    }
    let keys: Vec<_> = list(&found["spec"]["schedulingConstraints"]["topology"])
        .iter()
        .map(|constraint| constraint["key"].clone())
        .collect();
    let wanted: Vec<_> = [config_spec["topologyConstraint"]["packConstraint"]["required"].clone()]
        .into_iter()
        .filter(|key| !key.is_null())
        .collect();
    faults.extend(differs("topology keys", &json!(keys), &json!(wanted)));
    faults
}
