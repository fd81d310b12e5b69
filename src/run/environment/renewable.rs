//! A lazily created value that can be replaced after it breaks.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

#[derive(Debug)]
pub(super) struct Renewable<T>(Mutex<Arc<OnceCell<T>>>);

impl<T: Clone> Renewable<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    fn current(&self) -> Arc<OnceCell<T>> {
        self.0.lock().clone()
    }

    pub(super) async fn get_or_create(&self, create: impl AsyncFnOnce() -> T) -> T {
        self.current().get_or_init(|| create()).await.clone()
    }

    pub(super) fn get(&self) -> Option<T> {
        self.current().get().cloned()
    }

    /// Takes the value, which must not be in use, if it is broken, so that `get_or_create` creates a new one.
    pub(super) fn take_if(&self, is_broken: impl FnOnce(&T) -> bool) -> Option<T> {
        let mut current = self.0.lock();
        let broken = current.get().filter(|value| is_broken(value)).cloned()?;
        *current = Arc::default();
        Some(broken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn only_a_broken_value_is_replaced() {
        let cluster = Renewable::new();
        let number = AtomicU32::new(0);
        let next = || number.fetch_add(1, Ordering::Relaxed);
        let created = async || cluster.get_or_create(async || format!("cluster {}", next())).await;
        assert_eq!(cluster.take_if(|_| true), None, "nothing was created");
        assert_eq!((created().await, created().await), ("cluster 0".into(), "cluster 0".into()));
        assert_eq!(cluster.take_if(|_| false), None);
        assert_eq!(created().await, "cluster 0");
        assert_eq!(cluster.take_if(|_| true).as_deref(), Some("cluster 0"));
        assert_eq!(cluster.get(), None);
        assert_eq!(created().await, "cluster 1");
    }
}
