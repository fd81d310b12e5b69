use conformance_history::Live;
use serde_json::Value;

pub const BINDING: &str = "ClusterTopologyBinding";

pub fn entry<'a>(binding: &'a Value, scheduler: &str) -> Option<&'a Value> {
    let entries = binding["status"]["schedulerTopologyStatuses"].as_array()?;
    entries.iter().find(|entry| entry["schedulerName"] == scheduler)
}

/// `None` if the status lacks the scheduler.
pub fn is_in_sync(live: &Live, binding: &str, scheduler: &str) -> Option<bool> {
    entry(live.get(BINDING, binding)?, scheduler)?["inSync"].as_bool()
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_entry_of_another_scheduler_does_not_count() {
        let mut binding = object(BINDING, "b");
        let entries = [("kai", json!(true)), ("volcano", json!(false)), ("silent", Value::Null)];
        let entries = entries.map(|(name, in_sync)| json!({"schedulerName": name, "inSync": in_sync}));
        binding["status"]["schedulerTopologyStatuses"] = json!(entries);
        let live = Story::flat().added(binding).end().end();
        assert_eq!(is_in_sync(&live, "b", "kai"), Some(true));
        assert_eq!(is_in_sync(&live, "b", "volcano"), Some(false));
        for scheduler in ["silent", "another"] {
            assert_eq!(is_in_sync(&live, "b", scheduler), None);
        }
        assert_eq!(is_in_sync(&live, "another", "kai"), None);
    }
}
