//! Selects the cases and targets of a run on one version of Kubernetes.

use conformance_contract::clauses::{CLAUSES, Class};
use conformance_contract::kubernetes::Kubernetes;
use conformance_run::run_plan::RunPlan;
use conformance_run::workload;

use super::request::{Cases, Request};
use crate::{Failure, generated, scale, select};

/// The plan for this version. Generated workloads, load tests and the user's own workload are planned without
/// the suite's cases.
pub(super) fn plan(kubernetes: Kubernetes, request: &Request<'_>) -> Result<RunPlan, Failure> {
    let (args, scope) = (request.args, request.scope.as_deref());
    let subject = &args.subject;
    let targets = || {
        let targets = select::targets_declaring(&subject.backend, scope, &subject.features)?;
        select::on(kubernetes, targets, scope)
    };
    match &request.cases {
        Cases::Suite => {
            let tiers: Vec<Class> = args.selection.tiers.iter().map(|name| (*name).into()).collect();
            select::plan(select::Selection {
                tiers: &tiers,
                backend: &subject.backend,
                workload: args.tools.workload(),
                scope,
                kubernetes,
                features: &subject.features,
                words: &args.selection.words,
                skip: &args.selection.skip,
                shard: args.share.shard,
            })
        }
        Cases::Scale(case) => {
            let target = scale::target(&subject.backend, targets()?)?;
            Ok(generated::plan(vec![target], vec![*case]))
        }
        Cases::Generated(cases) => {
            let plan = generated::plan(targets()?, cases.clone());
            Ok(match args.share.shard {
                Some(shard) => plan.of_shard(shard),
                None => plan,
            })
        }
        Cases::OwnWorkload { file, case } => {
            let targets = targets()?;
            workload::scheduled_by(case, &targets)
                .map_err(|reason| Failure::Usage(format!("--workload {}: {reason}", file.display())))?;
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
