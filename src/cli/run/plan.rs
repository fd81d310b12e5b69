use conformance_contract::clauses::{CLAUSES, Workload};
use conformance_contract::kubernetes::Kubernetes;
use conformance_driver::case::Isolation;
use conformance_run::run_plan::RunPlan;
use conformance_run::workload;

use crate::request::{Cases, Request};
use crate::{Failure, generated, load, select, target_selection};

const NOT_OBSERVED: &str =
    "`observe` asks about schedulers, and Kueue only admits gangs: pass another backend";

/// Selects the cases and targets of the run. Generated workloads, load tests and the user's own workload are
/// planned without the suite's cases. A plan of observations has targets only.
pub(crate) fn plan(kubernetes: Kubernetes, request: &Request) -> Result<RunPlan, Failure> {
    let Request { subject, selection, operator, .. } = request;
    // The gangs of a cluster are created before its upgrade, on targets of the old version.
    let kubernetes = operator.replaced_kubernetes().unwrap_or(kubernetes);
    let scope = subject.scope.as_deref();
    let targets = || {
        let targets = target_selection::targets_declaring(&subject.backend, scope, &subject.features)?;
        target_selection::on(kubernetes, targets, scope)
    };
    match &subject.cases {
        Cases::Suite(_) => {
            let plan = select::plan(kubernetes, subject, selection)?;
            match operator.replaced_kubernetes() {
                None => Ok(plan),
                Some(old) => only_upgrades(plan, old),
            }
        }
        Cases::Observations => {
            let targets =
                target_selection::targets_of(Workload::PlainPods, "backend of plain pods", &subject.backend)?;
            let targets = target_selection::without_kueue(targets, NOT_OBSERVED)?;
            Ok(RunPlan {
                targets: target_selection::on(kubernetes, targets, None)?,
                chosen: Vec::new(),
                left_out: Vec::new(),
                skipped: Vec::new(),
                shard: None,
                clauses: Vec::new(),
            })
        }
        Cases::Load(load) => {
            let target = load::target(&subject.backend, targets()?, load.preempt)?;
            Ok(generated::plan(vec![target], vec![load.case]))
        }
        Cases::NearLimit(cases) => Ok(generated::plan(targets()?, cases.clone())),
        Cases::Generated(generated) => {
            let plan = generated::plan(targets()?, generated.cases.clone());
            Ok(match selection.shard {
                Some(shard) => plan.of_shard(shard),
                None => plan,
            })
        }
        Cases::OwnWorkload { file, case, .. } => {
            let targets = targets()?;
            workload::runs_on(case, &targets).map_err(|reason| Failure::of_workload(file, reason))?;
            let decided = CLAUSES.iter().filter(|clause| case.clauses.contains(&clause.id));
            let clauses = decided.copied().collect();
            Ok(RunPlan {
                targets,
                chosen: vec![*case],
                left_out: Vec::new(),
                skipped: Vec::new(),
                shard: None,
                clauses,
            })
        }
    }
}

/// Leaves out the cases without an upgrade: they would run on the new version, on targets of the old one.
fn only_upgrades(mut plan: RunPlan, old: Kubernetes) -> Result<RunPlan, Failure> {
    let (chosen, others): (Vec<_>, Vec<_>) =
        plan.chosen.into_iter().partition(|case| case.isolation == Isolation::Upgrade);
    plan.left_out.extend(others);
    if chosen.is_empty() {
        return Err(Failure::Usage(format!(
            "--upgrade-from kubernetes={old} runs only cases of upgrades, and none is selected: pass `mig`"
        )));
    }
    Ok(RunPlan { chosen, ..plan })
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::Target;

    use super::*;
    use crate::testing::request;

    fn planned(line: &str) -> Result<RunPlan, Failure> {
        let request = request(line).unwrap();
        plan(request.subject.versions[0], &request)
    }

    #[test]
    fn an_upgrade_of_kubernetes_runs_upgrade_cases_on_targets_of_the_old_version() {
        let plan = planned("run --upgrade-from kubernetes=1.36").unwrap();
        assert_eq!(plan.targets, [Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG]);
        assert!(plan.chosen.iter().all(|case| case.isolation == Isolation::Upgrade));
        assert!(plan.chosen.iter().any(|case| case.id == "mig/live-gangs"));
        assert!(plan.left_out.iter().any(|case| case.id == "aon/one-clique-too-large"));
    }

    #[test]
    fn observations_leave_kueue_out() {
        let plan = planned("observe --backend all").unwrap();
        assert!(!plan.targets.is_empty() && !plan.targets.contains(&Target::AI_CONFORMANCE_KUEUE));
        assert!(planned("observe --backend kueue").is_err());
    }

    #[test]
    fn an_upgrade_of_kubernetes_needs_a_case_of_upgrades() {
        let failure = planned("run aon --upgrade-from kubernetes=1.36").unwrap_err().to_string();
        assert!(failure.contains("pass `mig`"), "{failure}");
    }
}
