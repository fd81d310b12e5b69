//! 2 nodes x 8 GPUs; four gangs, each of two cliques of one pod. In each gang, one pod fits. The other pod,
//! of the first or the second clique, requests 9 GPUs or 1000 CPUs.

use conformance_check::lifecycle::reasons::{self, Why};

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A pending gang reports the resource that its unschedulable pod lacks")
    .clauses(&[STAT_16])
    .nodes(&[nodes(2).gpus(8)]);

/// The names of a resource in messages: first by kube-scheduler's framework, then by KAI for full nodes, and
/// by KAI for nodes that are too small.
const GPUS: Why = Why::Lack(&["nvidia.com/gpu", "GPUs", "Max GPU resources available"]);
const CPUS: Why = Why::Lack(&["cpu", "CPU cores", "Max CPU resources available"]);

const SETS: [(&str, Why); 4] =
    [("gpus-first", GPUS), ("gpus-second", GPUS), ("cpus-first", CPUS), ("cpus-second", CPUS)];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (set, _) in SETS {
        for gang in test.submit(set).await? {
            test.until_released(&gang).await?;
        }
    }
    let history = test.history();
    let gangs = SETS.iter().flat_map(|(set, why)| {
        history.gangs(set).unwrap_or_default().into_iter().map(move |gang| (gang, why))
    });
    let gangs: Vec<_> = gangs.collect();
    let reported = Awaited::demanded_by(STAT_16, "the missing resource reported for each gang");
    test.until(reported, REACTION, |live| {
        gangs.iter().all(|(gang, why)| reasons::is_reported(live, &history, gang, why))
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(STAT_16, || {
        all(SETS.iter().map(|(set, why)| {
            let gangs = history.gangs(set)?;
            let gang =
                gangs.first().ok_or_else(|| Broken::NotReached("the PodCliqueSet has no gang".into()))?;
            reasons::reason_reported(history, gang, why)
        }))
    })]
}
