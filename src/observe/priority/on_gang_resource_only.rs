//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Its gang resource names a priority class.

use super::{ANSWERS, Named, answer_for, drive_with};
use crate::answer::NoAnswer;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A gang resource names a priority class, its pods name none. Is the gang bound?")
        .answers(ANSWERS)
        .not_on(&[(Scheduler::KOORDINATOR, "its gang resource has no priority class")])
        .nodes(&[nodes(2).gpus(8)]);

pub(super) const GANG: PlainGang = PlainGang::new("group-only", 2);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    drive_with(test, &GANG, Named { on_resource: true, on_pods: 0 }).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    // The API server drops a field that it does not know.
    let has_class = seen::resource(&live, history.header.target, &GANG)
        .is_some_and(|resource| resource["spec"]["priorityClassName"].is_string());
    if !has_class {
        return Err(NoAnswer("the gang resource has no field priorityClassName".into()));
    }
    answer_for(history, &GANG)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[test]
    fn a_dropped_field_is_no_answer() {
        let observed = story().mark(CHANGED, Value::Null).added(resource(&GANG, json!({})));
        let reason = word(&OBSERVATION, observed.mark(OBSERVED, Value::Null)).unwrap_err();
        assert_eq!(reason, "the gang resource has no field priorityClassName");
    }
}
