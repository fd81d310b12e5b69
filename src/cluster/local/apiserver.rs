use std::path::Path;

use conformance_install::cluster_spec::Gates;

use super::audit;
use super::certs::{KeyFiles, ServiceAccountKeys};

#[derive(Debug)]
pub(super) struct Apiserver<'a> {
    pub etcd_port: u16,
    pub port: u16,
    pub client_ca: &'a Path,
    pub tokens: &'a Path,
    pub serving: &'a KeyFiles,
    pub service_account: &'a ServiceAccountKeys,
    pub gates: &'a Gates,
    /// API versions that are disabled by default, as `GROUP/VERSION`.
    pub runtime_config: &'a [String],
    pub watch_cache: bool,
    pub audit_policy: &'a Path,
    pub audit_log: &'a Path,
}

pub(super) fn args(of: &Apiserver<'_>) -> Vec<String> {
    let mut args = vec![
        format!("--etcd-servers=http://127.0.0.1:{}", of.etcd_port),
        "--bind-address=127.0.0.1".into(),
        // Without this flag, kube-apiserver looks for a default route, and exits on a machine that has none.
        "--advertise-address=127.0.0.1".into(),
        // By default, kube-apiserver writes Endpoints of `kubernetes`, which cannot have a loopback address.
        "--endpoint-reconciler-type=none".into(),
        format!("--secure-port={}", of.port),
        format!("--client-ca-file={}", of.client_ca.display()),
        format!("--token-auth-file={}", of.tokens.display()),
        format!("--tls-cert-file={}", of.serving.certificate.display()),
        format!("--tls-private-key-file={}", of.serving.key.display()),
        format!("--service-account-key-file={}", of.service_account.public.display()),
        format!("--service-account-signing-key-file={}", of.service_account.private.display()),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        "--authorization-mode=RBAC".into(),
        // As kubeadm and kind set it. Drivers and GPU workloads often have privileged containers.
        "--allow-privileged=true".into(),
        // Pods here need no token. KWOK's nodes are Ready from the start, so they need no `not-ready` taint.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".into(),
    ];
    // Disable these limits, so that no request waits for requests of other clients.
    let unlimited =
        ["enable-priority-and-fairness=false", "max-requests-inflight=0", "max-mutating-requests-inflight=0"];
    args.extend(unlimited.map(|flag| format!("--{flag}")));
    args.extend(audit::args(of.audit_policy, of.audit_log));
    args.extend(of.gates.flag());
    if !of.watch_cache {
        // Without the watch cache, watches of quiet kinds get no bookmarks. They resume at old versions,
        // which must not be compacted.
        args.extend(["--watch-cache=false".into(), "--etcd-compaction-interval=0".into()]);
    }
    if !of.runtime_config.is_empty() {
        let on: Vec<_> = of.runtime_config.iter().map(|version| format!("{version}=true")).collect();
        args.push(format!("--runtime-config={}", on.join(",")));
    }
    args
}
