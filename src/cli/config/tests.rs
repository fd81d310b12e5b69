use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::options::{ClassName, ProviderName};

fn file(text: &str) -> Result<RunOptions, String> {
    of_text(&format!("apiVersion: {API_VERSION}\nkind: {KIND}\n{text}"), &Fields::of_runs())
}

fn set(words: &[&str]) -> Result<RunOptions, String> {
    let args = ConfigArgs { config_file: None, set: words.iter().map(|word| (*word).to_owned()).collect() };
    completed(&args, RunOptions::default()).map_err(|failure| failure.to_string())
}

#[test]
fn every_section_of_a_file_is_read() {
    let options = file(
        "target: {backend: volcano, kubernetes: '1.36', features: [AtomicPodGang]}\n\
         selection: {cases: [aon, 'topo/*'], classes: [backend-specific], skip: [TOPO-01], shard: 2/3}\n\
         operator: {source: upstream=../grove, declaration: d.yaml}\n\
         cluster: {provider: existing, oneEtcd: true}\n\
         programs: {components: {vc-scheduler: 'src:../volcano'}}\n\
         execution: {timeoutScale: 2, failFast: true}\n\
         output: {folder: reports}\n",
    );
    let options = options.unwrap();
    assert_eq!(options.target.backend.as_deref(), Some("volcano"));
    assert_eq!(options.selection.words, ["aon", "topo/*"]);
    assert_eq!(options.selection.classes, [ClassName::BackendSpecific]);
    assert_eq!(options.selection.shard.map(|shard| shard.to_string()).as_deref(), Some("2/3"));
    assert_eq!(options.operator.declaration, Some(PathBuf::from("d.yaml")));
    assert_eq!(
        (options.cluster.provider, options.cluster.one_etcd),
        (Some(ProviderName::Existing), Some(true))
    );
    assert_eq!(options.programs.components["vc-scheduler"], "src:../volcano");
    assert_eq!((options.execution.timeout_scale, options.execution.fail_fast), (Some(2.0), Some(true)));
    assert_eq!(options.output.folder, Some(PathBuf::from("reports")));
}

#[rstest::rstest]
#[case("targt: {}\n", r#"unknown key "targt"; did you mean "target"?"#)]
#[case("cluster: {onEtcd: true}\n", r#"unknown key "cluster.onEtcd"; did you mean "cluster.oneEtcd"?"#)]
#[case(
    "target: {kubernetes: 1.36}\n",
    "target.kubernetes: expected a string: put the version 1.36 in quotes"
)]
#[case("execution: {retries: many}\n", "execution.retries: invalid type")]
#[case("selection: {shard: 3}\n", "selection.shard: invalid type")]
#[case("selection: {shard: 4/3}\n", "selection.shard: expected I/N, the Ith of N shards")]
#[case("cluster: {provider: minikube}\n", "cluster.provider: unknown variant `minikube`")]
#[case("---\nkind: Pod\n", "expected one document of kind ConformanceConfig, found 2")]
fn an_invalid_file_is_rejected_with_the_field(#[case] text: &str, #[case] expected: &str) {
    let reason = file(text).unwrap_err();
    assert!(reason.contains(expected), "{reason}");
}

#[rstest::rstest]
#[case(
    "kind: Pod\napiVersion: conformance.grove.io/v1alpha1\n",
    "kind is \"Pod\", expected ConformanceConfig"
)]
#[case("kind: ConformanceConfig\n", "apiVersion is missing, expected conformance.grove.io/v1alpha1")]
fn a_file_of_another_kind_is_rejected(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(of_text(text, &Fields::of_runs()).unwrap_err(), expected);
}

#[test]
fn set_converts_a_text_to_the_type_of_its_field() {
    let options = set(&[
        "cluster.oneEtcd=true",
        "execution.concurrency=4",
        "execution.timeoutScale=2.5",
        "target.features=AtomicPodGang,TopologyRequired",
        "target.kubernetes=1.36",
        "operator.name=my operator=2",
        "programs.components.etcd=/bin/true",
    ]);
    let options = options.unwrap();
    assert_eq!(options.cluster.one_etcd, Some(true));
    assert_eq!((options.execution.concurrency, options.execution.timeout_scale), (Some(4), Some(2.5)));
    assert_eq!(options.target.features, ["AtomicPodGang", "TopologyRequired"]);
    assert!(options.target.kubernetes.is_some());
    assert_eq!(options.operator.name.as_deref(), Some("my operator=2"));
    assert_eq!(options.programs.components["etcd"], "/bin/true");
}

#[rstest::rstest]
#[case("cluster.oneEtcd", "expected FIELD=VALUE")]
#[case("cluster.oneEtcd=yes", "expected true or false")]
#[case("execution.retries=many", "expected a number")]
#[case("cluster=existing", "expected a field below it")]
#[case("cluster.oneEtd=true", r#"did you mean "cluster.oneEtcd"?"#)]
#[case("cluster.oneEtcd.more=true", "cluster.oneEtcd has no fields")]
#[case("execution.retries=-1", "execution.retries: invalid type")]
fn an_invalid_setting_is_rejected(#[case] word: &str, #[case] expected: &str) {
    let failure = set(&[word]).unwrap_err();
    assert!(failure.contains("--set") && failure.contains(expected), "{failure}");
}

#[test]
fn options_override_settings_and_settings_override_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conformance.yaml");
    let text = format!(
        "apiVersion: {API_VERSION}\nkind: {KIND}\ntarget: {{backend: volcano, scope: PodGang}}\n\
         execution: {{strict: true, seed: 1}}\n"
    );
    std::fs::write(&path, text).unwrap();
    let args = ConfigArgs {
        config_file: Some(path),
        set: vec!["execution.seed=2".into(), "execution.strict=false".into()],
    };
    let mut flags = RunOptions::default();
    (flags.target.backend, flags.execution.seed) = (Some("all".into()), Some(3));
    let options = completed(&args, flags).unwrap();
    assert_eq!(options.target.backend.as_deref(), Some("all"));
    assert_eq!(options.target.scope.as_deref(), Some("PodGang"));
    assert_eq!((options.execution.seed, options.execution.strict), (Some(3), Some(false)));
}

fn schema() -> Value {
    let mut schema = schemars::schema_for!(RunOptions).to_value();
    schema["title"] = KIND.into();
    schema["properties"]["apiVersion"] = json!({"const": API_VERSION});
    schema["properties"]["kind"] = json!({"const": KIND});
    schema["required"] = json!(["apiVersion", "kind"]);
    schema
}

/// To update it: `UPDATE_SCHEMA=1 cargo test -p conformance-cli published_schema`.
#[test]
fn the_published_schema_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.schema.json");
    let derived = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &derived).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == derived,
        "docs/config.schema.json is out of date: UPDATE_SCHEMA=1 cargo test published_schema"
    );
}

fn fields() -> Vec<String> {
    let sections = schemars::schema_for!(RunOptions).to_value();
    let sections: Vec<_> = sections["properties"].as_object().unwrap().keys().cloned().collect();
    let all = Fields::of_runs();
    let of_section = |section: &String| -> Vec<String> {
        let fields = all.at(section).unwrap()["properties"].as_object().unwrap();
        fields.keys().map(|field| format!("{section}.{field}")).collect()
    };
    sections.iter().flat_map(of_section).collect()
}

fn fields_with_an_option() -> (Vec<String>, Vec<String>) {
    use clap::CommandFactory;

    let another_name = [
        ("words", "selection.cases"),
        ("given", "programs.components"),
        ("given_configs", "programs.schedulerConfigs"),
    ];
    let cli = crate::args::Cli::command();
    let run = cli.find_subcommand("run").unwrap();
    let (mut found, mut without_field) = (Vec::new(), Vec::new());
    for option in run.get_arguments().map(|option| option.get_id().as_str().to_owned()) {
        let name = option.replace('_', "");
        let is_of_option = |path: &&String| {
            let (_, field) = path.split_once('.').unwrap();
            // The operator's name has no option. The option `--cluster` is the name of the cluster.
            field.to_ascii_lowercase() == name && *path != "operator.name"
        };
        let renamed = another_name.iter().find(|(id, _)| *id == option).map(|(_, path)| (*path).to_owned());
        match renamed.or_else(|| fields().iter().find(is_of_option).cloned()) {
            Some(path) => found.push(path),
            None => without_field.push(option),
        }
    }
    (found, without_field)
}

#[test]
fn every_option_of_run_is_a_field() {
    let (_, without_field) = fields_with_an_option();
    assert_eq!(without_field, ["plan", "config_file", "set"]);
}

#[test]
fn the_documentation_lists_every_field_without_an_option() {
    let page = include_str!("../../../docs/configuration.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: Vec<_> = rows.filter(|name| name.contains('.')).collect();
    let (with_option, _) = fields_with_an_option();
    let mut without: Vec<_> = fields().into_iter().filter(|path| !with_option.contains(path)).collect();
    without.sort();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, without);
}
