//! 4 nodes x 8 GPUs; two gangs of 2 pods x 8 GPUs in a queue with a limit of 24 GPUs. The nodes have room for
//! both gangs, the queue for one gang and one pod of the other. Then the first gang is deleted.

use crate::prelude::*;

marks! {
    PASSED = "the scheduler has tried the second gang";
    BOUND = "the second gang is bound";
}

const FIRST: &str = "limited-first";
const LATER: &str = "limited-later";
const PODS: usize = 2;
const GPUS: u32 = 24;

pub(crate) const CASE: Case =
    case!("A queue with room for a part of a gang lets no pod of it start", restored)
        .clauses(&[AON_21])
        .nodes(&[nodes(4).gpus(8)])
        .isolation(Isolation::Dedicated);

const OPEN: &[Attempt] = &[admitted("a PodCliqueSet in the limited queue", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let queue = test.domain("limited");
    test.create_limited_queue(&queue, GPUS).await?;
    let first = in_queue(test, FIRST, &queue)?;
    test.retry_creates_until(&first, OPEN, REACTION).await?;
    test.submit_value(first).await?;
    test.until_bound(PODS).await?;
    let later = in_queue(test, LATER, &queue)?;
    for gang in test.submit_value(later).await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.mark(PASSED, Value::Null);
    test.delete("PodCliqueSet", FIRST).await?;
    let bound = Awaited::demanded_by(AON_21, "the second gang bound once the queue has room");
    test.until(bound, SCHEDULING, |live| live.bound_pods_of_set(LATER) == PODS).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn in_queue(test: &TestContext, name: &str, queue: &str) -> Result<Value, Stop> {
    let mut pcs = test.manifest(name)?;
    schedulers::of(test.target).enqueue(&mut pcs, queue);
    Ok(pcs)
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(AON_21, || {
        let later = history.units(LATER)?;
        binding::never_until(history, &later, PASSED)?;
        history.at(BOUND, |place| binding::whole(&history.before(place), &later))
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::afterwards(0, 2, &[])]
    #[case::in_part_before(1, 2, &["bound-in-part"])]
    #[case::in_part_afterwards(0, 1, &["not-bound-whole"])]
    fn the_second_gang_is_bound_whole_once_the_queue_has_room(
        #[case] before: usize,
        #[case] after: usize,
        #[case] wanted: &[&str],
    ) {
        let sets = [one_clique(FIRST, PODS), one_clique(LATER, PODS)];
        let sent = sets.into_iter().fold(Story::on(Target::VOLCANO), Story::submitted);
        let waits = sent.workers(FIRST, PODS, PODS).workers(LATER, PODS, before);
        let then = waits.mark(PASSED, Value::Null).workers(LATER, 0, after).mark(BOUND, Value::Null);
        assert_eq!(codes(check(&then.end()).remove(0).ruling), wanted);
    }
}
