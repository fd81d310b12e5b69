//! A pod for each clique of a user's workload, for a dry run: no schema finds a mount without its volume.

use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_history::{list, text};
use serde_json::{Value, json};

const PRIORITY: &str = "priorityClassName";

/// Each clique's name and pod. With `inherits_priority`, a pod without a class has that of the PodCliqueSet.
pub(crate) fn of(set: &Value, namespace: &str, inherits_priority: bool) -> Vec<(String, Value)> {
    let name = text(&set["metadata"]["name"]);
    let class = text(&set["spec"]["template"][PRIORITY]);
    let pod = |clique: &Value| {
        let clique_name = text(&clique["name"]);
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": format!("{name}-0-{clique_name}"),
                "namespace": namespace,
                "labels": clique["labels"],
                "annotations": clique["annotations"],
            },
            "spec": clique["spec"]["podSpec"],
        });
        if let Some(spec) = pod["spec"].as_object_mut() {
            names::POD_FIELDS_OF_GROVE.iter().for_each(|field| drop(spec.remove(*field)));
            let has_none = spec.get(PRIORITY).is_none_or(|own| text(own).is_empty());
            if inherits_priority && has_none && !class.is_empty() {
                spec.insert(PRIORITY.to_owned(), class.into());
            }
        }
        add_shared_claims(&mut pod["spec"]);
        (clique_name.to_owned(), pod)
    };
    list(&set["spec"]["template"]["cliques"]).iter().map(pod).collect()
}

/// Grove adds the claims of `resourceSharing` to the pods. Their containers may refer to them by name.
fn add_shared_claims(spec: &mut Value) {
    let names = |entries: &Value| list(entries).iter().map(|entry| text(&entry["name"]).to_owned()).collect();
    let known: BTreeSet<String> = names(&spec["resourceClaims"]);
    let containers = ["containers", "initContainers"].into_iter().flat_map(|key| list(&spec[key]));
    let used: BTreeSet<String> =
        containers.flat_map(|container| names(&container["resources"]["claims"]) as BTreeSet<_>).collect();
    let mut claims = list(&spec["resourceClaims"]).to_vec();
    let missing = used.difference(&known);
    claims.extend(missing.map(|name| json!({"name": name, "resourceClaimName": name})));
    if !claims.is_empty() {
        spec["resourceClaims"] = claims.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_what_the_template_has_except_for_the_fields_of_grove() {
        let claims = json!([{"name": "shared"}, {"name": "own"}]);
        let container = json!({"name": "main", "image": "i", "resources": {"claims": claims}});
        let spec = json!({
            "containers": [container],
            "resourceClaims": [{"name": "own", "resourceClaimName": "mine"}],
            "schedulingGates": [{"name": "example.com/gate"}],
            "schedulerName": "volcano",
        });
        let clique = json!({"name": "w", "labels": {"app": "a"}, "spec": {"podSpec": spec}});
        let set = json!({"metadata": {"name": "s"}, "spec": {"template": {"cliques": [clique]}}});
        let found = of(&set, "default", true);
        let wanted = json!({
            "containers": [container],
            "resourceClaims": [
                {"name": "own", "resourceClaimName": "mine"},
                {"name": "shared", "resourceClaimName": "shared"},
            ],
        });
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0.as_str(), &found[0].1["spec"]), ("w", &wanted));
        assert_eq!(found[0].1["metadata"]["name"], "s-0-w");
        assert_eq!(found[0].1["metadata"]["labels"], json!({"app": "a"}));
    }

    #[rstest::rstest]
    #[case::inherited("high", "", true, "high")]
    #[case::own("high", "low", true, "low")]
    #[case::not_inherited("high", "", false, "")]
    #[case::none("", "", true, "")]
    fn a_pod_has_the_priority_class_that_the_operator_gives_it(
        #[case] of_set: &str,
        #[case] of_clique: &str,
        #[case] inherits: bool,
        #[case] expected: &str,
    ) {
        let clique = json!({"name": "w", "spec": {"podSpec": {(PRIORITY): of_clique}}});
        let template = json!({(PRIORITY): of_set, "cliques": [clique]});
        let set = json!({"metadata": {"name": "s"}, "spec": {"template": template}});
        assert_eq!(of(&set, "default", inherits)[0].1["spec"][PRIORITY], expected);
    }
}
