//! 1 node; a clique and a scaling group of 1 replica each. Then the template's replicas of both change to 2.

use conformance_driver::admission_attempts::{clique, group};

use crate::prelude::*;

marks! { SECOND = "second replica created"; }

const SET: &str = "resized";

pub(crate) const CASE: Case = case!("Changed replicas in a template apply only to new PodCliqueSet replicas")
    .clauses(&[AUTO_10, AUTO_17])
    .nodes(&[nodes(1)]);

const CHANGES: &[Attempt] = &[
    admitted("two replicas of a clique", |pcs| clique(pcs, 0)["spec"]["replicas"] = 2.into())
        .with_warning(&["replicas"]),
    admitted("two replicas of a scaling group", |pcs| group(pcs, 0)["replicas"] = 2.into())
        .with_warning(&["replicas"]),
];

const SCALED_OBJECTS: [(&str, &str); 2] = [("PodClique", "front"), ("PodCliqueScalingGroup", "pool")];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    test.attempt_updates(SET, CHANGES).await?;
    test.scale("PodCliqueSet", SET, 2).await?;
    // The PodCliques of the second replica show that the operator has reconciled the change.
    let awaited = Awaited::demanded_by(GANG_10, "the second replica's cliques");
    test.until(awaited, REACTION, |live| {
        ["resized-1-front", "resized-1-pool-0-worker"]
            .iter()
            .all(|name| live.get("PodClique", name).is_some())
    })
    .await?;
    test.caught_up().await?;
    test.mark(SECOND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AUTO_10, || {
            // AUTO-17 checks the warning.
            answers(history, &CHANGES.iter().map(|change| change.answer_only()).collect::<Vec<_>>())?;
            history.at(SECOND, |place| {
                let live = history.before(place);
                let rulings = SCALED_OBJECTS.into_iter().flat_map(|(kind, name)| {
                    let live = &live;
                    [(0, 1), (1, 2)].into_iter().map(move |(index, replicas)| {
                        scaled::requests_replicas(live, kind, &format!("{SET}-{index}-{name}"), replicas)
                    })
                });
                all(rulings)
            })
        }),
        finding(AUTO_17, || {
            answers(history, &CHANGES.iter().map(|change| change.words_only()).collect::<Vec<_>>())
        }),
    ]
}
