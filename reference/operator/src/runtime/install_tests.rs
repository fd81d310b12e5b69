use super::*;
use crate::admission::{
    DEFAULT_POD_CLIQUE_SET_PATH, VALIDATE_CLUSTER_TOPOLOGY_PATH, VALIDATE_POD_CLIQUE_SET_PATH,
    VALIDATE_SCALE_PATH,
};
use crate::runtime::Configuration;

fn options() -> InstallOptions {
    InstallOptions {
        webhooks: WebhookTarget::Url("https://127.0.0.1:9443/".into()),
        ca_bundle: b"PEM".to_vec(),
    }
}

fn manifest(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../manifests/controller");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

#[test]
fn objects_are_installed_in_this_order() {
    let objects = objects(&options()).unwrap();
    let lines = objects
        .iter()
        .map(|object| format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"])));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    Namespace grove-system
    ServiceAccount grove-backend-controller
    ClusterRole grove-backend-controller
    ClusterRoleBinding grove-backend-controller
    Role grove-backend-controller
    RoleBinding grove-backend-controller
    CustomResourceDefinition podcliquesets.grove.io
    CustomResourceDefinition podcliques.grove.io
    CustomResourceDefinition podcliquescalinggroups.grove.io
    CustomResourceDefinition clustertopologybindings.grove.io
    CustomResourceDefinition podgangs.scheduler.grove.io
    MutatingWebhookConfiguration podcliqueset-defaulting-webhook
    ValidatingWebhookConfiguration podcliqueset-validating-webhook
    ValidatingWebhookConfiguration clustertopology-validating-webhook
    ValidatingWebhookConfiguration scale-validating-webhook
    ");
}

fn configurations(options: &InstallOptions) -> Vec<Value> {
    let objects = objects(options).unwrap();
    objects.into_iter().filter(|object| object["webhooks"].is_array()).collect()
}

#[test]
fn webhooks_fail_closed() {
    let configurations = configurations(&options());
    let paths = [
        DEFAULT_POD_CLIQUE_SET_PATH,
        VALIDATE_POD_CLIQUE_SET_PATH,
        VALIDATE_CLUSTER_TOPOLOGY_PATH,
        VALIDATE_SCALE_PATH,
    ];
    assert_eq!(configurations.len(), paths.len());
    for (configuration, path) in configurations.iter().zip(paths) {
        assert_eq!(configuration["webhooks"].as_array().unwrap().len(), 1);
        let webhook = &configuration["webhooks"][0];
        assert_eq!(webhook["failurePolicy"], "Fail");
        let client = json!({"url": format!("https://127.0.0.1:9443{path}"), "caBundle": "UEVN"});
        assert_eq!(webhook["clientConfig"], client);
    }
}

#[test]
fn the_webhooks_file_targets_the_service_of_the_deployment() {
    let webhooks = WebhookTarget::Service { name: "grove-backend-controller".into(), port: 443 };
    let mut configurations = configurations(&InstallOptions { webhooks, ..options() });
    for configuration in &mut configurations {
        let client = configuration["webhooks"][0]["clientConfig"].as_object_mut().unwrap();
        assert_eq!(client.remove("caBundle"), Some(json!("UEVN")));
    }
    assert_eq!(yaml::documents(WEBHOOKS).unwrap(), configurations);
}

#[test]
fn the_constants_name_every_webhook_configuration() {
    let configurations = configurations(&options());
    let of_kind = |kind: &str| -> Vec<String> {
        let found = configurations.iter().filter(|configuration| configuration["kind"] == kind);
        found.map(|configuration| text(&configuration["metadata"]["name"]).to_owned()).collect()
    };
    assert_eq!(of_kind("MutatingWebhookConfiguration"), MUTATING_CONFIGURATIONS);
    assert_eq!(of_kind("ValidatingWebhookConfiguration"), VALIDATING_CONFIGURATIONS);
}

/// kube-scheduler's gang resources are never changed (KUBE-04); PodGroups of an earlier generation are
/// deleted. The only readable Secret and the only writable webhook configurations are the controller's own.
#[test]
fn permissions_are_minimal() {
    for object in objects(&options()).unwrap() {
        for rule in object["rules"].as_array().into_iter().flatten() {
            let list = |field: &str| -> Vec<String> {
                serde_json::from_value(rule[field].clone()).unwrap_or_default()
            };
            let (resources, verbs, names) = (list("resources"), list("verbs"), list("resourceNames"));
            for field in ["apiGroups", "resources", "verbs"] {
                assert!(!list(field).contains(&"*".to_owned()), "wildcard in {rule}");
            }
            if list("apiGroups").contains(&"scheduling.k8s.io".to_owned()) {
                let allowed: &[&str] = match resources.iter().any(|resource| resource == "workloads") {
                    true => &["get", "list", "watch", "create"],
                    false => &["get", "list", "watch", "create", "delete"],
                };
                assert_eq!(verbs, allowed, "{rule}");
            }
            if resources.contains(&"secrets".to_owned()) {
                // Tokens of init containers are created in users' namespaces and never read.
                if object["kind"] == "ClusterRole" {
                    assert_eq!((verbs, names), (vec!["create".to_owned()], Vec::new()), "{rule}");
                    continue;
                }
                assert_eq!(object["metadata"]["namespace"], NAMESPACE);
                match names.is_empty() {
                    true => assert_eq!(verbs, ["create"], "{rule}"),
                    false => {
                        assert_eq!(names, [SECRET], "{rule}");
                        assert_eq!(verbs, ["get", "list", "watch", "update"], "{rule}");
                    }
                }
            }
            if list("apiGroups").contains(&"admissionregistration.k8s.io".to_owned()) {
                let own: &[&str] = match resources.first().map(String::as_str) {
                    Some("mutatingwebhookconfigurations") => &MUTATING_CONFIGURATIONS,
                    Some("validatingwebhookconfigurations") => &VALIDATING_CONFIGURATIONS,
                    other => panic!("{other:?} in {rule}"),
                };
                assert_eq!(resources.len(), 1, "{rule}");
                assert_eq!(names, own, "{rule}");
                assert_eq!(verbs, ["get", "patch"], "{rule}");
            }
        }
    }
}

#[test]
fn the_deployment_equals_its_file_except_for_the_image() {
    let objects = in_cluster("image:tag", &json!({})).unwrap();
    let deployment = objects.into_iter().find(|object| object["kind"] == "Deployment").unwrap();
    let mut wanted = yaml::documents(DEPLOYMENT).unwrap().remove(0);
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = json!("image:tag");
    assert_eq!(deployment, wanted);
}

#[test]
fn the_manifests_are_consistent() {
    let one = |name: &str| yaml::documents(&manifest(name)).unwrap().remove(0);
    let kustomization = one("kustomization.yaml");
    let files: Vec<_> = kustomization["resources"].as_array().unwrap().iter().map(text).collect();
    for file in &files {
        assert!(!yaml::documents(&manifest(file)).unwrap().is_empty(), "{file} has nothing in it");
    }
    assert_eq!(
        files,
        ["rbac.yaml", "crds.yaml", "service.yaml", "deployment.yaml", "pdb.yaml", "webhooks.yaml"]
    );

    let (deployment, service) = (one("deployment.yaml"), one("service.yaml"));
    let (pod, labels) =
        (&deployment["spec"]["template"]["spec"], &deployment["spec"]["template"]["metadata"]["labels"]);
    assert_eq!(*labels, deployment["spec"]["selector"]["matchLabels"]);
    assert_eq!(*labels, service["spec"]["selector"]);
    assert_eq!(*labels, one("pdb.yaml")["spec"]["selector"]["matchLabels"]);
    assert_eq!(pod["serviceAccountName"], SERVICE_ACCOUNT);

    let args: Vec<_> = pod["containers"][0]["args"].as_array().unwrap().iter().map(text).collect();
    let name = text(&service["metadata"]["name"]);
    assert!(args.contains(&format!("--managed-certificates={name}").as_str()), "{args:?}");
    for configuration in yaml::documents(WEBHOOKS).unwrap() {
        let called = &configuration["webhooks"][0]["clientConfig"]["service"];
        assert_eq!((text(&called["name"]), &called["namespace"]), (name, &json!(NAMESPACE)));
        assert_eq!(called["port"], service["spec"]["ports"][0]["port"]);
    }

    let generator = &kustomization["configMapGenerator"][0];
    let file = text(&generator["files"][0]);
    let folder = text(&pod["containers"][0]["volumeMounts"][0]["mountPath"]);
    assert!(args.contains(&format!("--config={folder}/{file}").as_str()), "{args:?}");
    assert_eq!(pod["volumes"][0]["configMap"]["name"], generator["name"]);
    assert_eq!(generator["namespace"], deployment["metadata"]["namespace"]);
    assert!(Configuration::parse(&manifest(file)).is_ok());
}
