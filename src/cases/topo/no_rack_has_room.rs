//! 2 racks of 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that requires one rack: 4 nodes have room, but no
//! rack has more than 2 nodes. The same gang without the constraint, on the same nodes, is the control.

use conformance_driver::pending::Retry;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang that fits the cluster but no rack waits if it requires one")
    .clauses(&[TOPO_02, TOPO_04, KUBE_11])
    .nodes(&[nodes(2).gpus(8).rack("a"), nodes(2).gpus(8).rack("b")]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("constrained").await? {
        test.scheduler_passes_over(&gang).await?;
        test.retry_pending_gang(&gang, &[Retry::PodReplaced, Retry::AnotherGang]).await?;
    }
    test.submit("unconstrained").await?;
    test.until("the control bound", limits::SCHEDULING, |live| live.bound_pods_of_set("unconstrained") == 3)
        .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TOPO_02, || {
            all([binding::never(history, &history.units("constrained")?, None), scheduler_passed(history)])
        }),
        finding(TOPO_04, || {
            // A constrained gang that is bound occupies the control's nodes.
            precondition(TOPO_02, binding::never(history, &history.units("constrained")?, None))?;
            binding::whole(&history.end(), &history.units("unconstrained")?)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(constrained: usize, control: usize) -> [Ruling; 2] {
        let sets = [one_clique("constrained", 3), one_clique("unconstrained", 3)];
        let sent = sets.into_iter().fold(Story::flat(), Story::submitted);
        let passed =
            sent.workers("constrained", 3, constrained).mark(SharedMark::SchedulerPassed, Value::Null);
        let mut found = check(&passed.workers("unconstrained", 3, control).end()).into_iter();
        [(); 2].map(|()| found.next().expect("two findings").ruling)
    }

    #[test]
    fn an_unbound_control_breaks_one_clause_only() {
        assert_eq!(rulings(0, 3), [Ok(()), Ok(())]);
        let [kept, broken] = rulings(0, 1);
        assert_eq!(kept, Ok(()));
        assert!(matches!(broken, Err(Broken::Violated(_))));
    }

    #[test]
    fn a_bound_constrained_gang_breaks_the_precondition_of_the_control() {
        let [broken, control] = rulings(3, 1);
        assert!(matches!(broken, Err(Broken::Violated(_))));
        assert!(matches!(control, Err(Broken::Precondition { clause: "TOPO-02", .. })));
    }
}
