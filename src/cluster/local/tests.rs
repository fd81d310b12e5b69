use std::path::Path;

use conformance_contract::kubernetes::Kubernetes;
use conformance_install::cluster_spec::{ControllerSpec, Gates};
use conformance_install::schedulers::kube_scheduler;

use super::certs::{KeyFiles, ServiceAccountKeys};
use super::{apiserver, controller, controller_manager, etcd, kwok};

fn serving() -> KeyFiles {
    KeyFiles { certificate: "DIR/loopback.crt".into(), key: "DIR/loopback.key".into() }
}

#[test]
fn etcd_argv() {
    insta::assert_yaml_snapshot!(etcd::args(Path::new("DIR/etcd"), 1001, 1002));
}

fn apiserver_args(watch_cache: bool) -> Vec<String> {
    apiserver::args(&apiserver::Apiserver {
        etcd_port: 1001,
        port: 1003,
        client_ca: Path::new("DIR/ca.crt"),
        tokens: Path::new("DIR/tokens.csv"),
        serving: &serving(),
        service_account: &ServiceAccountKeys {
            private: "DIR/service-account.key".into(),
            public: "DIR/service-account.pub".into(),
        },
        gates: &Gates::workload_api(Kubernetes::V1_36),
        runtime_config: &["scheduling.k8s.io/v1alpha2".into()],
        watch_cache,
        audit_policy: Path::new("DIR/audit-policy.yaml"),
        audit_log: Path::new("DIR/audit.log"),
    })
}

#[test]
fn apiserver_argv() {
    insta::assert_yaml_snapshot!(apiserver_args(true));
}

#[rstest::rstest]
#[case("--watch-cache=false")]
#[case("--etcd-compaction-interval=0")]
fn only_an_api_server_without_a_watch_cache_keeps_old_versions(#[case] flag: &str) {
    let has_flag = |watch_cache| apiserver_args(watch_cache).iter().any(|arg| arg == flag);
    assert!(has_flag(false) && !has_flag(true));
}

#[test]
fn controller_manager_argv() {
    insta::assert_yaml_snapshot!(controller_manager::args(
        Path::new("DIR/kube-controller-manager.kubeconfig"),
        Path::new("DIR/service-account.key"),
        Path::new("DIR/ca.crt"),
        &serving(),
        &Gates::workload_api(Kubernetes::V1_36),
        false,
    ));
}

#[test]
fn the_job_controller_runs_only_for_train_jobs() {
    let gates = Gates::default().with("WorkloadWithJob", true);
    let args = |with_jobs| {
        let paths = [Path::new("K"), Path::new("S"), Path::new("C")];
        controller_manager::args(paths[0], paths[1], paths[2], &serving(), &gates, with_jobs).join(" ")
    };
    assert!(!args(false).contains("job-controller"));
    assert!(
        args(true).contains(",job-controller")
            && args(true).ends_with("--feature-gates=WorkloadWithJob=true")
    );
}

#[test]
fn the_podgroup_controller_does_not_run_without_the_workload_api() {
    let gates = Gates::workload_api(Kubernetes::V1_36).with("GenericWorkload", false);
    let args =
        controller_manager::args(Path::new("K"), Path::new("S"), Path::new("C"), &serving(), &gates, false);
    assert!(args.iter().all(|arg| !arg.contains(controller_manager::PODGROUP_PROTECTION)), "{args:?}");
}

#[test]
fn scheduler_argv_and_configuration() {
    insta::assert_yaml_snapshot!((
        kube_scheduler::args(Path::new("DIR/kube-scheduler.yaml"), &Gates::workload_api(Kubernetes::V1_36)),
        kube_scheduler::configuration(Path::new("DIR/kube-scheduler.kubeconfig"), &[]),
    ));
}

#[test]
fn a_scheduler_that_kube_scheduler_stands_in_for_adds_a_profile() {
    let configuration = kube_scheduler::configuration(Path::new("K"), &["kai-scheduler"]);
    insta::assert_yaml_snapshot!(configuration["profiles"], @r"
    - schedulerName: default-scheduler
    - schedulerName: kai-scheduler
    ");
}

#[test]
fn kwok_argv() {
    insta::assert_yaml_snapshot!(kwok::args(
        Path::new("DIR/kwok.kubeconfig"),
        Path::new("DIR/kwok-stages.yaml"),
        1004
    ));
}

#[test]
fn controller_argv() {
    let ports = controller::ControllerPorts { webhook: 1005, health: 1006, metrics: 1007 };
    insta::assert_yaml_snapshot!(controller::args(
        Path::new("DIR/grove-backend-controller.kubeconfig"),
        Path::new("DIR/operator-configuration.yaml"),
        ports,
        &serving(),
        &ControllerSpec::default().with_fault("early-ungate"),
    ));
}
