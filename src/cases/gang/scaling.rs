//! Three PodCliqueSets are scaled at the same time, and back: a clique 2 -> 3, a scaling group 1 -> 3 (scaled
//! PodGangs of 3 pods), and a PodCliqueSet 1 -> 2.
//!
//! The case waits for an idle operator before the first round only. Late writes of the first round concern
//! the objects that the second round scales, so they do not count as violations in the second round.

use conformance_check::{pods, scaling};
use conformance_expect::scaling::gangs;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Scaling a clique, scaling group or PodCliqueSet changes only the objects concerned")
        .clauses(&[GANG_10, GANG_24, GANG_05])
        .nodes(&[nodes(1)]);

const SET: &str = "scaled";
const SETS: [&str; 3] = [SET, "grouped", "whole"];

type Scaling = ((&'static str, &'static str), u32);

const BEFORE: [Scaling; 2] =
    [(("PodClique", "whole-0-router"), 3), (("PodCliqueScalingGroup", "whole-0-model"), 2)];
const ROUNDS: [[Scaling; 3]; 2] = [
    [
        (("PodClique", "scaled-0-router"), 3),
        (("PodCliqueScalingGroup", "grouped-0-model"), 3),
        (("PodCliqueSet", "whole"), 2),
    ],
    [
        (("PodClique", "scaled-0-router"), 2),
        (("PodCliqueScalingGroup", "grouped-0-model"), 1),
        (("PodCliqueSet", "whole"), 1),
    ],
];

marks! {
    /// A round starts. The operator has finished its work on all objects that the round does not scale.
    ROUND = "round";
    FOLLOWED = "followed";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in SETS {
        let mut pcs = test.manifest(SET)?;
        pcs["metadata"]["name"] = set.into();
        test.submit_value(pcs).await?;
    }
    until_all_converged(test).await?;
    scale(test, &BEFORE).await?;
    until_all_converged(test).await?;
    test.wait_until_idle().await?;
    for round in ROUNDS {
        test.mark(ROUND, Value::Null);
        scale(test, &round).await?;
        until_all_converged(test).await?;
        test.mark(FOLLOWED, Value::Null);
    }
    Ok(())
}

async fn scale(test: &TestContext, scalings: &[Scaling]) -> Result<(), Stop> {
    for ((kind, name), replicas) in scalings {
        test.scale(kind, name, *replicas).await?;
    }
    Ok(())
}

async fn until_all_converged(test: &TestContext) -> Result<(), Stop> {
    test.until_all_converged(&SETS).await?;
    for set in SETS {
        test.until_resources_match(set).await?;
    }
    Ok(())
}

fn in_each_round(history: &History, rule: impl Fn(usize, usize) -> Ruling) -> Ruling {
    let mut rounds = history.marks(ROUND).map(|(start, _)| start);
    let mut ends = history.marks(FOLLOWED).map(|(end, _)| end);
    for number in 1..=ROUNDS.len() {
        let Some(start) = rounds.next() else {
            return Err(Broken::NotReached(format!("round {number} did not start")));
        };
        let end = ends.next();
        rule(start, end.unwrap_or(history.entries.len()))?;
        if end.is_none() {
            let reason = format!("the PodCliqueSets did not converge after round {number}");
            return Err(Broken::NotReached(reason));
        }
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(GANG_10, || in_each_round(history, |_, end| scaling::all_followed(history, &SETS, end))),
        finding(GANG_24, || {
            in_each_round(history, |start, end| scaling::untouched_by_all(history, &SETS, start, end))
        }),
        finding(GANG_05, || {
            history.at(FOLLOWED, |grown| {
                let mut all = Vec::new();
                for set in SETS {
                    all.extend(gangs(history, history.submitted(set)?, grown));
                }
                pods::created_as_specified(&history.upto(grown), SET, &all)
            })
        }),
    ]
}
