//! 1 node without GPUs. A base gang of a leader x 8 GPUs, which fits nowhere, and 2 workers without GPUs. A
//! scaled gang of 2 workers, which would fit. With a node x 8 GPUs, the base fits and the scaled gang may be
//! bound. On simulated nodes the containers do not start, so the base is bound but never Ready.

use conformance_expect::Unit;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A scaled gang that fits is not bound while its base gang waits")
    .clauses(&[AON_06, AON_16])
    .nodes(&[nodes(1), nodes(1).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit("grown").await?;
    let created = Awaited::demanded_by(GANG_03, "the pods of the scaled gang");
    test.until(created, REACTION, |live| live.pods().count() == 5).await?;
    for base in gangs.iter().filter(|gang| gang.is_base) {
        test.scheduler_passes_over(base).await?;
    }
    test.add_nodes(1).await?;
    test.until_bound(5).await
}

fn check(history: &History) -> Vec<Finding> {
    let units = |is_base: bool| -> Result<Vec<Unit>, Broken> {
        let gangs = history.gangs("grown")?;
        let meant = gangs.iter().filter(|gang| gang.is_base == is_base);
        Ok(meant.flat_map(|gang| gang.units(history.header.target)).collect())
    };
    vec![
        finding(AON_06, || {
            // The base gang fits only once the node joins, which never happens if the case stopped early.
            let barrier = history.marks(SharedMark::SchedulerPassed).next().map(|(place, _)| place);
            let never = binding::never(history, &units(false)?, barrier);
            all([never, binding::base_first(history, &history.gangs("grown")?), scheduler_passed(history)])
        }),
        finding(AON_16, || {
            scheduler_passed(history)?;
            let end = history.end();
            // If the base gang stays unbound, its scaled gangs must wait, so nothing is decided.
            precondition(AON_03, binding::whole(&end, &units(true)?))?;
            binding::all(&end, &history.gangs("grown")?)
        }),
    ]
}
