//! Which pods count towards the minimum of their gang.

pub(crate) mod finished_pods;
pub(crate) mod other_scheduler_name;
pub(crate) mod terminating_pods;

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::observation::Observation;
    use crate::plain_gang::PlainGang;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case::finished(finished_pods::OBSERVATION, finished_pods::GANG, 2..3)]
    #[case::terminating(terminating_pods::OBSERVATION, terminating_pods::GANG, 2..3)]
    #[case::other(other_scheduler_name::OBSERVATION, other_scheduler_name::GANG, 0..2)]
    fn the_bindings_are_the_answer(
        #[case] observation: Observation,
        #[case] gang: PlainGang,
        #[case] counted: Range<usize>,
    ) {
        let created = || story().mark(CHANGED, Value::Null).all_added(waiting(&gang, 3));
        assert_eq!(word(&observation, created().mark(OBSERVED, Value::Null)), Ok("do-not-count"));
        let bound = bind(created(), &gang, counted).mark(OBSERVED, Value::Null);
        assert_eq!(word(&observation, bound), Ok("count"));
    }
}
