//! 4 nodes x 8 GPUs. The old operator creates four PodCliqueSets:
//! - one that runs;
//! - one that was scaled out (a clique 1 -> 2, a scaling group 1 -> 3);
//! - one that was scaled to zero;
//! - a gang of 5 pods x 8 GPUs, which is one pod short.
//!
//! Then the new operator takes over, and the fifth node joins.

use conformance_check::migration;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("An operator upgrade keeps bound pods and binds no part of a pending gang")
        .clauses(&[MIG_01, MIG_02, MIG_03, MIG_06, MIG_07])
        .nodes(&[nodes(4).gpus(8), nodes(1).gpus(8).joining(1)])
        .needs(&[Need::OperatorUpgrade])
        .isolation(Isolation::Upgrade);

const PENDING: &str = "short";
/// Scaled by the old operator: the PodCliqueSet, the kind and name of the scaled object, and the replicas.
const SCALED: [(&str, &str, &str, u32); 3] = [
    ("grown", "PodClique", "grown-0-router", 2),
    ("grown", "PodCliqueScalingGroup", "grown-0-model", 3),
    ("idle", "PodCliqueSet", "idle", 0),
];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in ["steady", "grown", "idle"] {
        test.submit(set).await?;
        test.until_composed(set).await?;
    }
    for (set, kind, name, replicas) in SCALED {
        test.scale(kind, name, replicas).await?;
        test.until_composed(set).await?;
    }
    test.submit(PENDING).await?;
    test.scheduler_passes_over_set(PENDING).await?;
    test.begin_upgrade().await?;
    test.end_upgrade().await?;
    test.scheduler_passes_over_set(PENDING).await?;
    test.add_nodes(1).await?;
    test.try_until_bound(PENDING).await
}

fn check(history: &History) -> Vec<Finding> {
    let since_upgrade =
        || history.reached(SharedMark::UpgradeStarted).map(|(start, _)| start..history.entries.len());
    vec![
        finding(MIG_01, || {
            migration::untouched(history, since_upgrade()?)?;
            history.reached(SharedMark::UpgradeEnded).map(drop)
        }),
        finding(MIG_06, || {
            let (ended, _) = history.reached(SharedMark::UpgradeEnded)?;
            migration::one_scheme(history, &history.before(ended))
        }),
        finding(MIG_02, || migration::joins_what_exists(history, since_upgrade()?)),
        finding(MIG_03, || {
            migration::pending_throughout(history, since_upgrade()?.start, &history.units(PENDING)?)
        }),
        finding(MIG_07, || {
            migration::bound_after_upgrade(history, since_upgrade()?.start, &history.units(PENDING)?)
        }),
    ]
}
