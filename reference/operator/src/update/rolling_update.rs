//! Selects the unit that an update replaces next: a pod, or a replica of a scaling group. Units are taken
//! down one at a time. The minimum stays up; if every unit belongs to it, all others must be up. The
//! replacement must be up before the next step, so a broken update stops after its first step. Old units that
//! are not up are replaced at once. The statuses store the steps for restarts.

/// What an update replaces as one: a pod of a standalone clique, or a replica of a scaling group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit<K> {
    pub key: K,
    pub old: bool,
    pub up: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Units<K> {
    pub present: Vec<Unit<K>>,
    pub wanted: usize,
    pub min: usize,
}

/// The units that this update took down while they were up: the latest unit and the earlier units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpdateSteps<K> {
    pub current: Option<K>,
    pub completed: Vec<K>,
}

impl<K: Clone + PartialEq> UpdateSteps<K> {
    pub(crate) fn count(&self) -> usize {
        self.completed.len() + usize::from(self.current.is_some())
    }

    pub(crate) fn followed_by(&self, next: K) -> Self {
        let mut completed = self.completed.clone();
        completed.extend(self.current.clone().filter(|current| !completed.contains(current)));
        completed.retain(|before| *before != next);
        Self { current: Some(next), completed }
    }
}

impl<K: Clone + PartialEq> Units<K> {
    fn count(&self, is_counted: impl Fn(&Unit<K>) -> bool) -> usize {
        self.present.iter().filter(|unit| is_counted(unit)).count()
    }

    pub(crate) fn is_old(&self, key: &K) -> bool {
        self.present.iter().any(|unit| unit.key == *key && unit.old)
    }

    pub(crate) fn old_and_down(&self) -> impl Iterator<Item = &K> {
        self.present.iter().filter(|unit| unit.old && !unit.up).map(|unit| &unit.key)
    }

    pub(crate) fn next(&self, steps: &UpdateSteps<K>) -> Option<&K> {
        if steps.current.as_ref().is_some_and(|current| self.is_old(current)) {
            return None;
        }
        let old = self.count(|unit| unit.old);
        let replaced = self.count(|unit| unit.up && !unit.old);
        let are_replaced = replaced >= steps.count().min(self.wanted.saturating_sub(old));
        if !are_replaced || !self.can_spare_one() {
            return None;
        }
        self.present.iter().find(|unit| unit.old && unit.up).map(|unit| &unit.key)
    }

    pub(crate) fn without(mut self, deleted: &[K]) -> Self {
        self.present.retain(|unit| !deleted.contains(&unit.key));
        self
    }

    /// Other units may have gone down since the selection.
    pub(crate) fn may_be_taken_down(&self, key: &K) -> bool {
        let is_up = self.present.iter().any(|unit| unit.key == *key && unit.up);
        self.is_old(key) && (!is_up || self.can_spare_one())
    }

    fn can_spare_one(&self) -> bool {
        self.count(|unit| unit.up) > self.min.min(self.wanted.saturating_sub(1))
    }

    /// No unit is old, as many units are up as before the update, and at least the minimum.
    pub(crate) fn is_done(&self, steps: &UpdateSteps<K>) -> bool {
        let up = self.count(|unit| unit.up);
        self.count(|unit| unit.old) == 0 && up >= self.min.max(steps.count()).min(self.wanted)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplicaState {
    /// A pod is old.
    Old { bound: bool, breached: bool },
    /// All pods are new, but not all exist and are up.
    Unsettled,
    /// All pods are new and none was ever bound. They wait for room, and the update does not wait for them.
    Waiting,
    /// All pods are new, exist and are up.
    Settled,
}

/// Returns the current replica until it is settled. Then replicas without bound pods come first, followed by
/// breached replicas, and then the other replicas by index.
pub(crate) fn next_replica(replicas: &[ReplicaState], current: Option<usize>) -> Option<usize> {
    let is_open = |state: &ReplicaState| matches!(state, ReplicaState::Old { .. } | ReplicaState::Unsettled);
    if let Some(current) = current.filter(|current| replicas.get(*current).is_some_and(is_open)) {
        return Some(current);
    }
    let old = replicas.iter().enumerate().filter_map(|(i, state)| match state {
        ReplicaState::Old { bound, breached } => Some((*bound, !*breached, i)),
        _ => None,
    });
    old.min().map(|(_, _, i)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `o`: old and up, `O`: old and down, `n`: new and up, `N`: new and down; the key is the position.
    fn units(text: &str, wanted: usize, min: usize) -> Units<usize> {
        let unit = |(key, letter): (usize, char)| Unit {
            key,
            old: letter.eq_ignore_ascii_case(&'o'),
            up: letter.is_ascii_lowercase(),
        };
        Units { present: text.chars().enumerate().map(unit).collect(), wanted, min }
    }

    fn steps(keys: &[usize]) -> UpdateSteps<usize> {
        keys.iter().fold(UpdateSteps::default(), |steps, key| steps.followed_by(*key))
    }

    #[rstest::rstest]
    #[case::first("ooo", 3, 2, &[], Some(0))]
    #[case::current_unit_still_exists("ooo", 3, 2, &[0], None)]
    #[case::replacement_is_missing("oo", 3, 2, &[7], None)]
    #[case::replacement_is_not_up("ooN", 3, 2, &[7], None)]
    #[case::replacement_is_up("oon", 3, 2, &[7], Some(0))]
    #[case::none_to_spare("ooo", 3, 3, &[], Some(0))]
    #[case::none_to_spare_and_one_missing("oo", 3, 3, &[], None)]
    #[case::only_unit("o", 1, 1, &[], Some(0))]
    #[case::minimum_is_just_up("ooO", 3, 2, &[], None)]
    #[case::surplus_waits_for_room("oooN", 4, 2, &[], Some(0))]
    #[case::surplus_got_room("oonN", 4, 2, &[7], Some(0))]
    #[case::replacement_waits_for_room("ooNN", 4, 1, &[7], None)]
    #[case::new_units_were_scaled_in("on", 2, 1, &[7, 8], Some(0))]
    #[case::all_are_new("nnn", 3, 2, &[7, 8, 9], None)]
    fn the_next_step_waits_for_the_last_replacement_and_the_minimum(
        #[case] present: &str,
        #[case] wanted: usize,
        #[case] min: usize,
        #[case] before: &[usize],
        #[case] next: Option<usize>,
    ) {
        assert_eq!(units(present, wanted, min).next(&steps(before)).copied(), next);
    }

    #[rstest::rstest]
    #[case::all_up("nn", 2, 2, &[], true)]
    #[case::one_old("no", 2, 1, &[7], false)]
    #[case::one_of_the_minimum_down("nN", 2, 2, &[], false)]
    #[case::one_replacement_is_not_up("nN", 2, 1, &[7, 8], false)]
    #[case::surplus_waited_before("nN", 2, 1, &[7], true)]
    #[case::scaled_in("n", 1, 1, &[7, 8, 9], true)]
    fn an_update_is_done_when_as_many_new_units_are_up_as_before(
        #[case] present: &str,
        #[case] wanted: usize,
        #[case] min: usize,
        #[case] before: &[usize],
        #[case] done: bool,
    ) {
        assert_eq!(units(present, wanted, min).is_done(&steps(before)), done);
    }

    #[rstest::rstest]
    #[case::unchanged("oo", 2, 1, &[], true)]
    #[case::other_is_down("oO", 2, 1, &[], false)]
    #[case::other_is_being_deleted("oo", 2, 1, &[1], false)]
    #[case::one_of_three_is_being_deleted("ooo", 3, 1, &[1], true)]
    #[case::already_down("OO", 2, 1, &[], true)]
    #[case::already_new("no", 2, 1, &[], false)]
    fn a_selected_unit_waits_while_others_are_down(
        #[case] present: &str,
        #[case] wanted: usize,
        #[case] min: usize,
        #[case] deleted: &[usize],
        #[case] may: bool,
    ) {
        assert_eq!(units(present, wanted, min).without(deleted).may_be_taken_down(&0), may);
    }

    #[test]
    fn old_units_that_are_down_are_replaced_at_once() {
        assert_eq!(units("oOnNO", 5, 5).old_and_down().copied().collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn a_unit_that_is_taken_down_twice_counts_once() {
        assert_eq!(steps(&[1, 2, 1]), UpdateSteps { current: Some(1), completed: vec![2] });
        assert_eq!(steps(&[1, 1]).count(), 1);
    }

    #[rstest::rstest]
    #[case::ascending("oo", None, Some(0))]
    #[case::current_first("oo", Some(1), Some(1))]
    #[case::current_is_unsettled("ou", Some(1), Some(1))]
    #[case::current_is_settled("os", Some(1), Some(0))]
    #[case::without_bound_pods_first("obw", None, Some(1))]
    #[case::current_was_never_bound("ow", Some(1), Some(0))]
    #[case::breached_first("osr", None, Some(2))]
    #[case::current_was_deleted("o", Some(1), Some(0))]
    #[case::none_is_old("suw", None, None)]
    fn replicas_are_updated_one_at_a_time(
        #[case] replicas: &str,
        #[case] current: Option<usize>,
        #[case] next: Option<usize>,
    ) {
        let state = |letter| match letter {
            'o' => ReplicaState::Old { bound: true, breached: false },
            'r' => ReplicaState::Old { bound: true, breached: true },
            'b' => ReplicaState::Old { bound: false, breached: true },
            'u' => ReplicaState::Unsettled,
            'w' => ReplicaState::Waiting,
            _ => ReplicaState::Settled,
        };
        assert_eq!(next_replica(&replicas.chars().map(state).collect::<Vec<_>>(), current), next);
    }
}
