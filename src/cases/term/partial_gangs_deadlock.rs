//! Rack `left` has one node x 8 GPUs; rack `right` has 2 nodes x 8 GPUs, which join one by one. One gang has
//! 1 pod in `left` and 2 pods in `right`, the other has a pod in each rack. Each gang is partially bound and
//! needs the node that the other gang holds. Neither gang is breached. The termination delay is 20 s, so that
//! both gangs are partially bound even on a busy machine.

use conformance_driver::limits::RETRIES;
use conformance_facts::binding::bound_pods;

use crate::prelude::*;

marks! {
    HALVES = "two half gangs";
    ONE = "one of them whole";
    BOTH = "both whole";
}

const SETS: [&str; 2] = ["half-trio", "half-pair"];

pub(crate) const CASE: Case =
    case!("Of two partially bound gangs that block each other, one releases its capacity")
        .clauses(&[TERM_17])
        .nodes(&[
            nodes(1).gpus(8).rack("left"),
            nodes(1).gpus(8).rack("right").joining(1),
            nodes(1).gpus(8).rack("right").joining(2),
            nodes(1).gpus(8).rack("left").joining(3),
            nodes(2).gpus(8).rack("right").joining(3),
        ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    submit(test, SETS[0]).await?;
    until_bound(test, "half-trio-0-left", 1).await?;
    submit(test, SETS[1]).await?;
    test.add_nodes(1).await?;
    until_bound(test, "half-pair-0-right", 1).await?;
    test.add_nodes(2).await?;
    test.mark(HALVES, Value::Null);
    let one = Awaited::demanded_by(TERM_17, "one of the two gangs bound whole");
    test.until(one, RETRIES, |live| SETS.iter().any(|set| is_whole(live, set))).await?;
    test.mark(ONE, Value::Null);
    test.add_nodes(3).await?;
    let both = Awaited::demanded_by(TERM_17, "both gangs bound whole");
    test.until(both, RETRIES, |live| SETS.iter().all(|set| is_whole(live, set))).await?;
    test.mark(BOTH, Value::Null);
    Ok(())
}

async fn submit(test: &mut TestContext, name: &str) -> Result<(), Stop> {
    let mut pcs = test.manifest(name)?;
    for index in 0..2 {
        let clique = &mut pcs["spec"]["template"]["cliques"][index];
        let rack = test.domain(clique["name"].as_str().unwrap_or_default());
        clique["spec"]["podSpec"]["nodeSelector"][RACK] = json!(rack);
    }
    test.submit_value(pcs).await.map(drop)
}

async fn until_bound(test: &TestContext, clique: &str, count: usize) -> Result<(), Stop> {
    let bound = Awaited::demanded_by(AON_01, format!("{count} pods of PodClique {clique} bound"));
    test.until(bound, SCHEDULING, |live| bound_pods(live, clique) == count).await
}

fn is_whole(live: &Live, set: &str) -> bool {
    let right = if set == SETS[0] { 2 } else { 1 };
    bound_pods(live, &format!("{set}-0-left")) == 1 && bound_pods(live, &format!("{set}-0-right")) == right
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_17, || {
        let (halves, _) = history.reached(HALVES)?;
        let before = history.before(halves);
        if SETS.iter().any(|set| is_whole(&before, set)) {
            return Err(Broken::NotReached("the gangs did not block each other".into()));
        }
        let one = history.waited_for(ONE)?;
        let units = SETS.map(|set| history.units(set));
        let [trio, pair] = units;
        let (trio, pair) = (trio?, pair?);
        let live = history.before(one);
        binding::whole(&live, &trio).or_else(|_| binding::whole(&live, &pair))?;
        history.at(BOTH, |both| binding::whole(&history.before(both), &[trio, pair].concat()))
    })]
}
