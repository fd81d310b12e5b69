//! Descriptions, releases, and operators in a cluster, in temporary folders.

use std::collections::BTreeSet;
use std::path::Path;

use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
use conformance_programs::ProgramError;
use conformance_programs::components::Progress;
use conformance_programs::images::Image;
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::description::Description;
use super::word::UPSTREAM;
use super::*;
use crate::cluster_spec::ControllerSpec;
use crate::testing::{folder, put};
use crate::{InstallError, schedulers};

const CRDS: &str = "operator/api/core/v1alpha1/crds";
const BINDINGS: &str = "operator/api/core/v1alpha1/crds/grove.io_clustertopologybindings.yaml";
const GANG_MAPS: &str = "operator/api/core/v1alpha1/crds/grove.io_podgangmaps.yaml";
const VOLCANO: &str = "operator/internal/scheduler/volcano/backend.go";

/// A folder that looks like an upstream checkout, with additional files.
fn upstream(files: &[&str]) -> TempDir {
    let marks = [
        "operator/go.mod",
        "operator/cmd/main.go",
        "scheduler/api/core/v1alpha1/crds/scheduler.grove.io_podgangs.yaml",
    ];
    let folder = folder(&[&marks[..], files].concat());
    std::fs::create_dir_all(folder.path().join(CRDS)).unwrap();
    put(folder.path(), "operator/VERSION", "v0.1.0-dev\n");
    put(folder.path(), ROLE, ROLE_TEMPLATE);
    folder
}

const ROLE: &str = "operator/charts/templates/clusterrole.yaml";
/// Like upstream's role, with fewer rules.
const ROLE_TEMPLATE: &str = r#"metadata: {name: {{ .Values.clusterRole.name }}}
rules:
- {apiGroups: [grove.io], resources: [podcliquesets], verbs: [get]}
{{- if include "grove.scheduler.hasProfile" (list . "volcano") }}
- {apiGroups: [scheduling.volcano.sh], resources: [podgroups], verbs: [create]}
{{- end }}
{{- if .Values.config.network.autoMNNVLEnabled }}
- {apiGroups: [resource.nvidia.com], resources: [computedomains], verbs: [create]}
{{- end }}
"#;

async fn opened(folder: &TempDir) -> Result<Opened, OperatorError> {
    open(&format!("upstream={}", folder.path().display()), None).await
}

const SMALL: &str = "
apiVersion: conformance.grove.io/v1alpha1
kind: OperatorDescription
name: mine
program: ./mine
backends: {default-scheduler: {}}
readiness: {logLine: started}
";

/// A description with this text appended.
fn described(more: &str) -> (TempDir, std::path::PathBuf) {
    let folder = folder(&["mine"]);
    put(folder.path(), "mine.yaml", &format!("{SMALL}{more}"));
    let path = folder.path().join("mine.yaml");
    (folder, path)
}

fn place(folder: &Path) -> OperatorHome {
    OperatorHome {
        folder: folder.join("mine"),
        kubeconfig: "DIR/mine.kubeconfig".into(),
        certificates: ["a", "b", "c"].map(|name| folder.join(name)),
        ca_bundle: "PEM".into(),
        webhook: 1005,
        health: 1006,
        metrics: 1007,
    }
}

struct Silent;

impl Progress for Silent {
    fn building(&self, _: &str, _: &str) {}
    fn compiled(&self, _: &str, _: &str, _: usize) {}
    fn built(&self, _: &str, _: &str, _: f64) {}
    fn waiting(&self, _: &str) {}
}

/// Upstream's operator as if it had been built.
async fn operator(folder: &TempDir) -> Operator {
    let text = UPSTREAM
        .description
        .replace("build:\n  module: operator", "program: operator/go.mod\nnothing:\n  module: operator");
    // The same description with a program instead of a build, because a unit test compiles nothing.
    let mut document = grove_yaml::documents(&text).unwrap().remove(0);
    document.as_object_mut().unwrap().remove("nothing");
    document["source"] = json!(folder.path());
    document["declares"] = json!("declared.yaml");
    put(folder.path(), "declared.yaml", UPSTREAM.declaration.1);
    put(folder.path(), "d.yaml", &document.to_string());
    let opened = open(&format!("exec:{}", folder.path().join("d.yaml").display()), None).await.unwrap();
    opened.build(&Silent).await.unwrap()
}

#[rstest]
#[case::before_volcano(&[BINDINGS], "with ClusterTopologyBinding (from v0.1.0-alpha.9)", false)]
#[case::volcano(&[BINDINGS, VOLCANO], "with a Volcano backend", true)]
#[case::epochs(&[BINDINGS, VOLCANO, GANG_MAPS], "PodGang names by epoch (PodGangMap)", true)]
#[tokio::test]
async fn releases_of_upstream(#[case] files: &[&str], #[case] variant: &str, #[case] volcano: bool) {
    let folder = upstream(files);
    let opened = opened(&folder).await.unwrap();
    assert!(opened.has("default-scheduler") && opened.has("kai-scheduler") && !opened.has("koord-scheduler"));
    assert_eq!(opened.has("volcano"), volcano);
    assert_eq!(operator(&folder).await.variant.as_deref(), Some(variant));
}

#[test]
fn metrics_have_names_of_their_own_or_those_of_the_suite() {
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
async fn a_release_without_topology_bindings_is_refused() {
    let error = opened(&upstream(&[])).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("v0.1.0-alpha.9 is the first"), "{error}");
}

#[tokio::test]
async fn a_folder_that_is_no_checkout_says_what_it_lacks() {
    let error = opened(&folder(&["operator/go.mod"])).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("it lacks operator/cmd/main.go"), "{error}");
    let error = open("upstream=/no/such/folder", None).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("no such folder"), "{error}");
}

#[tokio::test]
async fn an_undeclared_backend_is_named_with_those_there_are() {
    let folder = upstream(&[BINDINGS]);
    let opened = opened(&folder).await.unwrap();
    let error = opened.must_have("koord-scheduler").unwrap_err();
    assert!(error.is_usage());
    let expected =
        "grove-operator declares no backend koord-scheduler: it declares default-scheduler, kai-scheduler;";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert!(opened.must_have("default-scheduler").is_ok());
}

#[tokio::test]
async fn upstream_is_started_like_this() {
    let folder = upstream(&[BINDINGS, VOLCANO]);
    for name in ["a", "b", "c"] {
        put(folder.path(), name, name);
    }
    let operator = operator(&folder).await;
    let spec = ControllerSpec::for_schedulers(&schedulers::all().collect::<BTreeSet<_>>());
    let place = place(folder.path());
    let process = operator.process(&place, &spec).unwrap();
    let text = |path: &Path| path.display().to_string().replace(&folder.path().display().to_string(), "DIR");
    let args: Vec<_> = process.args.iter().map(|arg| text(Path::new(arg))).collect();
    let config = std::fs::read_to_string(folder.path().join("mine/config.yaml")).unwrap();
    let config: Value =
        serde_json::from_str(&config.replace(&folder.path().display().to_string(), "DIR")).unwrap();
    insta::assert_yaml_snapshot!((args, process.env, config));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("mine/certs").join(name)).unwrap();
    assert_eq!(["tls.crt", "tls.key", "ca.crt"].map(read), ["a", "b", "c"]);
}

#[tokio::test]
async fn upstreams_chart_has_these_values() {
    let folder = upstream(&[BINDINGS, VOLCANO]);
    let operator = operator(&folder).await;
    let chart = operator.chart().expect("upstream's description has a chart");
    assert_eq!(operator.chart_folder(chart), folder.path().canonicalize().unwrap().join("operator/charts"));
    let init = chart.init.as_ref().expect("and an init program");
    let image = |program: &str, tag: &str| Image {
        program: program.into(),
        reference: format!("grove-conformance/{program}:{tag}"),
        bytes: 1,
    };
    let images = OperatorImages {
        operator: image("grove-operator", "0a1b"),
        init: Some(image(&init.name, &operator.init_tag(init).unwrap())),
    };
    let spec = ControllerSpec::for_schedulers(&schedulers::all().collect::<BTreeSet<_>>());
    insta::assert_yaml_snapshot!(operator.chart_values(chart, &images, &spec).unwrap());
}

#[tokio::test]
async fn what_upstream_needs_of_the_api() {
    let folder = upstream(&[VOLCANO]);
    let crd =
        |name: &str| format!("apiVersion: v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\n");
    put(folder.path(), BINDINGS, &crd("bindings"));
    put(folder.path(), "scheduler/api/core/v1alpha1/crds/scheduler.grove.io_podgangs.yaml", &crd("podgangs"));
    let operator = operator(&folder).await;
    let objects = operator.objects(&place(folder.path()), &ControllerSpec::default()).unwrap();
    insta::assert_yaml_snapshot!(objects);
}

#[tokio::test]
async fn crds_that_are_not_there_and_files_that_are_none() {
    let (folder, path) = described("crds: [crds/*.yaml]\n");
    let operator =
        open(&format!("exec:{}", path.display()), None).await.unwrap().build(&Silent).await.unwrap();
    let objects = || operator.objects(&place(folder.path()), &ControllerSpec::default());
    assert!(objects().unwrap_err().to_string().contains("no such file, but `crds` lists it"));
    put(folder.path(), "crds/a.yaml", "kind: Secret\n");
    assert!(objects().unwrap_err().to_string().contains("expected a CRD"));
    put(folder.path(), "crds/a.yaml", "kind: CustomResourceDefinition\n");
    assert_eq!(objects().unwrap().len(), 2);
}

#[rstest]
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
async fn descriptions_that_do_not_serve(#[case] more: &str, #[case] says: &str) {
    let (_folder, path) = described(more);
    let error = open(&format!("exec:{}", path.display()), None).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains(says), "{error}");
}

#[rstest]
#[case("kind: OperatorDescription\n", "apiVersion: expected conformance.grove.io/v1alpha1, found nothing")]
#[case("[1]\n", "expected one YAML document, a mapping")]
#[case(&SMALL.replace("OperatorDescription", "Operator"), r#"kind: expected OperatorDescription, found "Operator""#)]
#[case(&SMALL.replace("default-scheduler", "volcano"), "default-scheduler is missing")]
#[case(&SMALL.replace("{logLine: started}", "{}"), "readiness: give either path or logLine")]
#[case(&SMALL.replace("name: mine", "name: My Operator"), "expected lower-case letters")]
#[case(&SMALL.replace("program: ./mine\n", ""), "give either build or program")]
fn documents_that_are_none(#[case] text: &str, #[case] says: &str) {
    let error = Description::read(text, Path::new("/tmp/op.yaml"), None).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[tokio::test]
async fn a_variant_is_merged_over_the_rest() {
    let more = "args: [a]\nenv: {A: '1', B: '2'}\nvariants: [{name: v, with: {args: [b], env: {B: null, C: '3'}}}]\n";
    let (_folder, path) = described(more);
    let operator =
        open(&format!("exec:{}", path.display()), None).await.unwrap().build(&Silent).await.unwrap();
    assert_eq!(operator.description.args, ["b"]);
    let env: Vec<_> = operator.description.env.into_iter().map(|(name, value)| name + &value).collect();
    assert_eq!(env, ["A1", "C3"]);
}

#[tokio::test]
async fn who_names_no_gang_scopes_is_judged_on_one() {
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
    let (one, other) = (vec![Target::KUBE_POD_GROUP, Target::VOLCANO], vec![Target::KUBE_POD_GANG]);
    assert_eq!(scopes("").await, (one, other));
    assert_eq!(scopes("gangScopes: [PodGroup, PodGang]").await.0.len(), 3);
    let (its, others) = scopes("gangScopes: [PodGang]").await;
    assert_eq!((its, others), (vec![Target::KUBE_POD_GANG, Target::VOLCANO], vec![Target::KUBE_POD_GROUP]));
    let (folder, path) = described("");
    let misspelt = SMALL.replace("default-scheduler: {}", "default-scheduler: {gangScopes: [PodGong]}");
    put(folder.path(), "mine.yaml", &misspelt);
    let error = open(&format!("exec:{}", path.display()), None).await.unwrap_err().to_string();
    assert!(error.ends_with("backends: default-scheduler: unknown gang scope \"PodGong\""), "{error}");
}

#[tokio::test]
async fn a_declaration_tells_features_and_configuration() {
    let (folder, path) = described("declares: declared.yaml\n");
    let declared = |backend: &str| {
        format!(
            "apiVersion: conformance.grove.io/v1alpha1\nkind: ImplementationDeclaration\nimplementation: mine\nreleases:\n\
             - name: new\n  when: {{exists: [nothing]}}\n  backends: {{}}\n- name: old\n  backends:\n    {backend}:\n      \
             features: [AtomicPodGang]\n      configuration: {{gangMode: Strict}}\n"
        )
    };
    put(folder.path(), "declared.yaml", &declared("default-scheduler"));
    let word = format!("exec:{}", path.display());
    let opened = open(&word, None).await.unwrap();
    let target = opened.declared(Target::KUBE_POD_GANG);
    assert_eq!(target.features(), [Feature::AtomicPodGang, Feature::Kubelet], "kubelets are the provider's");
    let reason = target.why_not(Feature::SelfHealing);
    assert_eq!(reason, "mine unknown does not declare SelfHealing on default-scheduler");
    assert_eq!(target.configured("gangMode"), Some(&"Strict".into()));
    let operator = opened.build(&Silent).await.unwrap();
    assert_eq!(operator.declaration.as_ref().map(|of| of.release.as_str()), Some("old"));
    // A backend that only the description has does not count.
    put(folder.path(), "other.yaml", &declared("volcano"));
    let opened = open(&word, Some(&folder.path().join("other.yaml"))).await.unwrap();
    assert!(!opened.has("default-scheduler"));
    put(folder.path(), "other.yaml", &declared("volcano").replace("AtomicPodGang", "AtomicGang"));
    let error = open(&word, Some(&folder.path().join("other.yaml"))).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("unknown variant `AtomicGang`"), "{error}");
    put(
        folder.path(),
        "other.yaml",
        &declared("volcano").replace("implementation: mine", "implementation: its"),
    );
    let error = open(&word, Some(&folder.path().join("other.yaml"))).await.unwrap_err();
    assert!(error.to_string().contains("found its, expected mine"), "{error}");
}

#[tokio::test]
async fn roles_that_cannot_be_read_are_said_before_anything_is_built() {
    let folder = upstream(&[BINDINGS]);
    put(folder.path(), ROLE, &ROLE_TEMPLATE.replace("autoMNNVLEnabled", "newlyEnabled"));
    let error = opened(&folder).await.unwrap_err();
    let says =
        "line 7: `blocks` has no entry for this condition: {{- if .Values.config.network.newlyEnabled }}";
    let text = error.to_string();
    assert!(error.is_usage() && text.contains(says) && text.contains("`clusterAdmin: true`"), "{text}");
}

#[rstest]
#[case("clusterAdmin: true\n", "identity: name the user who has the roles")]
#[case("identity: {user: me}\nclusterAdmin: true\nroles: [{file: r}]\n", "either roles or clusterAdmin")]
#[tokio::test]
async fn rights_that_are_none(#[case] more: &str, #[case] says: &str) {
    let (_folder, path) = described(more);
    let error = open(&format!("exec:{}", path.display()), None).await.unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[tokio::test]
async fn who_may_do_everything_is_known() {
    let rights = async |more: &str| {
        let (folder, path) = described(more);
        let operator = open(&format!("exec:{}", path.display()), None).await.unwrap();
        let operator = operator.build(&Silent).await.unwrap();
        let spec = ControllerSpec::for_schedulers(&BTreeSet::new());
        let objects = operator.objects(&place(folder.path()), &spec).unwrap();
        let binding = objects.iter().find(|object| object["kind"] == "ClusterRoleBinding");
        (operator.is_cluster_admin(), binding.map(|binding| binding["roleRef"]["name"].clone()))
    };
    assert_eq!(rights("").await, (true, None), "its kubeconfig is an administrator's");
    let chosen = rights("identity: {user: me}\nclusterAdmin: true\n").await;
    assert_eq!(chosen, (true, Some("cluster-admin".into())));
    assert_eq!(rights("identity: {user: me}\n").await, (false, None));
}

#[tokio::test]
async fn a_module_for_a_newer_go_says_which() {
    let folder = upstream(&[BINDINGS]);
    put(folder.path(), "operator/go.mod", "module m\n\ngo 9.99.9\n");
    let error = opened(&folder).await.unwrap().build(&Silent).await.unwrap_err();
    let InstallError::Program(ProgramError::Source(error)) = error else { panic!("{error}") };
    assert!(!error.is_usage() && error.to_string().contains("Go 9.99.9 or newer builds it"), "{error}");
}

/// The recipe for a checkout of this repository has the same content as the controller's own manifests.
#[tokio::test]
async fn the_recipe_of_the_reference_controller_has_its_webhooks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scaling = "reference/operator/src/admission/scale.rs";
    let folder = folder(&[scaling, "src/main.rs", "target/debug/grove-conformance", "a", "b", "c"]);
    let copy =
        |from: &str, to: &str| put(folder.path(), to, &std::fs::read_to_string(root.join(from)).unwrap());
    copy("operators/reference.yaml", "reference.yaml");
    copy("manifests/controller/crds.yaml", "manifests/controller/crds.yaml");
    let word = format!("exec:{}", folder.path().join("reference.yaml").display());
    let operator = open(&word, None).await.unwrap().build(&Silent).await.unwrap();
    let described: BTreeSet<_> = operator
        .description
        .webhooks
        .iter()
        .map(|webhook| (webhook.name.clone(), webhook.path.clone(), json!(webhook.rules).to_string()))
        .collect();
    let manifests = std::fs::read_to_string(root.join("manifests/controller/webhooks.yaml")).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let wanted: BTreeSet<_> = grove_yaml::documents(&manifests)
        .unwrap()
        .iter()
        .flat_map(|document| document["webhooks"].as_array().cloned().unwrap_or_default())
        .map(|webhook| {
            let path = text(&webhook["clientConfig"]["service"]["path"]);
            (text(&webhook["name"]), path, webhook["rules"].to_string())
        })
        .collect();
    assert_eq!(described, wanted);
    let controller = ControllerSpec::for_schedulers(&schedulers::all().collect());
    let objects = operator.objects(&place(folder.path()), &controller).unwrap();
    assert!(objects.iter().any(|object| object["kind"] == "CustomResourceDefinition"));
    let process = operator.process(&place(folder.path()), &controller).unwrap();
    assert_eq!(process.args[..2], ["grove-backend-controller", "run"]);
}
