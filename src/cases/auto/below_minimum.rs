//! 1 node; a clique of 3 pods (minimum 2), a scaling group of 3 replicas (minimum 2), and a second clique. If
//! the target declares ScaleToZero, 0 replicas mean idle and are not below the minimum (AUTO-06).

use conformance_history::condition;

use crate::prelude::*;

marks! {
    TRIED = "tried to scale below the minimum";
    SEEN = "outcome of the scaling seen";
}

const SET: &str = "minimum";
const TARGETS: [(&str, &str); 2] =
    [("PodClique", "minimum-0-front"), ("PodCliqueScalingGroup", "minimum-0-pool")];

fn too_few(target: Target) -> &'static [u32] {
    if target.declares(Feature::ScaleToZero) { &[1] } else { &[1, 0] }
}

pub(crate) const CASE: Case =
    case!("Scaling below the minimum is refused, or accepted and reported; other replicas keep running")
        .clauses(&[AUTO_05])
        .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    for (kind, name) in TARGETS {
        let attempts =
            too_few(test.target).iter().flat_map(|replicas| [(*replicas, "scale"), (*replicas, "")]);
        for (replicas, by) in attempts {
            let accepted = test.try_to_scale(TRIED, (kind, name), replicas, by).await?;
            if accepted {
                let awaited = Awaited::demanded_by(AUTO_05, format!("{name} reported as breached"));
                test.until(awaited, REACTION, |live| {
                    let breached =
                        live.get(kind, name).and_then(|found| condition(found, "MinAvailableBreached"));
                    breached.is_some_and(|breached| breached["status"] == "True")
                })
                .await?;
                test.canaries().await?;
            }
            test.caught_up().await?;
            test.mark(SEEN, Value::Null);
            if accepted {
                test.scale(kind, name, 3).await?;
                test.until_converged(SET).await?;
            }
        }
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AUTO_05, || {
        for (index, mark) in history.marks(TRIED) {
            let seen = history.marks(SEEN).map(|(seen, _)| seen).find(|seen| *seen > index);
            let until = match seen {
                Some(seen) => seen,
                None => {
                    history.marks(SharedMark::WaitTimedOut).last().map_or(history.entries.len(), |(at, _)| at)
                }
            };
            scaled::below_the_minimum(history, index, mark, until)?;
        }
        let attempts = TARGETS.len() * too_few(history.header.target).len() * 2;
        match history.marks(SEEN).count() {
            seen if seen == attempts => Ok(()),
            seen => Err(Broken::NotReached(format!("the case made {seen} of {attempts} attempts to scale"))),
        }
    })]
}
