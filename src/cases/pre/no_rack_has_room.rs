//! 2 racks of 2 nodes x 8 GPUs. In each rack, a low gang of 2 pods x 8 GPUs. Every gang requires a rack.
//! A high gang of 3 pods x 8 GPUs is one node short even in an empty rack, although the scheduler could clear
//! all 4 nodes. A high gang of 2 pods x 8 GPUs is bound in place of one low gang.

use conformance_check::preemption::{EVICTED_WITHOUT_DOMAIN, share_domain};

use super::{HIGH, LOW, begin, submit, submit_and_bind, submit_and_wait, victim};
use crate::prelude::*;

marks! {
    RUNNING = "a low gang runs in each rack";
    WAITED = "the gang that fits no rack has waited";
    BOUND = "the gang that fits a rack is bound";
}

const VICTIMS: [&str; 2] = ["first", "second"];
const PREEMPTOR: &str = "fitting";

pub(crate) const CASE: Case =
    case!("Nobody is evicted for a gang that fits no rack, and otherwise only in its rack", restored)
        .clauses(&[PRE_04, PRE_05])
        .nodes(&[nodes(2).gpus(8).rack("a"), nodes(2).gpus(8).rack("b")])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    begin(test).await?;
    for set in VICTIMS {
        submit(test, set, &LOW).await?;
    }
    test.until_all_converged(&VICTIMS).await?;
    test.mark(RUNNING, Value::Null);
    submit_and_wait(test, "too-large", &HIGH).await?;
    test.mark(WAITED, Value::Null);
    test.remove_set("too-large").await?;
    submit_and_bind(test, PREEMPTOR, &HIGH).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(PRE_04, || {
            for set in VICTIMS {
                let running = victim(history, set, RUNNING)?;
                history.at(WAITED, |waited| running.stays(waited, &EVICTED_WITHOUT_DOMAIN))?;
            }
            // The eviction for the gang that fits proves that this scheduler preempts.
            history.reached(BOUND).map(drop)
        }),
        finding(PRE_05, || {
            let [first, second] = VICTIMS;
            let victims = [victim(history, first, WAITED)?, victim(history, second, WAITED)?];
            let units = history.units(PREEMPTOR)?;
            let (bound, _) = history.reached(BOUND)?;
            let preemptor = history.base(PREEMPTOR)?.name;
            precondition(TOPO_01, placement::gang_in_one_domain(history, &preemptor, RACK))?;
            share_domain(history, &victims, &units, RACK, bound)
        }),
    ]
}
