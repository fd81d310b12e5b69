use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn breach_times(standalone: &[Option<i64>], groups: &[(usize, &[Option<i64>])]) -> BreachTimes {
    let times = |seconds: &[Option<i64>]| seconds.iter().map(|second| second.map(at)).collect::<Vec<_>>();
    let group =
        |(min, replicas): &(usize, &[Option<i64>])| GroupBreachTimes { min: *min, replicas: times(replicas) };
    BreachTimes { standalone: times(standalone), groups: groups.iter().map(group).collect() }
}

/// The current time is second 10, and the delay is 4 s.
#[rstest::rstest]
#[case::no_breach(breach_times(&[None], &[(1, &[None])]), false, &[vec![]], None)]
#[case::a_clique_long_enough(breach_times(&[Some(6), None], &[]), true, &[], None)]
#[case::a_clique_not_long_enough(breach_times(&[Some(7)], &[]), false, &[], Some(1))]
#[case::one_replica_to_spare(breach_times(&[], &[(1, &[None, Some(5)])]), false, &[vec![1]], None)]
#[case::one_to_spare_too_short(breach_times(&[], &[(1, &[None, Some(8)])]), false, &[vec![]], Some(2))]
#[case::none_to_spare(breach_times(&[], &[(2, &[None, Some(5)])]), true, &[], None)]
#[case::too_few_since_second_breach(breach_times(&[], &[(1, &[Some(2), Some(9)])]), false, &[vec![]], Some(3))]
#[case::whole_replica_includes_groups(breach_times(&[Some(1)], &[(1, &[Some(1), None])]), true, &[], None)]
#[case::the_clique_waits_and_the_replica_is_due(
    breach_times(&[Some(9)], &[(1, &[Some(1), None])]),
    false,
    &[vec![0]],
    Some(3)
)]
fn breaches_that_lasted_for_the_delay_are_due(
    #[case] times: BreachTimes,
    #[case] whole_replica: bool,
    #[case] group_replicas: &[Vec<i32>],
    #[case] wait: Option<u64>,
) {
    let found = due_terminations(&times, Duration::from_secs(4), at(10));
    let (group_replicas, wait) = (group_replicas.to_vec(), wait.map(Duration::from_secs));
    assert_eq!(found, DueTerminations { whole_replica, group_replicas, wait });
}

#[test]
fn an_update_step_restarts_the_delay() {
    let before = breach_times(&[Some(6), None], &[(1, &[Some(9)])]);
    assert_eq!(before.not_before(Some(at(8))), breach_times(&[Some(8), None], &[(1, &[Some(9)])]));
}
