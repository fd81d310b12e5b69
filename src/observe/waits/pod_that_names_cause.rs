//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short.

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("How many pods of a gang that does not fit name the missing resource?")
        .answers(&["none", "one", "some", "every"])
        .nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_little_room(test).await
}

fn answer(history: &History) -> Answered {
    let live = seen::passed(history)?;
    let pods = seen::pods(&live, &GANG);
    let naming = pods.iter().filter(|pod| reports::names_gpus(**pod)).count();
    let word = match naming {
        0 => "none",
        1 => "one",
        _ if naming < pods.len() => "some",
        _ => "every",
    };
    Ok(Answer::new(word).count("pods", pods.len(), "pods").notes(reports::pod_messages(&live, &GANG)))
}

#[cfg(test)]
mod tests {
    use conformance_history::SharedMark;

    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(0, "none")]
    #[case(1, "one")]
    #[case(2, "some")]
    #[case(3, "every")]
    fn the_pods_that_name_the_resource_are_counted(#[case] naming: usize, #[case] wanted: &'static str) {
        let message =
            |index| if index < naming { "2 Insufficient nvidia.com/gpu" } else { "gang is not ready" };
        let pods = (0..3).map(|index| refused(&GANG, index, "Unschedulable", message(index)));
        let passed = story().all_added(pods).mark(SharedMark::SchedulerPassed, Value::Null);
        assert_eq!(word(&OBSERVATION, passed), Ok(wanted));
    }
}
