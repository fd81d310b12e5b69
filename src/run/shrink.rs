//! Finds a smaller workload that fails like a generated one.

use std::collections::BTreeSet;

use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_contract::violation::Code;
use conformance_fuzz::Plan;
use conformance_report::CaseResult;
use futures::future::join_all;

use crate::environment::Environment;

const AT_A_TIME: usize = 6;
/// Maximum number of workloads tried; each takes some seconds.
const TRIES: usize = 90;

#[derive(Debug)]
pub struct Shrunk {
    /// The smallest workload with the same failure.
    pub plan: Plan,
    pub tries: usize,
}

/// Shrinks a workload that failed on a target, until nothing smaller fails or enough were tried. The cases
/// are named after `name`.
pub async fn shrink(
    environment: &Environment,
    target: Target,
    name: &str,
    plan: Plan,
    failed: &CaseResult,
) -> Shrunk {
    let wanted = faults(failed);
    let (mut now, mut tries) = (plan, 0);
    'smaller: loop {
        for batch in now.smaller().chunks(AT_A_TIME) {
            if tries >= TRIES || environment.interruption().is_requested() {
                break 'smaller;
            }
            let first = tries;
            tries += batch.len();
            let runs = batch.iter().zip(first..).map(|(plan, number)| {
                environment.execute(plan.case(&format!("{name}-smaller-{number}")), target)
            });
            let results = join_all(runs).await;
            let mut alike =
                batch.iter().zip(&results).filter(|(_, result)| !wanted.is_disjoint(&faults(result)));
            if let Some((plan, _)) = alike.next() {
                now = plan.clone();
                continue 'smaller;
            }
        }
        break;
    }
    Shrunk { plan: now, tries }
}

/// What failed: the clauses, and the codes of their violations.
fn faults(result: &CaseResult) -> BTreeSet<(&str, Option<&Code>)> {
    let failed = result.clauses.iter().filter(|judgement| judgement.outcome.verdict == Verdict::Fail);
    failed
        .map(|judgement| {
            (judgement.clause.as_str(), judgement.violations.first().map(|violation| &violation.code))
        })
        .collect()
}
