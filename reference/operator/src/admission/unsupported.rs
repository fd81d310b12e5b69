//! Refuses features of upstream's API that this controller does not implement.

use std::collections::BTreeMap;

use grove_api::PodCliqueSet;
use grove_api::names::{ANNOTATION_AUTO_MNNVL, ANNOTATION_MNNVL_GROUP};

use super::findings::invalid;
use crate::backend::FieldError;

pub(super) fn check(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let mut errors = Vec::new();
    let mut check = |annotations: &BTreeMap<String, String>, path: String| {
        let group = annotations.get_key_value(ANNOTATION_MNNVL_GROUP).filter(|(_, group)| *group != "none");
        let auto = annotations.get_key_value(ANNOTATION_AUTO_MNNVL).filter(|(_, auto)| *auto == "enabled");
        for (key, value) in group.into_iter().chain(auto) {
            let message = format!("MNNVL is not supported yet, remove the {key} annotation");
            errors.push(invalid(format!("{path}[{key}]"), value.as_str(), &message));
        }
    };
    if let Some(annotations) = &pcs.metadata.annotations {
        check(annotations, "metadata.annotations".into());
    }
    for (index, clique) in template.cliques.iter().enumerate() {
        check(&clique.annotations, format!("spec.template.cliques[{index}].annotations"));
    }
    for (index, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        check(&group.annotations, format!("spec.template.podCliqueScalingGroups[{index}].annotations"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{lines, pcs};

    const CLIQUE: &str = "/spec/template/cliques/0";
    const GROUP: &str = "/spec/template/podCliqueScalingGroups/0";

    #[rstest::rstest]
    #[case("/metadata/annotations/grove.io~1mnnvl-group", json!("train"))]
    #[case("/metadata/annotations/grove.io~1auto-mnnvl", json!("enabled"))]
    #[case(&format!("{CLIQUE}/annotations/grove.io~1mnnvl-group"), json!("train"))]
    #[case(&format!("{GROUP}/annotations/grove.io~1mnnvl-group"), json!("train"))]
    fn an_unsupported_feature_is_refused(#[case] pointer: &str, #[case] value: Value) {
        let errors = check(&pcs(&[(pointer, value)]));
        assert_eq!(errors.len(), 1, "{}", lines(&errors));
        assert!(errors[0].message.contains("not supported yet"), "{}", errors[0]);
    }

    #[rstest::rstest]
    #[case("/spec/template/cliqueStartupType", json!("CliqueStartupTypeInOrder"))]
    #[case(&format!("{CLIQUE}/spec/startsAfter"), json!(["b"]))]
    #[case("/spec/template/resourceSharing", json!([{ "name": "claim", "scope": "AllReplicas" }]))]
    #[case("/metadata/annotations/grove.io~1mnnvl-group", json!("none"))]
    #[case("/metadata/annotations/grove.io~1auto-mnnvl", json!("disabled"))]
    #[case("/spec/template/priorityClassName", json!("high"))]
    #[case("/spec/updateStrategy", json!({ "type": "OnDelete" }))]
    #[case("/spec/template/headlessServiceConfig", json!({ "publishNotReadyAddresses": false }))]
    fn a_disabled_feature_is_admitted(#[case] pointer: &str, #[case] value: Value) {
        assert_eq!(check(&pcs(&[(pointer, value)])), []);
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let errors = check(&pcs(&[
            (&format!("{CLIQUE}/annotations/grove.io~1mnnvl-group"), json!("train")),
            ("/metadata/annotations/grove.io~1auto-mnnvl", json!("enabled")),
        ]));
        insta::assert_snapshot!(lines(&errors), @r#"
        metadata.annotations[grove.io/auto-mnnvl]: Invalid value: "enabled": MNNVL is not supported yet, remove the grove.io/auto-mnnvl annotation
        spec.template.cliques[0].annotations[grove.io/mnnvl-group]: Invalid value: "train": MNNVL is not supported yet, remove the grove.io/mnnvl-group annotation
        "#);
    }
}
