use std::collections::BTreeSet;
use std::path::Path;

use conformance_contract::clauses::clause;
use conformance_contract::target::Target;
use conformance_programs::ProgramError;
use conformance_programs::components::Progress;
use conformance_programs::images::Image;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::word::UPSTREAM;
use super::*;
use crate::controller_spec::ControllerSpec;
use crate::testing::{folder, put};
use crate::{InstallError, schedulers};

const CRDS: &str = "operator/api/core/v1alpha1/crds";
const BINDINGS: &str = "operator/api/core/v1alpha1/crds/grove.io_clustertopologybindings.yaml";
const GANG_MAPS: &str = "operator/api/core/v1alpha1/crds/grove.io_podgangmaps.yaml";
const VOLCANO: &str = "operator/internal/scheduler/volcano/backend.go";

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

pub(super) const SMALL: &str = "
apiVersion: conformance.grove.io/v1alpha1
kind: OperatorDescription
name: mine
program: ./mine
backends: {default-scheduler: {}}
readiness: {logLine: started}
";

pub(super) fn described(more: &str) -> (TempDir, std::path::PathBuf) {
    let folder = folder(&["mine"]);
    put(folder.path(), "mine.yaml", &format!("{SMALL}{more}"));
    let path = folder.path().join("mine.yaml");
    (folder, path)
}

pub(super) fn home(folder: &Path) -> OperatorHome {
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

pub(super) struct Silent;

impl Progress for Silent {
    fn building(&self, _: &str, _: &str) {}
    fn compiled(&self, _: &str, _: &str, _: usize) {}
    fn built(&self, _: &str, _: &str, _: f64) {}
    fn waiting(&self, _: &str) {}
}

/// Upstream's operator with a program instead of a build, because a unit test compiles nothing.
async fn built(folder: &TempDir) -> Operator {
    let text = UPSTREAM
        .description
        .replace("build:\n  module: operator", "program: operator/go.mod\nnothing:\n  module: operator");
    let mut document = grove_yaml::documents(&text).unwrap().remove(0);
    document.as_object_mut().unwrap().remove("nothing");
    document["source"] = json!(folder.path());
    document["declares"] = json!("declared.yaml");
    put(folder.path(), "declared.yaml", UPSTREAM.declaration.1);
    put(folder.path(), "d.yaml", &document.to_string());
    let opened = open(&format!("exec:{}", folder.path().join("d.yaml").display()), None).await.unwrap();
    opened.build(&Silent).await.unwrap()
}

#[rstest::rstest]
#[case::before_volcano(&[BINDINGS], "with ClusterTopologyBinding (from v0.1.0-alpha.9)", false)]
#[case::volcano(&[BINDINGS, VOLCANO], "with a Volcano backend", true)]
#[case::epochs(&[BINDINGS, VOLCANO, GANG_MAPS], "PodGang names by epoch (PodGangMap)", true)]
#[tokio::test]
async fn the_files_of_a_checkout_select_the_release_variant(
    #[case] files: &[&str],
    #[case] variant: &str,
    #[case] volcano: bool,
) {
    let folder = upstream(files);
    let opened = opened(&folder).await.unwrap();
    assert!(opened.has("default-scheduler") && opened.has("kai-scheduler") && !opened.has("koord-scheduler"));
    assert_eq!(opened.has("volcano"), volcano);
    assert_eq!(built(&folder).await.variant.as_deref(), Some(variant));
}

/// The right to create KAI's PodGroups, as upstream's role has it since pull request 725.
const KAI_POD_GROUPS: &str = r#"{{- if include "grove.scheduler.hasProfile" (list . "kai-scheduler") }}
- {apiGroups: [scheduling.run.ai], resources: [podgroups], verbs: [create]}
{{- end }}
"#;

#[rstest::rstest]
#[case::before_volcano(&[BINDINGS], false, "from v0.1.0-alpha.9", true)]
#[case::before_its_own_pod_groups(&[BINDINGS, VOLCANO], false, "with a Volcano backend (from v0.1.0-alpha.11)", true)]
#[case::with_its_own_pod_groups(&[BINDINGS, VOLCANO], true, "with PodGroups for KAI (after v0.1.0-alpha.12-rc1)", false)]
#[tokio::test]
async fn upstreams_rights_decide_who_creates_the_pod_groups_for_kai(
    #[case] files: &[&str],
    #[case] has_right: bool,
    #[case] release: &str,
    #[case] leaves_them: bool,
) {
    let folder = upstream(files);
    if has_right {
        put(folder.path(), ROLE, &format!("{ROLE_TEMPLATE}{KAI_POD_GROUPS}"));
    }
    let opened = opened(&folder).await.unwrap();
    let (kai, kube) = (opened.declared(Target::KAI), opened.declared(Target::KUBE_POD_GROUP));
    let owes = |target: Target, id: &str| target.owes(clause(id).unwrap());
    for id in ["AUTO-08", "DEL-08", "GANG-05", "GANG-09", "GANG-10", "GANG-23", "KAI-01", "KAI-04", "UPD-08"]
    {
        assert_eq!(owes(kai, id), !leaves_them, "{id}");
    }
    // KAI binds gangs, whoever creates their PodGroups.
    assert!(owes(kai, "AON-02") && owes(kai, "AON-08") && owes(kai, "TOPO-01") && owes(kai, "TOPO-09"));
    assert!(owes(kube, "GANG-05") && owes(kube, "DEL-08"), "kube-scheduler has no podgrouper");
    assert_eq!(built(&folder).await.declaration.unwrap().release, release);
}

#[tokio::test]
async fn a_release_without_topology_bindings_is_rejected() {
    let error = opened(&upstream(&[])).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("v0.1.0-alpha.9 is the first"), "{error}");
}

#[tokio::test]
async fn a_folder_that_is_no_checkout_is_rejected_with_its_missing_files() {
    let error = opened(&folder(&["operator/go.mod"])).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("it lacks operator/cmd/main.go"), "{error}");
    let error = open("upstream=/no/such/folder", None).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("the folder does not exist"), "{error}");
}

#[tokio::test]
async fn an_unknown_backend_is_reported_with_the_known_ones() {
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
async fn command_line_and_configuration_of_upstream() {
    let folder = upstream(&[BINDINGS, VOLCANO]);
    for name in ["a", "b", "c"] {
        put(folder.path(), name, name);
    }
    let operator = built(&folder).await;
    let spec = ControllerSpec::for_schedulers(&schedulers::all().collect::<BTreeSet<_>>());
    let process = operator.process(&home(folder.path()), &spec).unwrap();
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
async fn chart_values_of_upstream() {
    let folder = upstream(&[BINDINGS, VOLCANO]);
    let operator = built(&folder).await;
    let chart = operator.chart().expect("upstream's description has a chart");
    assert_eq!(operator.chart_folder(chart), folder.path().canonicalize().unwrap().join("operator/charts"));
    let init = chart.init.as_ref().expect("the chart has an init program");
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
async fn api_objects_of_upstream() {
    let folder = upstream(&[VOLCANO]);
    let crd =
        |name: &str| format!("apiVersion: v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\n");
    put(folder.path(), BINDINGS, &crd("bindings"));
    put(folder.path(), "scheduler/api/core/v1alpha1/crds/scheduler.grove.io_podgangs.yaml", &crd("podgangs"));
    let operator = built(&folder).await;
    let objects = operator.objects(&home(folder.path()), &ControllerSpec::default()).unwrap();
    insta::assert_yaml_snapshot!(objects);
}

#[tokio::test]
async fn unreadable_roles_are_reported_before_anything_is_built() {
    let folder = upstream(&[BINDINGS]);
    put(folder.path(), ROLE, &ROLE_TEMPLATE.replace("autoMNNVLEnabled", "newlyEnabled"));
    let error = opened(&folder).await.unwrap_err();
    let message =
        "line 7: `blocks` has no entry for this condition: {{- if .Values.config.network.newlyEnabled }}";
    let text = error.to_string();
    assert!(error.is_usage() && text.contains(message) && text.contains("`clusterAdmin: true`"), "{text}");
}

#[tokio::test]
async fn the_error_for_a_newer_go_names_its_version() {
    let folder = upstream(&[BINDINGS]);
    put(folder.path(), "operator/go.mod", "module m\n\ngo 9.99.9\n");
    let error = opened(&folder).await.unwrap().build(&Silent).await.unwrap_err();
    let InstallError::Program(ProgramError::Source(error)) = error else { panic!("{error}") };
    assert!(!error.is_usage() && error.to_string().contains("Go 9.99.9 or newer builds it"), "{error}");
}

#[tokio::test]
async fn the_recipe_of_the_reference_controller_has_the_webhooks_of_its_manifests() {
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
    let objects = operator.objects(&home(folder.path()), &controller).unwrap();
    assert!(objects.iter().any(|object| object["kind"] == "CustomResourceDefinition"));
    let process = operator.process(&home(folder.path()), &controller).unwrap();
    assert_eq!(process.args[..2], ["grove-backend-controller", "run"]);
}
