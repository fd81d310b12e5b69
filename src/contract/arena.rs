//! Gives `&'static` references to values that are created at run time, such as declared targets.

use std::sync::{Mutex, OnceLock, PoisonError};

/// A static list from which no value is ever removed.
pub struct Arena<T: 'static> {
    first: Slot<T>,
    /// The empty slot at the end. `None` stands for `first`.
    end: Mutex<Option<&'static Slot<T>>>,
}

type Slot<T> = OnceLock<Box<Node<T>>>;

struct Node<T: 'static> {
    value: T,
    next: Slot<T>,
}

impl<T: 'static> Arena<T> {
    /// An arena without values.
    pub const fn empty() -> Self {
        Self { first: OnceLock::new(), end: Mutex::new(None) }
    }

    /// Adds a value at the end, and returns a reference that is valid until the program exits.
    pub fn add(&'static self, value: T) -> &'static T {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = end.unwrap_or(&self.first);
        let node = slot.get_or_init(|| Box::new(Node { value, next: OnceLock::new() }));
        *end = Some(&node.next);
        &node.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_when_others_are_added() {
        static ARENA: Arena<String> = Arena::empty();
        let added = ["a", "b", "c"].map(|text| ARENA.add(text.to_owned()));
        assert_eq!(added, ["a", "b", "c"]);
    }
}
