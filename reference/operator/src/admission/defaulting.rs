//! The mutating webhook runs before schema validation, so it works on raw JSON and leaves values of an
//! unexpected shape to the schema. Deliberate differences from upstream:
//! - `minAvailable` defaults to the defaulted `replicas`. If both are omitted, upstream refuses the object.
//! - `terminationDelay` stays unset, which means 4h. So a stored delay always comes from the user.
//! - `metadata.namespace` stays unset, because the API server sets it from the request.

use serde_json::{Value, json};
use webhook_server::PatchOperation;

pub fn default_pod_clique_set(pcs: &mut Value) -> Vec<PatchOperation> {
    let mut defaulter = Defaulter { pcs, patch: Vec::new() };
    let template = "/spec/template";
    for index in 0..defaulter.length(&format!("{template}/cliques")) {
        defaulter.clique(&format!("{template}/cliques/{index}/spec"));
    }
    for index in 0..defaulter.length(&format!("{template}/podCliqueScalingGroups")) {
        let group = format!("{template}/podCliqueScalingGroups/{index}");
        defaulter.fill(&group, "replicas", json!(1));
        defaulter.fill(&group, "minAvailable", json!(1));
        defaulter.default_min_replicas(&group, "scaleConfig");
    }
    defaulter.fill(template, "headlessServiceConfig", json!({ "publishNotReadyAddresses": true }));
    defaulter.patch
}

struct Defaulter<'a> {
    pcs: &'a mut Value,
    patch: Vec<PatchOperation>,
}

impl Defaulter<'_> {
    fn clique(&mut self, spec: &str) {
        self.fill_where(spec, "replicas", json!(1), |replicas| replicas.is_null() || *replicas == 0);
        if let Some(replicas) = self.pcs.pointer(&format!("{spec}/replicas")).cloned() {
            self.fill(spec, "minAvailable", replicas);
        }
        self.default_min_replicas(spec, "autoScalingConfig");
        let pod_spec = format!("{spec}/podSpec");
        self.fill(&pod_spec, "restartPolicy", json!("Always"));
        self.fill(&pod_spec, "terminationGracePeriodSeconds", json!(30));
    }

    fn default_min_replicas(&mut self, scaled: &str, config: &str) {
        if let Some(replicas) = self.pcs.pointer(&format!("{scaled}/replicas")).cloned() {
            self.fill(&format!("{scaled}/{config}"), "minReplicas", replicas);
        }
    }

    fn length(&self, list: &str) -> usize {
        self.pcs.pointer(list).and_then(Value::as_array).map_or(0, Vec::len)
    }

    fn fill(&mut self, parent: &str, field: &str, default: Value) {
        self.fill_where(parent, field, default, Value::is_null);
    }

    fn fill_where(&mut self, parent: &str, field: &str, default: Value, is_unset: fn(&Value) -> bool) {
        let Some(fields) = self.pcs.pointer_mut(parent).and_then(Value::as_object_mut) else { return };
        if fields.get(field).is_none_or(is_unset) {
            fields.insert(field.to_owned(), default.clone());
            self.patch.push(PatchOperation::add(format!("{parent}/{field}"), default));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::fixture;

    fn defaulted(mut pcs: Value) -> Value {
        default_pod_clique_set(&mut pcs);
        pcs
    }

    fn one_clique(spec: Value) -> Value {
        json!({ "spec": { "template": { "cliques": [{ "name": "a", "spec": spec }] } } })
    }

    #[test]
    fn the_patch_contains_the_defaults() {
        let mut pcs = one_clique(json!({ "podSpec": { "containers": [] } }));
        pcs["spec"]["template"]["podCliqueScalingGroups"] = json!([{ "name": "sg", "cliqueNames": ["a"] }]);
        let patch = serde_json::to_string_pretty(&default_pod_clique_set(&mut pcs)).unwrap();
        let lines: Vec<_> =
            patch.lines().filter(|line| line.contains("path") || line.contains("value")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        "path": "/spec/template/cliques/0/spec/replicas",
        "value": 1
        "path": "/spec/template/cliques/0/spec/minAvailable",
        "value": 1
        "path": "/spec/template/cliques/0/spec/podSpec/restartPolicy",
        "value": "Always"
        "path": "/spec/template/cliques/0/spec/podSpec/terminationGracePeriodSeconds",
        "value": 30
        "path": "/spec/template/podCliqueScalingGroups/0/replicas",
        "value": 1
        "path": "/spec/template/podCliqueScalingGroups/0/minAvailable",
        "value": 1
        "path": "/spec/template/headlessServiceConfig",
        "value": {
        "#);
    }

    #[rstest::rstest]
    #[case(json!({}), 1, 1)]
    #[case(json!({ "replicas": 0 }), 1, 1)]
    #[case(json!({ "replicas": 3 }), 3, 3)]
    #[case(json!({ "replicas": null, "minAvailable": null }), 1, 1)]
    #[case(json!({ "replicas": 3, "minAvailable": 2 }), 3, 2)]
    #[case(json!({ "replicas": 3, "minAvailable": 0 }), 3, 0)]
    #[case(json!({ "replicas": -1 }), -1, -1)]
    fn min_available_follows_the_defaulted_replicas(
        #[case] spec: Value,
        #[case] replicas: i32,
        #[case] min_available: i32,
    ) {
        let pcs = defaulted(one_clique(spec));
        let spec = &pcs["spec"]["template"]["cliques"][0]["spec"];
        assert_eq!((&spec["replicas"], &spec["minAvailable"]), (&json!(replicas), &json!(min_available)));
    }

    #[test]
    fn min_replicas_defaults_to_the_template_replicas() {
        let mut pcs = one_clique(json!({ "replicas": 3, "autoScalingConfig": { "maxReplicas": 5 } }));
        let group = json!({ "name": "sg", "cliqueNames": ["b"], "scaleConfig": { "maxReplicas": 5 } });
        pcs["spec"]["template"]["podCliqueScalingGroups"] = json!([group]);
        let template = &defaulted(pcs)["spec"]["template"];
        assert_eq!(template["cliques"][0]["spec"]["autoScalingConfig"]["minReplicas"], 3);
        assert_eq!(template["podCliqueScalingGroups"][0]["scaleConfig"]["minReplicas"], 1);
    }

    #[test]
    fn values_of_the_user_are_kept() {
        let pcs = defaulted(fixture::json(&[
            ("/spec/template/headlessServiceConfig", json!({ "publishNotReadyAddresses": false })),
            ("/spec/template/cliques/0/spec/podSpec/restartPolicy", json!("Never")),
            ("/spec/template/cliques/0/spec/podSpec/terminationGracePeriodSeconds", json!(0)),
        ]));
        let template = &pcs["spec"]["template"];
        assert_eq!(template["headlessServiceConfig"]["publishNotReadyAddresses"], json!(false));
        assert_eq!(template["cliques"][0]["spec"]["podSpec"]["restartPolicy"], json!("Never"));
        assert_eq!(template["cliques"][0]["spec"]["podSpec"]["terminationGracePeriodSeconds"], json!(0));
        assert_eq!(template.get("terminationDelay"), None);
    }

    #[test]
    fn a_defaulted_object_needs_no_patch() {
        let mut pcs = defaulted(fixture::json(&[]));
        assert_eq!(default_pod_clique_set(&mut pcs), []);
    }

    #[rstest::rstest]
    #[case(json!(null))]
    #[case(json!({ "spec": { "template": [] } }))]
    #[case(json!({ "spec": { "template": { "cliques": "a", "headlessServiceConfig": {} } } }))]
    #[case(json!({ "spec": { "template": { "podCliqueScalingGroups": [1], "headlessServiceConfig": {} } } }))]
    fn an_unexpected_shape_is_left_to_the_schema(#[case] object: Value) {
        assert_eq!(default_pod_clique_set(&mut object.clone()), []);
    }
}
