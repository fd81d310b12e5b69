//! Resolves the references of a PodCliqueSet to other objects of its manifest before the feasibility check,
//! which knows only nodes. References that only a scheduler can evaluate are listed.

use conformance_history::{list, text};
use serde_json::{Value, json};

use crate::feasibility::Knowledge;
use crate::manifest::Manifest;

const PRIORITY: &str = "priorityClassName";

#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) set: Value,
    pub(crate) undecided: Vec<String>,
}

impl Resolved {
    pub(crate) fn of(set: &Value, manifest: &Manifest, knowledge: Knowledge) -> Self {
        let (mut set, mut undecided) = (set.clone(), Vec::new());
        if let Some(template) = set.pointer_mut("/spec/template") {
            remove_priority(template, manifest);
            let cliques = template.get_mut("cliques").and_then(Value::as_array_mut);
            for (index, clique) in cliques.into_iter().flatten().enumerate() {
                let Some(pod) = clique.pointer_mut("/spec/podSpec") else { continue };
                remove_priority(pod, manifest);
                let volumes = pod.get_mut("volumes").and_then(Value::as_array_mut);
                for (number, volume) in volumes.into_iter().flatten().enumerate() {
                    let path = format!("spec.template.cliques[{index}].spec.podSpec.volumes[{number}]");
                    let reason = replace_claim(volume, manifest, knowledge);
                    undecided.extend(reason.map(|reason| format!("{path}: {reason}")));
                }
            }
        }
        Self { set, undecided }
    }
}

fn remove_priority(part: &mut Value, manifest: &Manifest) {
    let class = text(&part[PRIORITY]);
    if !class.is_empty()
        && manifest.has("PriorityClass", class)
        && let Some(fields) = part.as_object_mut()
    {
        fields.remove(PRIORITY);
    }
}

/// Replaces a claim of the manifest by an emptyDir. Returns a reason if only a scheduler can place the pods.
fn replace_claim(volume: &mut Value, manifest: &Manifest, knowledge: Knowledge) -> Option<&'static str> {
    let named = volume["persistentVolumeClaim"]["claimName"].as_str();
    let claim = match named {
        Some(name) => manifest.claim(name)?,
        // A cluster that the run did not create may have no provisioner.
        None if knowledge == Knowledge::OfHarness => return None,
        None => volume.pointer("/ephemeral/volumeClaimTemplate/spec")?,
    };
    let class = text(&claim["storageClassName"]);
    let is_of_one_pod = list(&claim["accessModes"]).iter().any(|mode| mode == "ReadWriteOncePod");
    let reason = if knowledge == Knowledge::OfHarness {
        Some("whether the cluster provisions the claim is unknown")
    } else if manifest.classes_of_volumes().contains(class) {
        Some("the claim uses PersistentVolumes of the manifest")
    } else if is_of_one_pod && named.is_some() {
        Some("only one pod at a time can use a claim with ReadWriteOncePod")
    } else {
        None
    };
    let name = volume["name"].clone();
    *volume = json!({"name": name, "emptyDir": {}});
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM: &str = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: \
                         [ReadWriteMany], resources: {requests: {storage: 1Gi}}}\n";

    fn resolved(pod_spec: &str, companions: &str, knowledge: Knowledge) -> Resolved {
        let manifest = Manifest::read(&format!(
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: w}}\nspec: {{template: {{cliques: \
             [{{name: a, spec: {{podSpec: {{{pod_spec}}}}}}}]}}}}\n{companions}"
        ));
        let manifest = manifest.unwrap();
        Resolved::of(&manifest.sets[0].1, &manifest, knowledge)
    }

    fn pod(resolved: &Resolved) -> &Value {
        &resolved.set["spec"]["template"]["cliques"][0]["spec"]["podSpec"]
    }

    const USES: &str = "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]";

    #[test]
    fn a_claim_of_the_manifest_gets_a_volume() {
        let found = resolved(USES, CLAIM, Knowledge::Complete);
        assert_eq!(pod(&found)["volumes"], json!([{"name": "v", "emptyDir": {}}]));
        assert!(found.undecided.is_empty(), "{:?}", found.undecided);
    }

    #[test]
    fn a_claim_that_is_not_in_the_manifest_stays() {
        let found = resolved(USES, "", Knowledge::Complete);
        assert_eq!(pod(&found)["volumes"][0]["persistentVolumeClaim"]["claimName"], "data");
    }

    #[rstest::rstest]
    #[case::one_pod(USES, &CLAIM.replace("ReadWriteMany", "ReadWriteOncePod"), Knowledge::Complete, "ReadWriteOncePod")]
    #[case::own_volumes(
        USES,
        &format!("{CLAIM}---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: p}}\nspec: {{}}\n"),
        Knowledge::Complete,
        "PersistentVolumes of the manifest"
    )]
    #[case::another_cluster(USES, CLAIM, Knowledge::OfHarness, "whether the cluster provisions")]
    fn a_claim_can_restrict_its_nodes(
        #[case] pod_spec: &str,
        #[case] companions: &str,
        #[case] knowledge: Knowledge,
        #[case] reason: &str,
    ) {
        let found = resolved(pod_spec, companions, knowledge);
        assert!(found.undecided[0].starts_with("spec.template.cliques[0].spec.podSpec.volumes[0]: "));
        assert!(found.undecided[0].contains(reason), "{:?}", found.undecided);
    }

    #[test]
    fn a_claim_for_each_pod_gets_a_volume_where_the_run_provisions() {
        let volume = "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOncePod]}}}}]";
        let found = resolved(volume, "", Knowledge::Complete);
        assert_eq!(pod(&found)["volumes"][0]["emptyDir"], json!({}));
        assert!(found.undecided.is_empty(), "{:?}", found.undecided);
        let found = resolved(volume, "", Knowledge::OfHarness);
        assert!(pod(&found)["volumes"][0]["ephemeral"].is_object());
    }

    #[test]
    fn only_priority_classes_of_the_manifest_are_removed() {
        let class =
            "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n";
        let found = resolved("priorityClassName: high", class, Knowledge::Complete);
        assert!(pod(&found)[PRIORITY].is_null());
        let found = resolved("priorityClassName: higher", class, Knowledge::Complete);
        assert_eq!(pod(&found)[PRIORITY], "higher");
    }
}
