//! 1 node x 8 GPUs; a gang of a pod x 8 GPUs and a pod x 9 GPUs, which fits nowhere until a node x 16 GPUs
//! joins. Before that, its delay of 6 s expires four times, and it must release its node at least twice.

use conformance_driver::limits::RETRIES;

use super::{is_bound, releases_capacity, replica};
use crate::prelude::*;

marks! {
    WAITED = "the delay has expired several times";
    WHOLE = "whole at last";
}

const SET: &str = "lopsided";
const CLIQUES: [&str; 2] = ["lopsided-0-narrow", "lopsided-0-wide"];
/// Seconds, as in the manifest.
const DELAY: u32 = 6;

pub(crate) const CASE: Case =
    case!("A partially bound gang releases its capacity once per terminationDelay until it fits")
        .clauses(&[TERM_17])
        .nodes(&[nodes(1).gpus(8), nodes(1).gpus(16).joining(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let clock = test.start_clock(&format!("{DELAY}s")).await?;
    test.submit(SET).await?;
    let narrow = Awaited::demanded_by(AON_01, "the pod that fits bound");
    test.until(narrow, SCHEDULING, |live| is_bound(live, CLIQUES[0])).await?;
    test.run_clock(&clock, 4, WAITED).await?;
    test.add_nodes(1).await?;
    let whole = Awaited::demanded_by(AON_03, "both pods bound");
    test.until(whole, RETRIES, |live| CLIQUES.iter().all(|clique| is_bound(live, clique))).await?;
    test.mark(WHOLE, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_17, || {
        let waited = history.waited_for(WAITED)?;
        let replica = replica(history, SET, 0)?;
        releases_capacity(history, &replica.scope(), waited, 2, DELAY)?;
        termination::recreated(history, &replica, &replica.scope())?;
        history.reached(WHOLE).map(drop)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::Story;

    use super::super::tests::pod_of;
    use super::*;

    fn pods(generation: usize, node: Option<&str>) -> [Value; 2] {
        let [narrow, wide] = CLIQUES.map(|clique| (clique, format!("{clique}-{generation}")));
        [pod_of(SET, narrow.0, &narrow.1, node), pod_of(SET, wide.0, &wide.1, None)]
    }

    /// The gang is terminated this often, each time when it was bound in part for these seconds.
    fn ruling(times: usize, seconds: i64) -> Ruling {
        let pcs = grove_yaml::documents(crate::manifest("term/partial-gang-releases-capacity"));
        let submitted = Story::flat().submitted(pcs.unwrap().remove(0));
        let bound = |story: Story, generation| {
            let [narrow, _] = pods(generation, Some("n"));
            story.all_added(pods(generation, None)).modified(narrow)
        };
        let story = (0..times).fold(bound(submitted, 0), |story, generation| {
            let deleted = pods(generation, Some("n")).into_iter().fold(story.later(seconds), Story::deleted);
            bound(deleted, generation + 1)
        });
        check(&story.mark(WAITED, Value::Null).mark(WHOLE, Value::Null).end()).remove(0).ruling
    }

    #[rstest::rstest]
    #[case::once_per_delay(2, 6, &[])]
    #[case::only_once(1, 6, &["capacity-not-released"])]
    #[case::early(2, 3, &["gang-with-bound-pods-terminated-early"])]
    fn a_gang_that_is_bound_in_part_is_terminated_once_per_delay(
        #[case] times: usize,
        #[case] seconds: i64,
        #[case] wanted: &[&str],
    ) {
        assert_eq!(codes(ruling(times, seconds)), wanted);
    }
}
