//! 1 node without GPUs; a base gang of 1 router and 2 workers of a scaling group, and a scaled gang of 2 more
//! workers. On a kubelet, a pod is Ready some time after its binding, and statuses must show the difference.

use conformance_check::kubelets;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("All containers of a bound gang run, and the statuses count them")
    .clauses(&[KLT_01])
    .nodes(&[nodes(1)])
    .needs(&[Need::Kubelets]);

const SET: &str = "alive";

marks! { FOLLOWED = "the statuses followed"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    let shown = |live: &Live| run_and_are_counted(live, &gangs).is_ok();
    test.until("all containers running and counted in the statuses", limits::CONTAINERS, shown).await?;
    test.mark(FOLLOWED, Value::Null);
    Ok(())
}

fn run_and_are_counted(live: &Live, gangs: &[Gang]) -> Ruling {
    kubelets::all_run(live, gangs)?;
    kubelets::statuses_follow(live, SET, gangs)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KLT_01, || {
        history.at(FOLLOWED, |place| {
            let live = history.before(place);
            let gangs = history.gangs(SET)?;
            precondition(AON_01, binding::whole(&live, &history.units(SET)?))?;
            run_and_are_counted(&live, &gangs)?;
            kubelets::ready_count_is_not_early(history, SET, &gangs)
        })
    })]
}
