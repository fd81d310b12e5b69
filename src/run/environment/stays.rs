//! Records when each case occupied a seat of a cluster, and derives the critical path of the run.

use std::time::Instant;

use conformance_contract::target::Target;
use parking_lot::Mutex;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Stay {
    pub(crate) case: &'static str,
    pub(crate) target: Target,
    slot: usize,
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Stays(Mutex<Vec<Stay>>);

impl Stays {
    pub(super) fn add(&self, case: &'static str, target: Target, slot: usize, begin: Instant) {
        self.0.lock().push(Stay { case, target, slot, begin, end: Instant::now() });
    }

    pub(super) fn critical_path(&self) -> Vec<Stay> {
        critical_path(&self.0.lock())
    }
}

fn critical_path(stays: &[Stay]) -> Vec<Stay> {
    let mut path: Vec<Stay> = stays.iter().max_by_key(|stay| stay.end).copied().into_iter().collect();
    while let Some(&next) = path.last() {
        // The stay on the same cluster that ended last before `next` began. `begin` decreases: the loop ends.
        let left = |stay: &&Stay| stay.slot == next.slot && stay.end <= next.begin && stay.begin < next.begin;
        let Some(previous) = stays.iter().filter(left).max_by_key(|stay| stay.end) else { break };
        path.push(*previous);
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_path_follows_the_places_of_one_cluster_back_to_the_start() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let stay = |case, slot, begin, end| Stay {
            case,
            target: Target::KUBE_POD_GANG,
            slot,
            begin: at(begin),
            end: at(end),
        };
        let mut stays = vec![
            stay("first", 0, 0, 400),
            stay("at the same time", 0, 0, 900),
            stay("second", 0, 410, 800),
            stay("on another cluster", 1, 0, 809),
            stay("third", 0, 810, 810),
            stay("last", 0, 810, 2_000),
        ];
        let names = |stays: &[Stay]| critical_path(stays).iter().map(|stay| stay.case).collect::<Vec<_>>();
        assert_eq!(names(&stays), ["first", "second", "last"]);
        stays.push(stay("later on the other cluster", 1, 809, 2_001));
        assert_eq!(names(&stays), ["on another cluster", "later on the other cluster"]);
        assert!(names(&[]).is_empty());
    }
}
