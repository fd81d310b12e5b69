//! A lazily created value that can be replaced after it breaks.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

#[derive(Debug)]
pub(super) struct Renewable<T>(Mutex<Arc<OnceCell<T>>>);

impl<T: Clone> Renewable<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    fn current(&self) -> Arc<OnceCell<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The value, created on the first call.
    pub(super) async fn get_or_make(&self, make: impl AsyncFnOnce() -> T) -> T {
        self.current().get_or_init(|| make()).await.clone()
    }

    pub(super) fn get(&self) -> Option<T> {
        self.current().get().cloned()
    }

    /// Removes the value if `is_spent` returns true; the next call creates another. The value must not be in
    /// use.
    pub(super) fn take_if(&self, is_spent: impl FnOnce(&T) -> bool) -> Option<T> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = current.get().filter(|value| is_spent(value)).cloned()?;
        *current = Arc::default();
        Some(spent)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn what_is_spent_is_made_anew_and_nothing_else() {
        let cluster = Renewable::new();
        let number = AtomicU32::new(0);
        let next = || number.fetch_add(1, Ordering::Relaxed);
        let made = async || cluster.get_or_make(async || format!("cluster {}", next())).await;
        assert_eq!(cluster.take_if(|_| true), None, "nothing was made");
        assert_eq!((made().await, made().await), ("cluster 0".into(), "cluster 0".into()));
        assert_eq!(cluster.take_if(|_| false), None);
        assert_eq!(made().await, "cluster 0");
        assert_eq!(cluster.take_if(|_| true).as_deref(), Some("cluster 0"));
        assert_eq!(cluster.get(), None);
        assert_eq!(made().await, "cluster 1");
    }
}
