//! Whether the status of a gang reports that a scheduler has evicted its pods.

use conformance_expect::Unit;
use conformance_history::{Live, list, text};
use serde_json::Value;

pub fn report_of_eviction<'a>(live: &'a Live, set: &str, units: &[Unit]) -> Option<&'a Value> {
    let pod_gangs = units.iter().filter_map(|unit| live.get("PodGang", &unit.gang));
    let mut holders = pod_gangs.chain(live.get("PodCliqueSet", set));
    holders.find(|object| list(&object["status"]["conditions"]).iter().any(reports_eviction))
}

/// Upstream declares `DisruptionTarget`. Messages of other conditions do not count, because kube-scheduler
/// also mentions preemption when it has evicted nothing.
fn reports_eviction(condition: &Value) -> bool {
    const UPSTREAM: &str = "DisruptionTarget";
    let names_eviction = |field: &str| {
        let word = text(&condition[field]).to_lowercase();
        word.contains("preempt") || word.contains("evict")
    };
    let is_true = condition["status"] == "True";
    if condition["type"] == UPSTREAM {
        is_true
    } else {
        names_eviction("reason") || (is_true && names_eviction("type"))
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case::upstreams(["DisruptionTarget", "True", "Any"], true)]
    #[case::it_is_over(["DisruptionTarget", "False", "PreemptionEnded"], false)]
    #[case::by_type(["Preempted", "True", "Any"], true)]
    #[case::by_reason(["Scheduled", "False", "EvictedByScheduler"], true)]
    #[case::only_the_message(["Scheduled", "False", "Unschedulable"], false)]
    fn a_type_or_a_reason_reports_an_eviction(#[case] condition: [&str; 3], #[case] is_reported: bool) {
        let units = [Unit { gang: "w-0".into(), minimums: Vec::new() }];
        let [type_, status, reason] = condition;
        let message = "preemption: 0/3 nodes are available";
        for (kind, name) in [("PodGang", "w-0"), ("PodCliqueSet", "w")] {
            let mut holder = object(kind, name);
            let condition = json!({"type": type_, "status": status, "reason": reason, "message": message});
            holder["status"] = json!({"conditions": [condition]});
            let live = Story::flat().added(holder).end().end();
            assert_eq!(report_of_eviction(&live, "w", &units).is_some(), is_reported, "{kind}");
            assert_eq!(report_of_eviction(&live, "v", &[]), None, "of another PodCliqueSet");
        }
    }
}
