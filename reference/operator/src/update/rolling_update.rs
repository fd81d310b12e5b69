//! Selects the pod or replica that an update takes down next.
//!
//! Pure: from the current units and the earlier update steps to the next step. A step takes down one Ready
//! pod of a standalone clique, or one available replica of a scaling group. It requires that the minimum
//! stays up, or all others if the minimum leaves none to spare. Its replacement must be up before the next
//! step starts, so an update that breaks pods stops after its first step. Old units that are not up are
//! replaced at once.
//!
//! The status of the clique or group stores the steps, and the status of the PodCliqueSet the replica in the
//! current step. So a restart continues the update.

/// What an update replaces as one: a pod of a standalone clique, or a replica of a scaling group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit<K> {
    pub key: K,
    /// Whether its template is outdated.
    pub old: bool,
    /// Whether the pod is Ready, or the replica available.
    pub up: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Units<K> {
    /// Existing units, in the order in which they are replaced.
    pub present: Vec<Unit<K>>,
    pub wanted: usize,
    pub min: usize,
}

/// The units that were up when this update took them down: the latest, and the earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turns<K> {
    pub current: Option<K>,
    pub completed: Vec<K>,
}

impl<K: Clone + PartialEq> Turns<K> {
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
    fn count(&self, holds: impl Fn(&Unit<K>) -> bool) -> usize {
        self.present.iter().filter(|unit| holds(unit)).count()
    }

    pub(crate) fn is_old(&self, key: &K) -> bool {
        self.present.iter().any(|unit| unit.key == *key && unit.old)
    }

    /// Units that are replaced at once.
    pub(crate) fn old_and_down(&self) -> impl Iterator<Item = &K> {
        self.present.iter().filter(|unit| unit.old && !unit.up).map(|unit| &unit.key)
    }

    /// The unit of the next update step, if one may start.
    pub(crate) fn next(&self, turns: &Turns<K>) -> Option<&K> {
        // The current unit must be replaced first.
        if turns.current.as_ref().is_some_and(|current| self.is_old(current)) {
            return None;
        }
        let old = self.count(|unit| unit.old);
        let replaced = self.count(|unit| unit.up && !unit.old);
        let is_answered = replaced >= turns.count().min(self.wanted.saturating_sub(old));
        let may = is_answered && self.can_spare_one();
        self.present.iter().find(|unit| may && unit.old && unit.up).map(|unit| &unit.key)
    }

    /// Without units that are being deleted anyway.
    pub(crate) fn without(mut self, leaving: &[K]) -> Self {
        self.present.retain(|unit| !leaving.contains(&unit.key));
        self
    }

    /// Whether the current unit may still be taken down; meanwhile, others may be down.
    pub(crate) fn may_still_go(&self, key: &K) -> bool {
        let is_up = self.present.iter().any(|unit| unit.key == *key && unit.up);
        self.is_old(key) && (!is_up || self.can_spare_one())
    }

    /// Whether enough units stay up if one is taken down.
    fn can_spare_one(&self) -> bool {
        self.count(|unit| unit.up) > self.min.min(self.wanted.saturating_sub(1))
    }

    /// Whether all units are new, and as many are up as before the update and as the minimum requires.
    pub(crate) fn is_done(&self, turns: &Turns<K>) -> bool {
        let up = self.count(|unit| unit.up);
        self.count(|unit| unit.old) == 0 && up >= self.min.max(turns.count()).min(self.wanted)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Old {
        bound: bool,
        breached: bool,
    },
    /// All pods are new, but not all exist and are up.
    Unsettled,
    /// All pods are new and none was ever bound: they wait for room, and the update does not wait for them.
    Waiting,
    /// All pods are new, exist and are up.
    Settled,
}

/// The replica in the current update step. The current one stays until it is settled. Then come replicas
/// without bound pods, then breached ones, then the lowest index.
pub(crate) fn replica_in_turn(replicas: &[Standing], current: Option<usize>) -> Option<usize> {
    let is_open = |standing: &Standing| matches!(standing, Standing::Old { .. } | Standing::Unsettled);
    if let Some(current) = current.filter(|current| replicas.get(*current).is_some_and(is_open)) {
        return Some(current);
    }
    let old = replicas.iter().enumerate().filter_map(|(i, standing)| match standing {
        Standing::Old { bound, breached } => Some((*bound, !*breached, i)),
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

    fn turns(keys: &[usize]) -> Turns<usize> {
        keys.iter().fold(Turns::default(), |turns, key| turns.followed_by(*key))
    }

    #[rstest::rstest]
    #[case::the_first("ooo", 3, 2, &[], Some(0))]
    #[case::it_is_still_there("ooo", 3, 2, &[0], None)]
    #[case::its_successor_is_missing("oo", 3, 2, &[7], None)]
    #[case::its_successor_is_not_up("ooN", 3, 2, &[7], None)]
    #[case::its_successor_is_up("oon", 3, 2, &[7], Some(0))]
    #[case::none_to_spare("ooo", 3, 3, &[], Some(0))]
    #[case::none_to_spare_and_one_lost("oo", 3, 3, &[], None)]
    #[case::the_only_one("o", 1, 1, &[], Some(0))]
    #[case::as_many_as_needed("ooO", 3, 2, &[], None)]
    #[case::surplus_that_waits_for_room("oooN", 4, 2, &[], Some(0))]
    #[case::and_got_it("oonN", 4, 2, &[7], Some(0))]
    #[case::or_did_not("ooNN", 4, 1, &[7], None)]
    #[case::scaled_in_what_was_new("on", 2, 1, &[7, 8], Some(0))]
    #[case::all_are_new("nnn", 3, 2, &[7, 8, 9], None)]
    fn turn_by_turn(
        #[case] present: &str,
        #[case] wanted: usize,
        #[case] min: usize,
        #[case] before: &[usize],
        #[case] next: Option<usize>,
    ) {
        assert_eq!(units(present, wanted, min).next(&turns(before)).copied(), next);
    }

    #[rstest::rstest]
    #[case::all_up("nn", 2, 2, &[], true)]
    #[case::one_old("no", 2, 1, &[7], false)]
    #[case::one_of_the_minimum_down("nN", 2, 2, &[], false)]
    #[case::a_turn_without_an_end("nN", 2, 1, &[7, 8], false)]
    #[case::surplus_waits_as_before("nN", 2, 1, &[7], true)]
    #[case::scaled_in("n", 1, 1, &[7, 8, 9], true)]
    fn an_end(
        #[case] present: &str,
        #[case] wanted: usize,
        #[case] min: usize,
        #[case] before: &[usize],
        #[case] done: bool,
    ) {
        assert_eq!(units(present, wanted, min).is_done(&turns(before)), done);
    }

    #[rstest::rstest]
    #[case::as_it_was("oo", 2, 1, &[], true)]
    #[case::the_other_is_down_by_now("oO", 2, 1, &[], false)]
    #[case::the_other_is_leaving("oo", 2, 1, &[1], false)]
    #[case::one_of_three_is_leaving("ooo", 3, 1, &[1], true)]
    #[case::it_is_down_itself("OO", 2, 1, &[], true)]
    #[case::it_is_new("no", 2, 1, &[], false)]
    fn a_turn_that_was_given_waits_where_another_has_gone(
        #[case] present: &str,
        #[case] wanted: usize,
        #[case] min: usize,
        #[case] leaving: &[usize],
        #[case] goes: bool,
    ) {
        assert_eq!(units(present, wanted, min).without(leaving).may_still_go(&0), goes);
    }

    #[test]
    fn what_is_old_and_down_goes_at_once() {
        assert_eq!(units("oOnNO", 5, 5).old_and_down().copied().collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn a_turn_that_is_taken_again_counts_once() {
        assert_eq!(turns(&[1, 2, 1]), Turns { current: Some(1), completed: vec![2] });
        assert_eq!(turns(&[1, 1]).count(), 1);
    }

    #[rstest::rstest]
    #[case::ascending("oo", None, Some(0))]
    #[case::the_one_in_turn_first("oo", Some(1), Some(1))]
    #[case::until_it_is_settled("ou", Some(1), Some(1))]
    #[case::and_no_longer("os", Some(1), Some(0))]
    #[case::without_bound_pods_first("obw", None, Some(1))]
    #[case::what_was_never_bound_holds_up_nobody("ow", Some(1), Some(0))]
    #[case::breached_before_others("osr", None, Some(2))]
    #[case::a_replica_that_is_gone("o", Some(1), Some(0))]
    #[case::none_is_old("suw", None, None)]
    fn one_replica_at_a_time(
        #[case] replicas: &str,
        #[case] current: Option<usize>,
        #[case] next: Option<usize>,
    ) {
        let standing = |letter| match letter {
            'o' => Standing::Old { bound: true, breached: false },
            'r' => Standing::Old { bound: true, breached: true },
            'b' => Standing::Old { bound: false, breached: true },
            'u' => Standing::Unsettled,
            'w' => Standing::Waiting,
            _ => Standing::Settled,
        };
        assert_eq!(replica_in_turn(&replicas.chars().map(standing).collect::<Vec<_>>(), current), next);
    }
}
