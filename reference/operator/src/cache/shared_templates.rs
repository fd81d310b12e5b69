//! Replicas of a clique share one copy of their pod spec, which takes about 10 kB.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use grove_api::{PodClique, PodSpecJson};
use parking_lot::Mutex;
use serde_json::Value;

static SHARED: LazyLock<Mutex<Shared>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Shared {
    all: HashSet<Arc<Value>>,
    /// When the number of entries exceeds this, unused entries are removed.
    limit: usize,
}

pub(super) fn shared(mut pclq: PodClique, (): &()) -> PodClique {
    let PodSpecJson(spec) = pclq.spec.pod_spec;
    let mut shared = SHARED.lock();
    pclq.spec.pod_spec = PodSpecJson(shared.copy_of(spec));
    pclq
}

impl Shared {
    fn copy_of(&mut self, spec: Arc<Value>) -> Arc<Value> {
        if let Some(known) = self.all.get(&spec) {
            return Arc::clone(known);
        }
        if self.all.len() > self.limit {
            self.all.retain(|spec| Arc::strong_count(spec) > 1);
            self.limit = 2 * self.all.len() + 16;
        }
        self.all.insert(Arc::clone(&spec));
        spec
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_pod_specs_are_shared_and_unused_ones_removed() {
        let mut shared = Shared::default();
        let spec = |name: &str| Arc::new(json!({"containers": [{"name": name}]}));
        let first = shared.copy_of(spec("a"));
        assert!(Arc::ptr_eq(&first, &shared.copy_of(spec("a"))));
        assert!(!Arc::ptr_eq(&first, &shared.copy_of(spec("b"))));
        for number in 0..100 {
            shared.copy_of(spec(&number.to_string()));
        }
        assert!(shared.all.len() < 40, "{} entries remain", shared.all.len());
        assert!(Arc::ptr_eq(&first, &shared.copy_of(spec("a"))), "an entry in use was removed");
    }
}
