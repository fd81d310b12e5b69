//! Which objects a reconciler must process, and when. Earlier due objects come first, so that older work
//! finishes first under load. A request for a busy object takes effect after its reconciliation.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use tokio::time::Instant;

/// When an object is due, and the number of the request, which orders objects that are due at the same time.
type Slot = (Instant, u64);

pub(super) struct Agenda<T> {
    due: BTreeMap<Slot, T>,
    slots: HashMap<T, Slot>,
    /// Objects that are being reconciled, and when each is due again, if requested.
    busy: HashMap<T, Option<Instant>>,
    requests: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { due: BTreeMap::new(), slots: HashMap::new(), busy: HashMap::new(), requests: 0 }
    }
}

impl<T: Clone + Eq + Hash> Agenda<T> {
    pub(super) fn request(&mut self, object: T, at: Instant) {
        if let Some(again) = self.busy.get_mut(&object) {
            *again = Some(again.map_or(at, |again| again.min(at)));
            return;
        }
        match self.slots.get(&object) {
            Some((before, _)) if *before <= at => return,
            Some(slot) => drop(self.due.remove(slot)),
            None => {}
        }
        self.requests += 1;
        let slot = (at, self.requests);
        self.slots.insert(object.clone(), slot);
        self.due.insert(slot, object);
    }

    pub(super) fn take(&mut self, now: Instant) -> Option<T> {
        let next = self.due.first_entry().filter(|next| next.key().0 <= now)?;
        let object = next.remove();
        self.slots.remove(&object);
        self.busy.insert(object.clone(), None);
        Some(object)
    }

    pub(super) fn done(&mut self, object: T) {
        if let Some(again) = self.busy.remove(&object).flatten() {
            self.request(object, again);
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.due.keys().next().map(|(at, _)| *at)
    }

    pub(super) fn len(&self) -> usize {
        self.due.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn agenda(requests: &[(&'static str, u64)]) -> (Agenda<&'static str>, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        let at = move |milliseconds| start + Duration::from_millis(milliseconds);
        let mut agenda = Agenda::default();
        requests.iter().for_each(|(object, milliseconds)| agenda.request(*object, at(*milliseconds)));
        (agenda, at)
    }

    fn taken(agenda: &mut Agenda<&'static str>, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| agenda.take(now)).collect()
    }

    #[test]
    fn objects_are_returned_once_in_the_order_of_their_requests() {
        let (mut agenda, at) = agenda(&[("a", 0), ("b", 0), ("a", 0), ("c", 0)]);
        assert_eq!((agenda.len(), taken(&mut agenda, at(0))), (3, vec!["a", "b", "c"]));
    }

    #[test]
    fn no_object_is_returned_before_it_is_due() {
        let (mut agenda, at) = agenda(&[("later", 50), ("soon", 20), ("later", 90)]);
        assert_eq!((agenda.take(at(19)), agenda.next()), (None, Some(at(20))));
        assert_eq!(taken(&mut agenda, at(50)), ["soon", "later"]);
        assert_eq!(agenda.next(), None);
    }

    #[test]
    fn the_earlier_of_two_requested_times_counts() {
        let (mut agenda, at) = agenda(&[("a", 1000), ("b", 5), ("a", 0)]);
        assert_eq!(taken(&mut agenda, at(0)), ["a"]);
        assert_eq!(taken(&mut agenda, at(5000)), ["b"], "the agenda drops the later request of a");
    }

    #[test]
    fn a_busy_object_is_returned_again_after_it_is_done() {
        let (mut agenda, at) = agenda(&[("a", 0)]);
        assert_eq!(agenda.take(at(0)), Some("a"));
        agenda.request("a", at(30));
        agenda.request("a", at(10));
        assert_eq!((agenda.take(at(99)), agenda.len()), (None, 0));
        agenda.done("a");
        assert_eq!((agenda.take(at(9)), agenda.take(at(10))), (None, Some("a")));
        agenda.done("a");
        assert_eq!(agenda.next(), None);
    }
}
