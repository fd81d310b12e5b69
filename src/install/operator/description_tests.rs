use std::collections::BTreeSet;
use std::path::Path;

use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;

use super::description::Description;
use super::open;
use super::tests::{SMALL, Silent, described, home};
use crate::controller_spec::ControllerSpec;
use crate::testing::put;

#[test]
fn metric_names_default_to_those_of_the_suite() {
    let metrics = |more: &str| {
        let (_folder, path) = described(more);
        let text = std::fs::read_to_string(&path).unwrap();
        Description::read(&text, &path, None).unwrap().description.metrics
    };
    assert_eq!(metrics(""), None);
    let found = metrics("metrics: {path: /m, names: {gangs: mine}}").unwrap();
    assert_eq!((found.path.as_str(), found.names.gangs.as_str()), ("/m", "mine"));
    assert_eq!(found.names.recycles, "grove_recycles_total");
}

#[tokio::test]
async fn missing_crd_files_and_other_objects_are_errors() {
    let (folder, path) = described("crds: [crds/*.yaml]\n");
    let operator =
        open(&format!("exec:{}", path.display()), None).await.unwrap().build(&Silent).await.unwrap();
    let objects = || operator.objects(&home(folder.path()), &ControllerSpec::default());
    assert!(objects().unwrap_err().to_string().contains("no such file, but `crds` lists it"));
    put(folder.path(), "crds/a.yaml", "kind: Secret\n");
    assert!(objects().unwrap_err().to_string().contains("expected a CRD"));
    put(folder.path(), "crds/a.yaml", "kind: CustomResourceDefinition\n");
    assert_eq!(objects().unwrap().len(), 2);
}

#[rstest::rstest]
#[case::a_misspelt_field("readyness: {}\n", "unknown field `readyness`")]
#[case::a_placeholder("args: ['--port={webhookport}']\n", "args: unknown placeholder {webhookport}")]
#[case::profiles("configuration: {template: {a: 1}, profiles: /a}\n", "the template has no list at /a")]
#[case::a_value_of_the_chart(
    "chart: {folder: c, release: r, deployment: d, lease: l, values: {template: {a: '{webhook-port}'}}}\n",
    "chart.values.template: unknown placeholder {webhook-port}"
)]
#[case::no_variant(
    "variants: [{name: new, when: {exists: [nothing]}}]\n",
    "this release of mine is not supported: no variant in"
)]
#[case::refused("variants: [{name: old, refused: it is too old}]\n", "is not supported: it is too old")]
#[case::no_list("variants: 7\n", "variants: invalid type")]
#[case::checkout("checkout: [go.mod]\n", "is not a checkout of mine: it lacks go.mod")]
#[tokio::test]
async fn an_invalid_description_is_a_usage_error(#[case] more: &str, #[case] message: &str) {
    let (_folder, path) = described(more);
    let error = open(&format!("exec:{}", path.display()), None).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains(message), "{error}");
}

#[rstest::rstest]
#[case("kind: OperatorDescription\n", "apiVersion: expected conformance.grove.io/v1alpha1, found nothing")]
#[case("[1]\n", "expected one YAML document, a mapping")]
#[case(&SMALL.replace("OperatorDescription", "Operator"), r#"kind: expected OperatorDescription, found "Operator""#)]
#[case(&SMALL.replace("default-scheduler", "volcano"), "default-scheduler is missing")]
#[case(&SMALL.replace("{logLine: started}", "{}"), "readiness: expected exactly one of path and logLine")]
#[case(&SMALL.replace("name: mine", "name: My Operator"), "expected lower-case letters")]
#[case(&SMALL.replace("program: ./mine\n", ""), "expected exactly one of build and program")]
fn an_invalid_document_is_an_error(#[case] text: &str, #[case] message: &str) {
    let error = Description::read(text, Path::new("/tmp/op.yaml"), None).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[tokio::test]
async fn a_variant_overrides_the_common_fields() {
    let more = "args: [a]\nenv: {A: '1', B: '2'}\nvariants: [{name: v, with: {args: [b], env: {B: null, C: '3'}}}]\n";
    let (_folder, path) = described(more);
    let operator =
        open(&format!("exec:{}", path.display()), None).await.unwrap().build(&Silent).await.unwrap();
    assert_eq!(operator.description.args, ["b"]);
    let env: Vec<_> = operator.description.env.into_iter().map(|(name, value)| name + &value).collect();
    assert_eq!(env, ["A1", "C3"]);
}

#[tokio::test]
async fn an_operator_without_gang_scopes_has_only_the_first() {
    let scopes = |more: &str| {
        let (folder, path) = described("");
        let backends = SMALL.replace("default-scheduler: {}", &format!("default-scheduler: {{{more}}}"));
        put(folder.path(), "mine.yaml", &backends);
        async move {
            let _folder = folder;
            let opened = open(&format!("exec:{}", path.display()), None).await.unwrap();
            opened.by_scope(vec![Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG, Target::VOLCANO])
        }
    };
    let (supported, others) = (vec![Target::KUBE_POD_GROUP, Target::VOLCANO], vec![Target::KUBE_POD_GANG]);
    assert_eq!(scopes("").await, (supported, others));
    assert_eq!(scopes("gangScopes: [PodGroup, PodGang]").await.0.len(), 3);
    let (supported, others) = scopes("gangScopes: [PodGang]").await;
    assert_eq!(
        (supported, others),
        (vec![Target::KUBE_POD_GANG, Target::VOLCANO], vec![Target::KUBE_POD_GROUP])
    );
    let (folder, path) = described("");
    let misspelt = SMALL.replace("default-scheduler: {}", "default-scheduler: {gangScopes: [PodGong]}");
    put(folder.path(), "mine.yaml", &misspelt);
    let error = open(&format!("exec:{}", path.display()), None).await.unwrap_err().to_string();
    assert!(error.ends_with("backends: default-scheduler: unknown gang scope \"PodGong\""), "{error}");
}

#[tokio::test]
async fn a_declaration_has_features_and_configuration() {
    let (folder, path) = described("declares: declared.yaml\n");
    let declared = |backend: &str| {
        format!(
            "apiVersion: conformance.grove.io/v1alpha1\nkind: ImplementationDeclaration\nimplementation: mine\nreleases:\n\
             - name: new\n  when: {{exists: [nothing]}}\n  backends: {{}}\n- name: old\n  backends:\n    {backend}:\n      \
             features: [AtomicPodGang]\n      configuration: {{gangMode: Strict}}\n      \
             podAdditions: [{{at: 'spec.volumes[cache]', link: 'https://example.com'}}]\n      takesOver: [Service]\n"
        )
    };
    put(folder.path(), "declared.yaml", &declared("default-scheduler"));
    let word = format!("exec:{}", path.display());
    let opened = open(&word, None).await.unwrap();
    let target = opened.declared(Target::KUBE_POD_GANG);
    assert_eq!(target.features(), [Feature::AtomicPodGang, Feature::Kubelet], "the provider adds Kubelet");
    let reason = target.why_not(Feature::SelfHealing);
    assert_eq!(reason, "mine unknown does not declare SelfHealing on default-scheduler");
    assert_eq!(target.declaration().unwrap().configuration["gangMode"], "Strict");
    let additions = &target.declaration().unwrap().pod_additions;
    assert_eq!(additions[0].at, "spec.volumes[cache]");
    assert!(target.takes_over("Service") && !target.takes_over("Secret"));
    let operator = opened.build(&Silent).await.unwrap();
    assert_eq!(operator.declaration.as_ref().map(|found| found.release.as_str()), Some("old"));
    put(folder.path(), "other.yaml", &declared("volcano"));
    let opened = open(&word, Some(&folder.path().join("other.yaml"))).await.unwrap();
    assert!(!opened.has("default-scheduler"));
    put(folder.path(), "other.yaml", &declared("volcano").replace("AtomicPodGang", "AtomicGang"));
    let error = open(&word, Some(&folder.path().join("other.yaml"))).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("unknown variant `AtomicGang`"), "{error}");
    put(folder.path(), "other.yaml", &declared("volcano").replace("[Service]", "[Services]"));
    let error = open(&word, Some(&folder.path().join("other.yaml"))).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("unknown variant `Services`"), "{error}");
    put(
        folder.path(),
        "other.yaml",
        &declared("volcano").replace("implementation: mine", "implementation: its"),
    );
    let error = open(&word, Some(&folder.path().join("other.yaml"))).await.unwrap_err();
    assert!(error.to_string().contains("found its, expected mine"), "{error}");
}

#[rstest::rstest]
#[case("clusterAdmin: true\n", "identity is missing: name the user who has the roles")]
#[case(
    "identity: {user: me}\nclusterAdmin: true\nroles: [{file: r}]\n",
    "roles and clusterAdmin: give only one of them"
)]
#[tokio::test]
async fn contradictory_rights_are_an_error(#[case] more: &str, #[case] message: &str) {
    let (_folder, path) = described(more);
    let error = open(&format!("exec:{}", path.display()), None).await.unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[tokio::test]
async fn an_operator_without_roles_is_a_cluster_admin() {
    let rights = async |more: &str| {
        let (folder, path) = described(more);
        let operator = open(&format!("exec:{}", path.display()), None).await.unwrap();
        let operator = operator.build(&Silent).await.unwrap();
        let spec = ControllerSpec::for_schedulers(&BTreeSet::new());
        let objects = operator.objects(&home(folder.path()), &spec).unwrap();
        let binding = objects.iter().find(|object| object["kind"] == "ClusterRoleBinding");
        (operator.is_cluster_admin(), binding.map(|binding| binding["roleRef"]["name"].clone()))
    };
    assert_eq!(rights("").await, (true, None), "its kubeconfig is that of an administrator");
    let chosen = rights("identity: {user: me}\nclusterAdmin: true\n").await;
    assert_eq!(chosen, (true, Some("cluster-admin".into())));
    assert_eq!(rights("identity: {user: me}\n").await, (false, None));
}
