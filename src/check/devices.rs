//! Checks which GPUs the containers have, according to the container runtimes: the API server does not know.

use std::collections::BTreeMap;
use std::fmt;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{History, SharedMark, list};
use serde_json::Value;

use super::{Shown, none, violation};

const DEVICE_SHARED: Code = Code::new("device-shared");
const WRONG_NUMBER_OF_DEVICES: Code = Code::new("wrong-number-of-devices");

#[derive(Debug)]
struct Container<'a> {
    node: &'a str,
    pod: &'a str,
    name: &'a str,
    devices: Vec<&'a str>,
}

impl fmt::Display for Container<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "container {} of Pod {}", self.name, self.pod)
    }
}

fn containers(allocated: &Value) -> Vec<Container<'_>> {
    let container = |entry| Container {
        node: text(entry, "node"),
        pod: text(entry, "pod"),
        name: text(entry, "container"),
        devices: list(&entry["devices"]).iter().filter_map(Value::as_str).collect(),
    };
    list(allocated).iter().map(container).collect()
}

pub fn at_most_once(history: &History) -> Ruling {
    let (_, mark) = history.reached(SharedMark::Allocated)?;
    let all = containers(&mark.detail);
    let mut holders: BTreeMap<(&str, &str), &Container<'_>> = BTreeMap::new();
    let mut violations = Vec::new();
    for container in &all {
        for device in &container.devices {
            if let Some(other) = holders.insert((container.node, *device), container) {
                let node = container.node;
                let message =
                    format!("device {device} of Node {node} is allocated to {other} and to {container}");
                violations.push(violation(DEVICE_SHARED, message));
            }
        }
    }
    none(violations)
}

/// Requires that each container has as many devices as it requests. The totals must also match, so that no
/// other container has a device. Returns `NotReached` if no bound pod requested a device.
pub fn as_requested(history: &History) -> Ruling {
    let (index, mark) = history.reached(SharedMark::Allocated)?;
    let live = history.before(index);
    let all = containers(&mark.detail);
    let mut violations = Vec::new();
    let mut requested = 0;
    for pod in live.pods().filter(|pod| pod.node().is_some() && !pod.is_terminating()) {
        for container in list(&pod.0["spec"]["containers"]) {
            let (name, wanted) = (text(container, "name"), gpus(container));
            requested += wanted;
            let own = all.iter().filter(|found| found.pod == pod.name() && found.name == name);
            let found = own.map(|found| found.devices.len()).sum::<usize>();
            if found != wanted {
                let message = format!(
                    "container {name} of Pod {} has {found} GPUs, want the requested {wanted}",
                    pod.name()
                );
                violations
                    .push(violation(WRONG_NUMBER_OF_DEVICES, message).shown_by_object("its request", pod.0));
            }
        }
    }
    if requested == 0 {
        return Err(Broken::NotReached("no bound pod requests a GPU".into()));
    }
    let allocated = all.iter().map(|container| container.devices.len()).sum::<usize>();
    if allocated != requested {
        violations.push(violation(
            WRONG_NUMBER_OF_DEVICES,
            format!("{allocated} GPUs are allocated, want the requested {requested}"),
        ));
    }
    none(violations)
}

fn gpus(container: &Value) -> usize {
    let amount = &container["resources"]["limits"][names::GPU];
    amount.as_str().and_then(|amount| amount.parse().ok()).unwrap_or(0)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, running};
    use serde_json::json;

    use super::*;
    use crate::messages;

    fn rulings(first: &[&str], second: &[&str]) -> (Ruling, Ruling) {
        let pod = |name: &str| {
            let mut pod = running(name, "w-0", "w-0-a", "n");
            pod["spec"]["containers"][0]["resources"] = json!({"limits": {names::GPU: "2"}});
            pod
        };
        let allocated = |pod: &str, ids: &[&str]| {
            let name = "worker";
            json!({"node": "n", "pod": pod, "container": name, "devices": ids})
        };
        let story = Story::flat().all_added([pod("p"), pod("q")]);
        let history =
            story.mark(SharedMark::Allocated, json!([allocated("p", first), allocated("q", second)])).end();
        (at_most_once(&history), as_requested(&history))
    }

    #[test]
    fn each_container_has_devices_of_its_own() {
        assert_eq!(rulings(&["0", "1"], &["2", "3"]), (Ok(()), Ok(())));
    }

    #[test]
    fn a_device_of_two_containers_is_a_violation() {
        let (once, requested) = rulings(&["0", "1"], &["1", "2"]);
        assert_eq!(
            messages(once),
            ["device 1 of Node n is allocated to container worker of Pod p and to container worker of Pod q"]
        );
        assert_eq!(requested, Ok(()));
    }

    #[test]
    fn more_or_fewer_devices_than_requested_are_a_violation() {
        let (once, requested) = rulings(&["0"], &["1", "2", "3"]);
        assert_eq!(once, Ok(()));
        let each = [
            "container worker of Pod p has 1 GPUs, want the requested 2",
            "container worker of Pod q has 3 GPUs, want the requested 2",
        ];
        assert_eq!(messages(requested), each);
    }

    #[test]
    fn devices_of_an_unknown_container_are_a_violation() {
        let unknown = json!([{"node": "n", "pod": "ghost", "container": "c", "devices": ["0"]}]);
        let mut pod = running("p", "w-0", "w-0-a", "n");
        pod["spec"]["containers"][0]["resources"] = json!({"limits": {names::GPU: "2"}});
        let history = Story::flat().added(pod).mark(SharedMark::Allocated, unknown).end();
        let both = [
            "container worker of Pod p has 0 GPUs, want the requested 2",
            "1 GPUs are allocated, want the requested 2",
        ];
        assert_eq!(messages(as_requested(&history)), both);
    }

    #[rstest::rstest]
    #[case::terminating(|pod: &mut Value| pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"))]
    #[case::not_bound(|pod: &mut Value| pod["spec"]["nodeName"] = Value::Null)]
    fn a_pod_that_does_not_run_needs_no_devices(#[case] change: fn(&mut Value)) {
        let pod = |name: &str| {
            let mut pod = running(name, "w-0", "w-0-a", "n");
            pod["spec"]["containers"][0]["resources"] = json!({"limits": {names::GPU: "2"}});
            pod
        };
        let mut other = pod("q");
        change(&mut other);
        let allocated = json!([{"node": "n", "pod": "p", "container": "worker", "devices": ["0", "1"]}]);
        let story = Story::flat().all_added([pod("p"), other]);
        assert_eq!(as_requested(&story.mark(SharedMark::Allocated, allocated).end()), Ok(()));
    }

    #[test]
    fn devices_of_two_nodes_may_have_the_same_id() {
        let entry = |node: &str| json!({"node": node, "pod": node, "container": "c", "devices": ["0"]});
        let history = Story::flat().mark(SharedMark::Allocated, json!([entry("n"), entry("m")])).end();
        assert_eq!(at_most_once(&history), Ok(()));
    }

    #[test]
    fn without_requests_or_a_mark_the_rulings_are_undecided() {
        let reached = |ruling: Ruling| !matches!(ruling, Err(Broken::NotReached(_)));
        assert!(!reached(at_most_once(&Story::flat().end())));
        assert!(!reached(as_requested(&Story::flat().mark(SharedMark::Allocated, json!([])).end())));
    }
}
