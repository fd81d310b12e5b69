//! Selects the cases and targets of a run on one version of Kubernetes.

use conformance_contract::clauses::{CLAUSES, Workload};
use conformance_contract::kubernetes::Kubernetes;
use conformance_run::run_plan::RunPlan;
use conformance_run::workload;

use crate::request::{Cases, Request};
use crate::{Failure, generated, load, select};

/// The plan for this version. Generated workloads, load tests and the user's own workload are planned without
/// the suite's cases. A plan of observations has targets only.
pub(crate) fn plan(kubernetes: Kubernetes, request: &Request) -> Result<RunPlan, Failure> {
    let Request { subject, selection, .. } = request;
    let scope = subject.scope.as_deref();
    let targets = || {
        let targets = select::targets_declaring(&subject.backend, scope, &subject.features)?;
        select::on(kubernetes, targets, scope)
    };
    match &subject.cases {
        Cases::Suite(_) => select::plan(kubernetes, subject, selection),
        Cases::Observations => {
            let targets = select::targets_of(Workload::PlainPods, "backend of plain pods", &subject.backend)?;
            Ok(RunPlan {
                targets: select::on(kubernetes, targets, None)?,
                chosen: Vec::new(),
                left_out: Vec::new(),
                skipped: Vec::new(),
                shard: None,
                clauses: Vec::new(),
            })
        }
        Cases::Load(load) => {
            let target = load::target(&subject.backend, targets()?)?;
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
