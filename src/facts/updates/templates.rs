use conformance_history::{Pod, list};
use serde_json::{Value, json};

/// The variable whose value identifies the revision of a template.
pub const REVISION: &str = "REVISION";

pub fn is_new(pod: Pod<'_>, template: &Value) -> bool {
    let has = |field: &str| {
        let wanted = template[field].as_object().into_iter().flatten();
        wanted.into_iter().all(|(key, value)| pod.0["metadata"][field][key] == *value)
    };
    let spec = &template["spec"]["podSpec"];
    has("labels")
        && has("annotations")
        && revision(&pod.0["spec"]) == revision(spec)
        && has_init_images(&pod.0["spec"], spec)
}

/// Whether the init containers of the template have their images. Operators may add further init containers.
fn has_init_images(pod: &Value, template: &Value) -> bool {
    let found = list(&pod["initContainers"]);
    list(&template["initContainers"]).iter().all(|wanted| {
        found.iter().any(|found| found["name"] == wanted["name"] && found["image"] == wanted["image"])
    })
}

pub fn is_of_revision(pod: Pod<'_>, wanted: &str) -> bool {
    revision(&pod.0["spec"]) == Some(wanted)
}

pub fn has_revision_of(pod: Pod<'_>, pclq: &Value) -> bool {
    revision(&pod.0["spec"]) == revision(&pclq["spec"]["podSpec"])
}

pub fn revision(spec: &Value) -> Option<&str> {
    let variables = list(&spec["containers"]).iter().flat_map(|container| list(&container["env"]));
    variables.into_iter().find(|variable| variable["name"] == REVISION)?["value"].as_str()
}

pub fn templates(pcs: &Value) -> Vec<Value> {
    let template = &pcs["spec"]["template"];
    let pod_fields = |clique: &Value| {
        json!([
            clique["name"],
            clique["labels"],
            clique["annotations"],
            clique["spec"]["podSpec"],
            template["priorityClassName"]
        ])
    };
    list(&template["cliques"]).iter().map(pod_fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_with_another_image_of_an_init_container_is_not_new() {
        let container = |name: &str, image: &str| json!({"name": name, "image": image});
        let pod = json!({"spec": {"initContainers": [container("added", "a:1"), container("own", "b:1")]}});
        let is_new = |image: &str| {
            is_new(Pod(&pod), &json!({"spec": {"podSpec": {"initContainers": [container("own", image)]}}}))
        };
        assert!(is_new("b:1") && !is_new("b:2"));
    }

    #[test]
    fn a_pod_with_other_labels_or_another_revision_is_not_new() {
        let spec = |revision: &str| json!({"containers": [{"env": [{"name": REVISION, "value": revision}]}]});
        let pod = json!({"metadata": {"labels": {"team": "a", "own": "1"}}, "spec": spec("2")});
        let template = |team: &str, revision: &str| {
            let spec = json!({"podSpec": spec(revision)});
            json!({"labels": {"team": team}, "spec": spec})
        };
        assert!(is_new(Pod(&pod), &template("a", "2")));
        assert!(!is_new(Pod(&pod), &template("b", "2")) && !is_new(Pod(&pod), &template("a", "1")));
        assert!(is_of_revision(Pod(&pod), "2") && !is_of_revision(Pod(&pod), "1"));
        assert!(
            has_revision_of(Pod(&pod), &template("b", "2"))
                && !has_revision_of(Pod(&pod), &template("a", "1"))
        );
    }
}
