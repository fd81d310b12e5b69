//! 4 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs runs, and a second one waits. The case kills and restarts the
//! scheduler, which still has no room for the second gang. With 2 more nodes, it is bound whole.

use crate::prelude::*;

marks! {
    pub(super) KILLED = "scheduler killed";
    pub(super) NEXT_PASSED = "the next scheduler has passed";
}

pub(crate) const CASE: Case =
    case!("A restarted scheduler binds a pending gang only when the whole gang fits", restored)
        .clauses(&[AON_12])
        .nodes(&[nodes(4).gpus(8), nodes(2).gpus(8).joining(1)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    restart(test, 3, 3).await
}

/// `running` and `waiting` are the pod counts of the PodCliqueSets with these names.
pub(super) async fn restart(test: &mut TestContext, running: usize, waiting: usize) -> Result<(), Stop> {
    test.submit("running").await?;
    test.until_bound(running).await?;
    for gang in test.submit("waiting").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.kill_scheduler().await?;
    test.mark(KILLED, Value::Null);
    test.start_scheduler().await?;
    // The new scheduler may list the first canaries together with the pending gang. The barrier needs
    // canaries that arrive after the gang, so the case creates more.
    test.canaries().await?;
    test.canaries().await?;
    test.mark(NEXT_PASSED, Value::Null);
    test.add_nodes(1).await?;
    test.until_bound(running + waiting).await
}

pub(super) fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_12, || {
        let (running, waiting) = (history.units("running")?, history.units("waiting")?);
        let (killed, _) = history.reached(KILLED)?;
        precondition(AON_01, binding::whole(&history.before(killed), &running))?;
        precondition(AON_02, binding::never(history, &waiting, Some(killed)))?;
        let passed = history.marks(NEXT_PASSED).next().map(|(place, _)| place);
        binding::never(history, &waiting, passed)?;
        history.reached(NEXT_PASSED)?;
        binding::whole(&history.end(), &waiting)
    })]
}
