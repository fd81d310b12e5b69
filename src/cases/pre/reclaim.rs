//! 3 nodes x 8 GPUs. The shares of three queues are 8, 8 and 0 GPUs. A gang of 1 pod x 8 GPUs runs in the
//! second, and one of 2 pods x 8 GPUs in the third, in borrowed capacity. 1 pod x 8 GPUs arrives in the
//! first, within its share, and then 2 pods x 8 GPUs, which exceed it.

use conformance_check::preemption::EVICTED_WITHIN_SHARE;
use conformance_facts::invariant::Invariant;

use super::{submit_value, until_whole, victim};
use crate::prelude::*;

marks! {
    ARRIVED = "a gang of the queue below its share arrives";
    BOUND = "the gang of the queue below its share is bound";
    PASSED = "the scheduler has tried the gang that exceeds the share";
}

/// The queues and their shares in GPUs.
const QUEUES: [(&str, u32); 3] = [("lender", 8), ("content", 8), ("borrower", 0)];
const LENDER: &str = "regaining";
const CONTENT: &str = "within-share";
const BORROWER: &str = "borrowing";

pub(crate) const CASE: Case =
    case!("A queue regains its share in complete gangs, and one within its share loses nothing", restored)
        .clauses(&[PRE_14, PRE_15])
        .nodes(&[nodes(3).gpus(8)])
        .isolation(Isolation::Dedicated)
        .breaks(&[(
            Invariant::NotEvictedForEquals,
            "a queue regains its share from gangs of equal priority in another queue",
        )]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.enable_reclaim().await?;
    for (queue, gpus) in QUEUES {
        test.create_queue_with_share(&test.domain(queue), gpus).await?;
    }
    submit_to(test, CONTENT, "content").await?;
    submit_to(test, BORROWER, "borrower").await?;
    test.until_all_converged(&[CONTENT, BORROWER]).await?;
    test.mark(ARRIVED, Value::Null);
    let lender = submit_to(test, LENDER, "lender").await?;
    let bound = Awaited::demanded_by(PRE_14, "the gang of the queue below its share bound");
    until_whole(test, bound, &lender).await?;
    test.mark(BOUND, Value::Null);
    let exceeding = submit_to(test, "exceeding", "lender").await?;
    test.scheduler_passes_over(&exceeding).await?;
    test.mark(PASSED, Value::Null);
    Ok(())
}

async fn submit_to(test: &mut TestContext, set: &str, queue: &str) -> Result<Gang, Stop> {
    let mut pcs = test.manifest(set)?;
    schedulers::of(test.target).enqueue(&mut pcs, &test.domain(queue));
    submit_value(test, set, pcs).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(PRE_14, || {
            let borrower = victim(history, BORROWER, ARRIVED)?;
            let units = history.units(LENDER)?;
            history.at(BOUND, |bound| binding::whole(&history.before(bound), &units))?;
            history.at(PASSED, |passed| borrower.is_not_in_part(passed))
        }),
        finding(PRE_15, || {
            let content = victim(history, CONTENT, ARRIVED)?;
            history.at(PASSED, |passed| content.stays(passed, &EVICTED_WITHIN_SHARE))?;
            // The eviction of the borrower proves that this scheduler reclaims.
            history.reached(BOUND).map(drop)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived() -> Story {
        let sets = [(CONTENT, 1), (BORROWER, 2), (LENDER, 1)];
        let story = sets
            .iter()
            .fold(Story::on(Target::KAI), |story, (set, pods)| story.submitted(one_clique(set, *pods)));
        story.workers(CONTENT, 1, 1).workers(BORROWER, 2, 2).mark(ARRIVED, Value::Null)
    }

    fn evicted(story: Story, pods: usize) -> Story {
        (0..pods).fold(story, |story, index| story.deleted(worker(BORROWER, index, Some("n"))))
    }

    #[rstest]
    #[case::whole(evicted(arrived(), 2).workers(LENDER, 1, 1), [true, true])]
    #[case::in_part(evicted(arrived(), 1).workers(LENDER, 1, 1), [false, true])]
    #[case::not_regained(arrived().workers(LENDER, 1, 0), [false, true])]
    #[case::from_the_other_queue(
        arrived().deleted(worker(CONTENT, 0, Some("n"))).workers(LENDER, 1, 1),
        [true, false]
    )]
    fn a_share_is_regained_from_the_borrower_alone(#[case] story: Story, #[case] wanted: [bool; 2]) {
        let history = story.mark(BOUND, Value::Null).mark(PASSED, Value::Null).end();
        let satisfied: Vec<_> = check(&history).iter().map(|finding| finding.ruling.is_ok()).collect();
        assert_eq!(satisfied, wanted);
    }
}
