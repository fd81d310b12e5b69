//! Tests with a script in place of Helm.

use serde_json::json;

use super::*;
use crate::schedulers::install::{Crds, Install};
use crate::schedulers::{all, kai, volcano};
use crate::testing::assert_manifests;

fn pinned(scheduler: Scheduler) -> Release {
    Release::pinned(scheduler).expect("it has a chart")
}

fn argv(release: &Release) -> String {
    let values = format!("DIR/helm/{}.json", release.package.release);
    release.args(Path::new("DIR/kubeconfig"), Path::new(&values)).join(" ")
}

fn values_for(scheduler: Scheduler) -> String {
    format!("{:#}", (pinned(scheduler).package.values)())
}

#[test]
fn argv_of_pinned_charts() {
    let all = all().filter_map(Release::pinned).map(|release| argv(&release));
    insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n"), @"
    upgrade --install volcano volcano --repo https://volcano-sh.github.io/helm-charts --version 1.15.1 --namespace volcano-system --kubeconfig DIR/kubeconfig --values DIR/helm/volcano.json --timeout 600s --create-namespace --wait
    upgrade --install koordinator koordinator --repo https://koordinator-sh.github.io/charts --version 1.8.0 --namespace default --kubeconfig DIR/kubeconfig --values DIR/helm/koordinator.json --timeout 600s --create-namespace --wait
    upgrade --install kai-scheduler oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler --version v0.17.0 --namespace kai-scheduler --kubeconfig DIR/kubeconfig --values DIR/helm/kai-scheduler.json --timeout 600s --create-namespace --wait
    ");
}

#[test]
fn argv_of_an_operators_chart() {
    let chart = Chart { reference: "../grove/operator/charts".into(), repository: None, version: None };
    let release = ReleaseOf { name: "grove-operator", namespace: "grove-system", chart: &chart };
    let args = release.args(Path::new("DIR/kubeconfig"), Path::new("DIR/helm/grove-operator.json"));
    insta::assert_snapshot!(args.join(" "), @"upgrade --install grove-operator ../grove/operator/charts --namespace grove-system --kubeconfig DIR/kubeconfig --values DIR/helm/grove-operator.json --timeout 600s --create-namespace --wait");
}

#[test]
fn argv_of_a_chart_of_the_user() {
    let release = pinned(volcano::SCHEDULER).with_chart("./charts/volcano").expect("a chart");
    insta::assert_snapshot!(argv(&release), @"upgrade --install volcano ./charts/volcano --namespace volcano-system --kubeconfig DIR/kubeconfig --values DIR/helm/volcano.json --timeout 600s --create-namespace --wait");
}

#[rstest::rstest]
#[case::oci("oci://example.org/charts/volcano@1.15.1", "oci://example.org/charts/volcano@1.15.1")]
#[case::port("oci://localhost:5000/volcano", "oci://localhost:5000/volcano")]
#[case::digest("oci://example.org/volcano@sha256:0a1b", "oci://example.org/volcano@sha256:0a1b")]
#[case::repository("mine/volcano@1.15.1", "mine/volcano@1.15.1")]
#[case::folder("/home/me@work/volcano", "/home/me@work/volcano")]
#[case::version("@1.14.4", "volcano@1.14.4 of https://volcano-sh.github.io/helm-charts")]
fn a_chart_of_the_user_replaces_the_pinned_one(#[case] words: &str, #[case] chart: &str) {
    let release = pinned(volcano::SCHEDULER).with_chart(words).expect("a chart");
    assert_eq!(release.chart.to_string(), chart);
}

#[rstest::rstest]
#[case("oci://example.org/volcano@sha256:0a1b", None)]
#[case("/home/me@work/volcano", None)]
#[case("mine/volcano@1.15.1", Some("1.15.1"))]
fn only_text_that_is_a_version_is_passed_to_helm(#[case] words: &str, #[case] version: Option<&str>) {
    let release = pinned(volcano::SCHEDULER).with_chart(words).expect("a chart");
    assert_eq!(release.chart.version.as_deref(), version);
}

#[rstest::rstest]
#[case("")]
#[case("@")]
#[case("volcano@")]
fn a_text_that_names_no_chart_is_rejected(#[case] words: &str) {
    let error = pinned(volcano::SCHEDULER).with_chart(words).expect_err("no chart");
    assert_eq!(error.to_string(), "expected CHART, CHART@VERSION or @VERSION");
}

/// `ci/charts` compares the charts with this file.
/// `WRITE_MANIFESTS=1 cargo test -p conformance-install --lib manifests_of_schedulers` writes it.
#[test]
fn manifests_of_schedulers_by_chart() {
    let charts: Vec<_> = all().filter_map(Release::pinned).map(|release| described(&release)).collect();
    assert_manifests("charts.yaml", &charts);
}

fn described(release: &Release) -> Value {
    let (package, install) = (release.package, installation(release.scheduler));
    json!({
        "scheduler": release.scheduler.name(),
        "release": package.release,
        "namespace": package.namespace,
        "chart": package.chart,
        "repository": package.repository,
        "version": package.version,
        "deployed": {"namespace": package.deployed.namespace, "deployments": package.deployed.deployments},
        "crds": crds(install),
        "objects": (install.objects)(),
        "values": (package.values)(),
    })
}

fn crds(install: &Install) -> Vec<String> {
    if let Crds::Module(module) = &install.crds {
        let names = module.files.iter().map(|file| {
            let (group, plural) = file.trim_end_matches(".yaml").split_once('_').expect("GROUP_PLURAL.yaml");
            format!("{plural}.{group}")
        });
        return names.collect();
    }
    let written = install.own_crds().expect("CRDs");
    written.iter().map(|crd| crd["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn charts_and_manifests_use_the_same_namespaces() {
    for release in all().filter_map(Release::pinned) {
        assert_eq!(release.package.deployed.namespace, installation(release.scheduler).deployed.namespace);
    }
}

fn helm(script: &str) -> (Helm, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("helm.sh");
    std::fs::write(&path, script).expect("script");
    (Helm { program: "sh", first: vec![path.display().to_string()] }, folder)
}

#[tokio::test]
async fn the_version_is_the_one_that_helm_lists() {
    let (helm, folder) = helm(
        r#"case $1 in
        upgrade) ;;
        list) echo '[{"name":"volcano","status":"deployed","chart":"volcano-1.15.1","app_version":"1.15.1"}]' ;;
        get) printf 'kind: Deployment\n' ;;
        esac"#,
    );
    let release = pinned(volcano::SCHEDULER);
    let installed = helm.install(&release, Path::new("kubeconfig"), folder.path()).await.expect("installed");
    assert_eq!(installed.chart, "volcano-1.15.1 (https://volcano-sh.github.io/helm-charts)");
    assert_eq!((installed.release.as_str(), installed.version.as_str()), ("volcano", "1.15.1"));
    assert_eq!(installed.sha256.len(), 64);
    let values = std::fs::read_to_string(folder.path().join("volcano.json")).expect("values");
    assert_eq!(values.trim_end(), values_for(volcano::SCHEDULER));
}

#[rstest::rstest]
#[case::of_the_chart("mine/volcano@1.15.1", "1.15.1")]
#[case::nothing("./volcano", "unknown")]
#[tokio::test]
async fn without_an_application_version_the_version_of_the_chart_is_used(
    #[case] words: &str,
    #[case] version: &str,
) {
    let (helm, folder) = helm(r#"[ "$1" != list ] || echo '[{"name":"volcano","chart":"volcano-0.0.0"}]'"#);
    let release = pinned(volcano::SCHEDULER).with_chart(words).expect("a chart");
    let installed = helm.install(&release, Path::new("kubeconfig"), folder.path()).await.expect("installed");
    assert_eq!(installed.version, version);
}

#[rstest::rstest]
#[case::fails(
    "echo 'Error: no registry answers' >&2; exit 1",
    &["upgrade --install kai-scheduler oci://ghcr.io", "Error: no registry answers"]
)]
#[case::lists_nothing("[ \"$1\" != list ] || echo '[]'", &["release kai-scheduler is not in the output", "[]"])]
#[tokio::test]
async fn a_failed_installation_is_an_error(#[case] script: &str, #[case] messages: &[&str]) {
    let (helm, folder) = helm(script);
    let release = pinned(kai::SCHEDULER);
    let installed = helm.install(&release, Path::new("kubeconfig"), folder.path()).await;
    let error = installed.expect_err("it is not installed").to_string();
    assert!(messages.iter().all(|message| error.contains(message)), "{error}");
}

#[tokio::test]
async fn a_missing_helm_is_reported_with_advice() {
    let helm = Helm { program: "/nowhere/helm", first: Vec::new() };
    let error = helm.version().await.expect_err("there is none").to_string();
    for message in ["`/nowhere/helm version --short` failed", "put `helm` on PATH", "omit the chart"] {
        assert!(error.contains(message), "{message}: {error}");
    }
}
