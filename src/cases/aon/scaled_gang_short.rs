//! 6 nodes x 8 GPUs; a base gang of 1 leader and 2 workers and two scaled gangs of 2 workers, each pod x 8
//! GPUs: room for the base and one and a half scaled gangs. With one more node, the second scaled gang fits.

use crate::prelude::*;

marks! { BASE_BOUND = "base bound"; }

pub(crate) const CASE: Case =
    case!("A scaled gang without room is not bound, and its base gang keeps running")
        .clauses(&[AON_07])
        .nodes(&[nodes(6).gpus(8), nodes(1).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit("serving").await?;
    test.until_bound(3).await?;
    test.mark(BASE_BOUND, Value::Null);
    for gang in gangs.iter().filter(|gang| !gang.is_base) {
        test.until_released(gang).await?;
    }
    test.until_bound(5).await?;
    test.canaries().await?;
    test.add_nodes(1).await?;
    test.until_bound(7).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_07, || {
        let gangs = history.gangs("serving")?;
        let scaled: Vec<_> =
            gangs.iter().filter(|gang| !gang.is_base).map(|gang| gang.units(history.header.target)).collect();
        let (base_bound, _) = history.reached(BASE_BOUND)?;
        binding::others_untouched(history, base_bound, &[])?;
        let (barrier, _) = history.reached(SharedMark::SchedulerPassed)?;
        binding::some_whole_others_never(history, &scaled, 1, Some(barrier))?;
        binding::all(&history.end(), &gangs)
    })]
}
