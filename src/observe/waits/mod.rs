//! A gang that waits: what it reports, and which changes end its wait.

pub(crate) mod gang_resource_deleted;
pub(crate) mod minimum_lowered;
pub(crate) mod missing_queue_in_events;
pub(crate) mod missing_queue_on_pods;
pub(crate) mod missing_queue_on_resource;
pub(crate) mod missing_sibling_in_events;
pub(crate) mod missing_sibling_on_pods;
pub(crate) mod missing_sibling_on_resource;
pub(crate) mod pod_that_names_cause;
pub(crate) mod pods_before_gang_resource;
pub(crate) mod room_after_a_minute;
pub(crate) mod too_few_pods_in_events;
pub(crate) mod too_few_pods_on_pods;
pub(crate) mod too_few_pods_on_resource;
pub(crate) mod too_little_room_in_events;
pub(crate) mod too_little_room_on_pods;
pub(crate) mod too_little_room_on_resource;
pub(crate) mod volume_never_created;
pub(crate) mod volume_timeout_on_pods;
pub(crate) mod writes_while_waiting;

/// The questions about reports differ in their driver only. `reports` tests all answers.
#[cfg(test)]
mod tests {
    use conformance_history::SharedMark;

    use super::*;
    use crate::causes::GANG;
    use crate::observation::Observation;
    use crate::testing::prelude::*;

    fn passed(objects: impl IntoIterator<Item = Value>) -> Story {
        story().all_added(objects).mark(SharedMark::SchedulerPassed, Value::Null)
    }

    #[rstest::rstest]
    #[case::too_few_pods(too_few_pods_on_pods::OBSERVATION)]
    #[case::too_little_room(too_little_room_on_pods::OBSERVATION)]
    #[case::missing_queue(missing_queue_on_pods::OBSERVATION)]
    #[case::missing_sibling(missing_sibling_on_pods::OBSERVATION)]
    fn the_pods_report_a_reason_or_nothing(#[case] observation: Observation) {
        assert_eq!(word(&observation, passed([pod(&GANG, 0, None)])), Ok("no-condition"));
        let refused = refused(&GANG, 0, "Unschedulable", "");
        assert_eq!(word(&observation, passed([refused])), Ok("unschedulable"));
        assert!(
            word(&observation, story().added(pod(&GANG, 0, None))).is_err(),
            "the scheduler did not pass"
        );
    }

    #[rstest::rstest]
    #[case::too_few_pods(too_few_pods_on_resource::OBSERVATION)]
    #[case::too_little_room(too_little_room_on_resource::OBSERVATION)]
    #[case::missing_queue(missing_queue_on_resource::OBSERVATION)]
    #[case::missing_sibling(missing_sibling_on_resource::OBSERVATION)]
    fn the_gang_resource_reports_a_refusal_or_nothing(#[case] observation: Observation) {
        assert_eq!(word(&observation, passed([resource(&GANG, json!({}))])), Ok("nothing"));
        let refusing = json!({"conditions": [{"type": "Unschedulable", "status": "True"}]});
        assert_eq!(word(&observation, passed([resource(&GANG, refusing)])), Ok("refusal"));
        assert!(word(&observation, passed([])).is_err(), "there is no gang resource");
    }

    #[rstest::rstest]
    #[case::too_few_pods(too_few_pods_in_events::OBSERVATION)]
    #[case::too_little_room(too_little_room_in_events::OBSERVATION)]
    #[case::missing_queue(missing_queue_in_events::OBSERVATION)]
    #[case::missing_sibling(missing_sibling_in_events::OBSERVATION)]
    fn events_are_about_pods_or_nothing(#[case] observation: Observation) {
        assert_eq!(word(&observation, passed([pod(&GANG, 0, None)])), Ok("none"));
        let about = json!({"kind": "Pod", "name": "waiting-0"});
        let event = json!({"kind": "Event", "metadata": {"name": "e"}, "involvedObject": about});
        assert_eq!(word(&observation, passed([pod(&GANG, 0, None), event])), Ok("on-pods"));
    }
}
