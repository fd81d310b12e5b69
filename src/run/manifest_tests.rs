use serde_json::json;

use super::*;

const SET: &str = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w, namespace: team}\n";

fn manifest(documents: &[&str]) -> Result<Manifest, ManifestError> {
    Manifest::read(&[&[SET], documents].concat().join("---\n"))
}

fn message(documents: &[&str]) -> String {
    manifest(documents).unwrap_err().to_string()
}

#[test]
fn companions_are_created_cluster_scoped_ones_first_and_role_bindings_last() {
    let found = manifest(&[
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: reads}\n",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: team}\n",
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\n",
    ])
    .unwrap();
    let titles: Vec<_> = found.companions.iter().map(Companion::title).collect();
    assert_eq!(titles, ["PriorityClass high", "ConfigMap settings", "Secret token", "RoleBinding reads"]);
    assert_eq!(found.cluster_scoped(), ["PriorityClass high (document 5)"]);
    assert!(found.is_exclusive());
}

#[test]
fn the_items_of_a_list_are_documents() {
    let found = manifest(&[
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]\n",
    ]);
    assert!(found.unwrap().has("Secret", "s"));
    let nested = "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, \
                  metadata: {name: s}}]}, {apiVersion: v1, kind: List, items: null}]\n";
    assert!(manifest(&[nested]).unwrap().has("Secret", "s"));
}

/// Metadata of `kubectl get -o yaml`, and further fields.
fn exported(name: &str, more: &str) -> String {
    format!(
        "{{name: {name}, uid: u, resourceVersion: '7', generation: 2, creationTimestamp: '2026-11-01T10:00:00Z', \
         managedFields: [], ownerReferences: [{{apiVersion: v1, kind: Pod, name: o, uid: v}}], \
         deletionTimestamp: '2026-11-01T11:00:00Z', deletionGracePeriodSeconds: 0, {more}}}"
    )
}

#[rstest::rstest]
#[case::secret(
    "Secret",
    "labels: {a: b}, finalizers: [grove.io/podcliqueset.grove.io]",
    "type: Opaque",
    json!({"metadata": {"name": "s", "labels": {"a": "b"}, "finalizers": []}, "type": "Opaque"})
)]
#[case::bound_claim(
    "PersistentVolumeClaim",
    "finalizers: [kubernetes.io/pvc-protection], annotations: {pv.kubernetes.io/bind-completed: 'yes', \
     pv.kubernetes.io/bound-by-controller: 'yes', volume.kubernetes.io/selected-node: n, own: kept}",
    "spec: {storageClassName: fast, volumeName: pvc-1}\nstatus: {phase: Bound}",
    json!({
        "metadata": {"name": "s", "finalizers": [], "annotations": {"own": "kept"}},
        "spec": {"storageClassName": "fast"},
    })
)]
#[case::service(
    "Service",
    "labels: {}",
    "spec: {clusterIP: 10.43.0.9, clusterIPs: [10.43.0.9], ports: [{port: 80}]}\nstatus: {loadBalancer: {}}",
    json!({"metadata": {"name": "s", "labels": {}}, "spec": {"ports": [{"port": 80}]}})
)]
#[case::headless_service(
    "Service",
    "labels: {}",
    "spec: {clusterIP: None}",
    json!({"metadata": {"name": "s", "labels": {}}, "spec": {"clusterIP": "None"}})
)]
fn an_exported_object_can_be_created_again(
    #[case] kind: &str,
    #[case] metadata: &str,
    #[case] fields: &str,
    #[case] expected: Value,
) {
    let (metadata, mut expected) = (exported("s", metadata), expected);
    let found =
        manifest(&[&format!("apiVersion: v1\nkind: {kind}\nmetadata: {metadata}\n{fields}\n")]).unwrap();
    expected["apiVersion"] = "v1".into();
    expected["kind"] = kind.into();
    assert_eq!(found.companions[0].object, expected);
}

#[test]
fn an_exported_pod_clique_set_can_be_created_again() {
    let metadata = exported("w", "annotations: {own: kept}");
    let text = format!(
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {metadata}\nstatus: {{replicas: 1}}\n"
    );
    let found = Manifest::read(&text).unwrap();
    let expected = json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "w", "annotations": {"own": "kept"}},
    });
    assert_eq!(found.sets, [(1, expected)]);
}

#[rstest::rstest]
#[case::unknown_kind(
    "apiVersion: apps/v1\nkind: Deployment\n",
    "document 2: Deployment of apps/v1 is not supported: remove the document; a manifest can have PodCliqueSet, Namespace, ClusterTopologyBinding, ConfigMap"
)]
#[case::unknown_group(
    "apiVersion: example.com/v1\nkind: Queue\n",
    "document 2: Queue of example.com/v1 is not supported"
)]
#[case::autoscaler(
    "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n",
    "autoScalingConfig of a clique, or scaleConfig of a scaling group, creates an autoscaler"
)]
#[case::autoscaler_of_keda(
    "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n",
    "ScaledObject of keda.sh/v1alpha1 is not supported: remove the document; autoScalingConfig of a clique"
)]
#[case::limits(
    "apiVersion: v1\nkind: LimitRange\n",
    "LimitRange of v1 is not supported: remove the document, and write the requests and limits that it adds into"
)]
#[case::quota(
    "apiVersion: v1\nkind: ResourceQuota\n",
    "ResourceQuota of v1 is not supported: remove the document; --nodes limits what the pods can use"
)]
#[case::created_by_grove(
    "apiVersion: scheduler.grove.io/v1alpha1\nkind: PodGang\n",
    "remove the document; Grove creates the object for its PodCliqueSet"
)]
#[case::created_by_another_operator(
    "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n",
    "save the PodCliqueSets that its operator creates with kubectl get podcliquesets -o yaml"
)]
#[case::another_group(
    "apiVersion: v1\nkind: PriorityClass\n",
    "PriorityClass of v1 is not supported: write PriorityClass of scheduling.k8s.io, or remove the document"
)]
#[case::another_case(
    "apiVersion: v1\nkind: Configmap\n",
    "Configmap of v1 is not supported: write ConfigMap of v1, or remove the document"
)]
#[case::set_in_another_case(
    "apiVersion: grove.io/v1alpha1\nkind: podcliqueset\n",
    "podcliqueset of grove.io/v1alpha1 is not supported: write PodCliqueSet of grove.io, or remove"
)]
#[case::node(
    "apiVersion: v1\nkind: Node\n",
    "document 2: Node of v1 is not supported: move the document to a file"
)]
#[case::version(
    "apiVersion: grove.io/v1\nkind: PodCliqueSet\n",
    "document 2: apiVersion is grove.io/v1, expected grove.io/v1alpha1"
)]
#[case::typed_list(
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSetList\nitems: []\n",
    "document 2: PodCliqueSetList of grove.io/v1alpha1 is not supported: save the objects with kubectl get -o yaml"
)]
#[case::no_kind("apiVersion: v1\n", "document 2: kind is missing: add it")]
#[case::no_version("kind: Secret\n", "document 2: apiVersion is missing: add it")]
#[case::scalar("text\n", "document 2: kind is missing: add it")]
#[case::kustomization(
    "resources: [w.yaml]\n",
    "document 2: kind is missing: render the folder with kubectl kustomize"
)]
#[case::kustomization_with_kind(
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    "Kustomization of kustomize.config.k8s.io/v1beta1 is not supported: render the folder with kubectl kustomize"
)]
#[case::chart("apiVersion: v2\nname: c\nversion: 1.0.0\n", "render the chart with helm template, and pass")]
#[case::values(
    "image: {tag: v1}\nresources: {limits: {cpu: 1}}\n",
    "document 2: kind is missing: if the file has Helm values, render the chart with helm template CHART --values FILE"
)]
#[case::template(
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\n",
    "line 8 has {{, so the file may be a template: render it first, for example with helm template"
)]
#[case::tab(
    "apiVersion: v1\nkind: Secret\nmetadata:\n\tname: s\n",
    "line 8 is indented with a tab: use spaces"
)]
#[case::quoted_template(
    "apiVersion: v1\nkind: Secret\nmetadata: {name: '{{ .Release.Name }}'}\n",
    "document 2: metadata.name is \"{{ .Release.Name }}\", so the file may be a template"
)]
#[case::finalizer(
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s, finalizers: [example.com/own]}\n",
    "document 2: metadata.finalizers: no controller of the run removes example.com/own"
)]
#[case::no_name("apiVersion: v1\nkind: Secret\n", "document 2: Secret: metadata.name is missing")]
#[case::generated_name(
    "apiVersion: v1\nkind: Secret\nmetadata: {generateName: s-}\n",
    "Secret: metadata.name is missing: add it, also in place of generateName"
)]
#[case::number(
    "apiVersion: v1\nkind: Secret\nmetadata: {name: 2024}\n",
    "document 2: metadata.name is 2024, expected a string: write it in quotes"
)]
#[case::boolean(
    "apiVersion: v1\nkind: Secret\nmetadata: {name: on}\n",
    "metadata.name is true, expected a string"
)]
#[case::labels(
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: a}\n",
    "document 2: metadata.labels is \"a\", expected a mapping"
)]
#[case::twice(
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w}\n",
    "document 2: PodCliqueSet w is also in document 1: remove one"
)]
#[case::namespace(
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: other}\n",
    "document 2: Secret s has the namespace other, and document 1 has team: use one namespace"
)]
#[case::default_priority(
    "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nglobalDefault: true\n",
    "document 2: globalDefault: PriorityClass high would apply to all pods"
)]
#[case::unknown_volume(
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {volumeName: v}\n",
    "document 2: spec.volumeName: PersistentVolumeClaim c names PersistentVolume v, which is not in the manifest: add it"
)]
fn a_document_that_cannot_be_applied_is_refused(#[case] document: &str, #[case] expected: &str) {
    let message = message(&[document]);
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_manifest_needs_a_pod_clique_set_and_one_scope() {
    for text in ["", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"] {
        let message = Manifest::read(text).unwrap_err().to_string();
        assert!(message.contains("the manifest has no PodCliqueSet: add one"), "{message}");
    }
    let set = |name: &str, scope: &str| {
        format!(
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: {name}, annotations: {{{}: {scope}}}}}\n",
            names::GANG_SCOPE
        )
    };
    let (first, second) = (set("a", "PodGang"), set("b", "PodGroup"));
    assert!(message(&[&first, &second]).contains("gang scopes PodGang and PodGroup"));
    assert_eq!(manifest(&[&first]).unwrap().scope(), Some("PodGang"));
}

#[rstest::rstest]
#[case::headless("{clusterIP: None, ports: [{port: 80}]}", false)]
#[case::port("{ports: [{port: 80, nodePort: 30080}]}", true)]
#[case::address("{clusterIP: 10.0.0.9, ports: [{port: 80}]}", true)]
fn a_service_with_a_fixed_address_or_port_is_exclusive(#[case] spec: &str, #[case] expected: bool) {
    let service = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {spec}\n");
    let found = manifest(&[&service]).unwrap();
    assert_eq!(found.is_exclusive(), expected);
    assert!(found.cluster_scoped().is_empty());
}

#[test]
fn a_queue_needs_its_backend() {
    let queue = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: q}\n";
    let found = manifest(&[queue]).unwrap();
    assert_eq!(found.not_served(Target::KAI), None);
    let message = found.not_served(Target::VOLCANO).unwrap();
    assert!(
        message.starts_with("document 2: Queue q belongs to kai-scheduler, and the run tests volcano"),
        "{message}"
    );
}

#[test]
fn volumes_are_needed_for_claims_of_the_manifest_and_of_pods() {
    assert!(!manifest(&[]).unwrap().needs_volumes());
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n";
    assert!(manifest(&[claim]).unwrap().needs_volumes());
    let of_pods = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: x}\nspec: {template: {cliques: \
                   [{name: a, spec: {podSpec: {volumes: [{name: v, ephemeral: {}}]}}}]}}\n";
    assert!(manifest(&[of_pods]).unwrap().needs_volumes());
}
