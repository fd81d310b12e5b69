use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation,
};
use kube::CustomResourceExt;
use kube::core::Rule;
use kube::core::object::{HasSpec, HasStatus};
use schemars::JsonSchema;

use super::pod_clique_set::creation_rules;
use super::schema::structural;
use super::{ClusterTopologyBinding, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};

pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        crd::<PodCliqueSet>(
            "A set of PodGangs and the cliques of pods that make them up.",
            &creation_rules(),
        ),
        crd::<PodClique>("Pods that share one spec.", &[]),
        crd::<PodCliqueScalingGroup>("Cliques of one PodCliqueSet replica that scale together.", &[]),
        crd::<ClusterTopologyBinding>("A hierarchy of topology domains and its name in each scheduler.", &[]),
        crd::<PodGang>("Pods to be scheduled together.", &[]),
    ]
}

fn crd<K>(description: &str, rules: &[Rule]) -> CustomResourceDefinition
where
    K: CustomResourceExt + HasSpec + HasStatus,
    K::Spec: JsonSchema,
    K::Status: JsonSchema,
{
    let mut crd = K::crd();
    let schema = match structural::<K>(description, rules) {
        Ok(schema) => schema,
        // The types are known at compile time, and a test builds the schemas of all of them.
        Err(error) => unreachable!("the schema of {} is malformed: {error}", K::crd_name()),
    };
    for version in &mut crd.spec.versions {
        version.schema = Some(CustomResourceValidation { open_api_v3_schema: Some(schema.clone()) });
    }
    crd
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Fields with Kubernetes types. The digest contains only the number of their properties.
    const FOREIGN: [&str; 3] = ["podSpec", "metrics", "templateSpec"];

    fn schema(crd: &CustomResourceDefinition) -> Value {
        let schema = crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
        serde_json::to_value(schema).unwrap()
    }

    fn walk(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
        visit(path, schema);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            walk(&format!("{path}.{name}"), property, visit);
        }
        if let Some(items) = schema.get("items") {
            walk(&format!("{path}[]"), items, visit);
        }
        if let Some(values) = schema.get("additionalProperties") {
            walk(&format!("{path}{{}}"), values, visit);
        }
    }

    fn digest(crd: &CustomResourceDefinition) -> String {
        let mut lines = vec![];
        let mut foreign = std::collections::BTreeMap::<String, usize>::new();
        walk("", &schema(crd), &mut |path, schema| {
            let inside =
                FOREIGN.iter().find_map(|name| path.find(&format!(".{name}")).map(|at| at + 1 + name.len()));
            match inside {
                Some(end) if path.len() > end => *foreign.entry(path[..end].to_owned()).or_default() += 1,
                _ => {
                    let type_ = schema["type"].as_str().unwrap_or("int or string");
                    let default =
                        schema.get("default").map(|value| format!(" = {value}")).unwrap_or_default();
                    lines.push(format!("{path}: {type_}{default}"));
                }
            }
        });
        lines.extend(foreign.into_iter().map(|(path, count)| format!("{path}: {count} paths within")));
        lines.join("\n")
    }

    #[test]
    fn property_paths() {
        for crd in crds() {
            insta::assert_snapshot!(crd.spec.names.kind.clone(), digest(&crd));
        }
    }

    #[test]
    fn columns_and_subresources() {
        let text: Vec<String> = crds()
            .iter()
            .map(|crd| {
                let version = &crd.spec.versions[0];
                let columns: Vec<String> = version
                    .additional_printer_columns
                    .iter()
                    .flatten()
                    .map(|column| {
                        let wide = column.priority.map(|_| " (wide)").unwrap_or_default();
                        format!("{}{wide}", column.name)
                    })
                    .collect();
                let scale = version.subresources.as_ref().unwrap().scale.as_ref();
                let selector = scale.map(|scale| scale.label_selector_path.clone().unwrap_or_default());
                format!(
                    "{} {} {:?}: {} | scale by {}",
                    crd.metadata.name.as_deref().unwrap(),
                    crd.spec.scope,
                    crd.spec.names.short_names.as_deref().unwrap(),
                    columns.join(", "),
                    selector.as_deref().unwrap_or("-"),
                )
            })
            .collect();
        insta::assert_snapshot!(text.join("\n"));
    }

    /// The API server's rules for a structural schema, and `kubectl apply`'s limit on its size.
    #[test]
    fn schemas_are_structural() {
        for crd in crds() {
            let kind = &crd.spec.names.kind;
            walk("", &schema(&crd), &mut |path, schema| {
                for keyword in ["$ref", "oneOf", "allOf", "nullable", "title", "definitions"] {
                    assert!(schema.get(keyword).is_none(), "{kind}{path} has {keyword}");
                }
                let flexible = schema["x-kubernetes-int-or-string"] == true;
                assert!(
                    schema["type"].is_string() != flexible,
                    "{kind}{path} has no type, or a type too many"
                );
                for key in schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten() {
                    let item = &schema["items"];
                    let key = key.as_str().unwrap();
                    let required =
                        item["required"].as_array().is_some_and(|names| names.contains(&json!(key)));
                    let default = item["properties"][key].get("default").is_some();
                    assert!(required || default, "{kind}{path}: key {key} may be absent");
                }
            });
            let bytes = serde_json::to_vec(&crd).unwrap().len();
            assert!(bytes < 128 * 1024, "{kind}: {bytes} bytes; an annotation holds 256 KiB");
        }
    }

    #[test]
    fn rules_and_their_messages() {
        let mut rules = vec![];
        for crd in crds() {
            walk("", &schema(&crd), &mut |path, schema| {
                for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
                    let at = rule["fieldPath"].as_str().unwrap_or("");
                    rules.push(format!(
                        "{}{path} {at}: {}",
                        crd.spec.names.kind,
                        rule["message"].as_str().unwrap()
                    ));
                }
            });
        }
        insta::assert_snapshot!(rules.join("\n"));
    }
}
