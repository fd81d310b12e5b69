//! Something that is made at the first call, and made anew once it was used and went to pieces.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

/// A value that can be replaced between two users of it.
#[derive(Debug)]
pub(super) struct Renewable<T>(Mutex<Arc<Generation<T>>>);

#[derive(Debug)]
struct Generation<T> {
    number: u32,
    value: OnceCell<T>,
}

impl<T: Clone> Renewable<T> {
    /// Nothing is made yet.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Arc::new(Generation { number: 0, value: OnceCell::new() })))
    }

    fn current(&self) -> Arc<Generation<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The value, made at the first call; `make` is told how many there were before.
    pub(super) async fn get_or_make(&self, make: impl AsyncFnOnce(u32) -> T) -> T {
        let current = self.current();
        current.value.get_or_init(|| make(current.number)).await.clone()
    }

    /// The value, if there is one.
    pub(super) fn get(&self) -> Option<T> {
        self.current().value.get().cloned()
    }

    /// Takes the value away if `is_spent` says so: the next call makes another. Nobody may be using it.
    pub(super) fn take_if(&self, is_spent: impl FnOnce(&T) -> bool) -> Option<T> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = current.value.get().filter(|value| is_spent(value)).cloned()?;
        *current = Arc::new(Generation { number: current.number + 1, value: OnceCell::new() });
        Some(spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_spent_is_made_anew_and_nothing_else() {
        let cluster = Renewable::new();
        let made = async || cluster.get_or_make(async |before| format!("cluster {before}")).await;
        assert_eq!(cluster.take_if(|_| true), None, "nothing was made");
        assert_eq!((made().await, made().await), ("cluster 0".into(), "cluster 0".into()));
        assert_eq!(cluster.take_if(|_| false), None);
        assert_eq!(made().await, "cluster 0");
        assert_eq!(cluster.take_if(|_| true).as_deref(), Some("cluster 0"));
        assert_eq!(cluster.get(), None);
        assert_eq!(made().await, "cluster 1");
    }
}
