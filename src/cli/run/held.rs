//! `--hold-on-failure`: where to look at a case that failed.

use std::path::Path;

use conformance_contract::names;
use conformance_run::environment::HeldCase;

pub(super) fn description(case: &HeldCase, report_dir: &Path) -> String {
    let HeldCase { id, target, namespace, kubeconfig, artifacts } = case;
    let mut lines =
        vec![format!("held: {id} failed on {target}; its namespace, nodes and control plane are kept")];
    if let Some(kubeconfig) = kubeconfig {
        lines.push(format!("  export KUBECONFIG={}", kubeconfig.display()));
    }
    lines.push(format!("  kubectl -n {namespace} get podcliquesets,podgangs,pods -o wide"));
    lines.push(format!("  kubectl -n {namespace} get events --sort-by=.lastTimestamp"));
    lines.push(format!("  kubectl get nodes -l {}={namespace}", names::POOL));
    if let Some(folder) = kubeconfig.as_deref().and_then(Path::parent) {
        lines.push(format!("  logs: {}", folder.display()));
    }
    if let Some(artifacts) = artifacts {
        lines.push(format!("  history: {}", report_dir.join(artifacts).join("history.jsonl").display()));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::Target;

    use super::*;

    #[test]
    fn the_description_has_the_kubeconfig_the_namespace_and_the_history() {
        let case = HeldCase {
            id: "aon/one-pod-short",
            target: Target::VOLCANO,
            namespace: "aon-one-pod-short-1f2e3d-4".into(),
            kubeconfig: Some("/state/clusters/1f2e3d-shared/admin.conf".into()),
            artifacts: Some("artifacts/volcano/aon-one-pod-short".into()),
        };
        insta::assert_snapshot!(description(&case, Path::new("report")), @r"
        held: aon/one-pod-short failed on volcano; its namespace, nodes and control plane are kept
          export KUBECONFIG=/state/clusters/1f2e3d-shared/admin.conf
          kubectl -n aon-one-pod-short-1f2e3d-4 get podcliquesets,podgangs,pods -o wide
          kubectl -n aon-one-pod-short-1f2e3d-4 get events --sort-by=.lastTimestamp
          kubectl get nodes -l conformance.grove.io/pool=aon-one-pod-short-1f2e3d-4
          logs: /state/clusters/1f2e3d-shared
          history: report/artifacts/volcano/aon-one-pod-short/history.jsonl
        ");
    }
}
