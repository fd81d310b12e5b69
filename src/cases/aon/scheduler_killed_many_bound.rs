//! 3 nodes x 52 GPUs; a gang of 150 pods x 1 GPU runs, and a gang of 7 pods x 1 GPU waits: one pod short. If
//! the restarted scheduler does not know all 150 pods when it starts to schedule, it finds room for the gang.

use super::scheduler_killed;
use crate::prelude::*;

const RUNNING: usize = 150;
const WAITING: usize = 7;

pub(crate) const CASE: Case = Case::new(
    "A restarted scheduler counts 150 bound pods before it binds a pending gang",
    |test| Box::pin(restored(test, |test| Box::pin(scheduler_killed::restart(test, RUNNING, WAITING)))),
    scheduler_killed::check,
)
.clauses(&[AON_12])
.nodes(&[nodes(3).gpus(52), nodes(1).gpus(52).joining(1)])
.needs(&[Need::SimulatedNodes])
.isolation(Isolation::Dedicated);

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::afterwards(0, &[])]
    #[case::in_part(1, &["bound-in-part"])]
    #[case::whole(7, &["bound-in-part"])]
    fn the_waiting_gang_must_be_bound_after_a_node_joins(#[case] early: usize, #[case] wanted: &[&str]) {
        let sets = [one_clique("running", RUNNING), one_clique("waiting", WAITING)];
        let sent = sets.into_iter().fold(Story::flat(), Story::submitted);
        let waits = sent.workers("running", RUNNING, RUNNING).workers("waiting", WAITING, 0);
        let killed = waits.mark(scheduler_killed::KILLED, Value::Null).workers("waiting", 0, early);
        let passed = killed.mark(scheduler_killed::NEXT_PASSED, Value::Null);
        let history = passed.workers("waiting", 0, WAITING).end();
        assert_eq!(codes(scheduler_killed::check(&history).remove(0).ruling), wanted);
    }
}
