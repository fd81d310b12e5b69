//! A clique is scaled 2 -> 3, a scaling group 1 -> 3 (two scaled PodGangs of 3 pods), the PodCliqueSet 1 ->
//! 2; then each is scaled back.

use conformance_check::scaling;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Scaling a clique, scaling group or PodCliqueSet changes only the objects concerned")
        .clauses(&[GANG_10, GANG_24])
        .nodes(&[nodes(1)]);

const SET: &str = "scaled";
const CLIQUE: (&str, &str) = ("PodClique", "scaled-0-router");
const GROUP: (&str, &str) = ("PodCliqueScalingGroup", "scaled-0-model");
const WHOLE: (&str, &str) = ("PodCliqueSet", SET);
const STEPS: [((&str, &str), u32); 6] =
    [(CLIQUE, 3), (GROUP, 3), (WHOLE, 2), (WHOLE, 1), (GROUP, 1), (CLIQUE, 2)];

marks! {
    /// After a step, the PodCliqueSet has converged and its gang resources match.
    FOLLOWED = "followed";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    for ((kind, name), replicas) in STEPS {
        test.wait_until_idle().await?;
        test.scale(kind, name, replicas).await?;
        test.until_converged(SET).await?;
        test.until_resources_match(SET).await?;
        test.mark(FOLLOWED, Value::Null);
    }
    Ok(())
}

/// Checks one scaling, from its mark to the state afterwards.
type ScalingRule = fn(&History, &str, usize, usize) -> Ruling;

fn after_each_step(history: &History, rule: ScalingRule) -> Ruling {
    for (number, (scaled, _)) in history.marks(SharedMark::Scaled).enumerate() {
        let followed = history.marks(FOLLOWED).nth(number).map(|(index, _)| index);
        rule(history, SET, scaled, followed.unwrap_or(history.entries.len()))?;
        if followed.is_none() {
            return Err(Broken::NotReached(format!(
                "the PodCliqueSet did not converge after step {}",
                number + 1
            )));
        }
    }
    if history.marks(SharedMark::Scaled).count() < STEPS.len() {
        return Err(Broken::NotReached("not every scaling step was done".into()));
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(GANG_10, || after_each_step(history, scaling::followed)),
        finding(GANG_24, || after_each_step(history, scaling::others_untouched)),
    ]
}
