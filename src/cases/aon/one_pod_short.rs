//! 4 nodes x 8 GPUs; one clique of 5 pods x 8 GPUs: one pod short.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A gang one pod short waits, reports why, and is bound with another node")
        .clauses(&[AON_02, AON_03, AON_15])
        .nodes(&[nodes(4).gpus(8), nodes(1).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("short").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.add_nodes(1).await?;
    test.until_bound(5).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AON_02, || all([never_bound(history), scheduler_passed(history)])),
        finding(AON_03, || {
            scheduler_passed(history)?;
            binding::whole(&history.end(), &history.units("short")?)
        }),
        finding(AON_15, || {
            // A partially bound gang violates AON-02 and leaves AON-15 undecided.
            all([precondition(AON_02, never_bound(history)), scheduler_passed(history)])?;
            binding::reports_why_pending(history, &history.gangs("short")?[0])
        }),
    ]
}

/// No pod may be bound before the node joins, which never happens if the case stopped early.
fn never_bound(history: &History) -> Ruling {
    let barrier = history.marks(SharedMark::SchedulerPassed).next().map(|(place, _)| place);
    binding::never(history, &history.units("short")?, barrier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(bound: usize, reports_why_pending: bool) -> [Ruling; 2] {
        let mut story = Story::flat().submitted(one_clique("short", 5)).workers("short", 5, bound);
        if reports_why_pending {
            let mut waiting = worker("short", 4, None);
            waiting["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "no room"}]);
            story = story.modified(waiting);
        }
        let found = check(&story.mark(SharedMark::SchedulerPassed, Value::Null).end());
        ["AON-02", "AON-15"].map(|clause| {
            let of_clause = found.iter().find(|finding| finding.clause == clause);
            of_clause.expect("both clauses are checked").ruling.clone()
        })
    }

    #[test]
    fn a_pending_gang_without_a_reason_breaks_one_clause_only() {
        assert_eq!(rulings(0, true), [Ok(()), Ok(())]);
        let [unbound, silent] = rulings(0, false);
        assert_eq!(unbound, Ok(()));
        assert!(matches!(silent, Err(Broken::Violated(_))), "{silent:?}");
    }

    #[test]
    fn a_partly_bound_gang_breaks_the_precondition_of_the_reason() {
        let [in_part, reason] = rulings(4, false);
        assert!(matches!(in_part, Err(Broken::Violated(_))), "{in_part:?}");
        assert!(matches!(reason, Err(Broken::Precondition { clause: "AON-02", .. })), "{reason:?}");
    }
}
