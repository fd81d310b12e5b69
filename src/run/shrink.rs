use std::collections::BTreeSet;

use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_contract::violation::Code;
use conformance_fuzz::GeneratedWorkload;
use conformance_report::CaseResult;
use futures::future::join_all;

use crate::environment::Environment;

const BATCH: usize = 6;
/// The maximum number of workloads to try. Each try takes some seconds.
const TRIES: usize = 90;

#[derive(Debug)]
pub struct Shrunk {
    pub workload: GeneratedWorkload,
    pub tries: usize,
}

/// Looks for a smaller workload with the same failure, up to `TRIES` times. Ids start with `name`.
pub async fn shrink(
    environment: &Environment,
    target: Target,
    name: &str,
    workload: GeneratedWorkload,
    failed: &CaseResult,
) -> Shrunk {
    let wanted = failures(failed);
    let (mut smallest, mut tries) = (workload, 0);
    'smaller: loop {
        for batch in smallest.smaller().chunks(BATCH) {
            if tries >= TRIES || environment.interruption().is_requested() {
                break 'smaller;
            }
            let first = tries;
            tries += batch.len();
            let runs = batch.iter().zip(first..).map(|(workload, number)| {
                environment.execute(workload.case(&format!("{name}-smaller-{number}")), target)
            });
            let results = join_all(runs).await;
            let mut failing_alike =
                batch.iter().zip(&results).filter(|(_, result)| !wanted.is_disjoint(&failures(result)));
            if let Some((workload, _)) = failing_alike.next() {
                smallest = workload.clone();
                continue 'smaller;
            }
        }
        break;
    }
    Shrunk { workload: smallest, tries }
}

fn failures(result: &CaseResult) -> BTreeSet<(&str, Option<&Code>)> {
    let failed = result.clauses.iter().filter(|judgement| judgement.outcome.verdict == Verdict::Fail);
    failed
        .map(|judgement| {
            (judgement.clause.as_str(), judgement.violations.first().map(|violation| &violation.code))
        })
        .collect()
}
