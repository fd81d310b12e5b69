use std::collections::BTreeMap;

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_facts::quantity::{Amount, ONE};
use conformance_facts::requests::{self, Amounts, add, amounts};
use conformance_history::{Change, Version, list, text};
use serde_json::Value;

use super::course::Course;
use crate::{Shown, none, violation};

const OVER_CAPACITY: Code = Code::new("over-capacity");

#[derive(Default)]
struct Load<'a> {
    allocatable: Option<Amounts<'a>>,
    /// Requests and scheduler of each pod, by the pod's uid.
    pods: BTreeMap<&'a str, (Amounts<'a>, &'a str)>,
}

/// Requires that all requests on a node fit when a pod is bound, including those of canaries. These are not
/// violations: unknown allocatable resources, a node that shrinks below its load, and pods of several
/// schedulers, which see each other's bindings late.
pub(super) fn is_kept(course: &Course<'_>) -> Ruling {
    let mut nodes: BTreeMap<&str, Load<'_>> = BTreeMap::new();
    let mut with_containers: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut violations = Vec::new();
    for version in &course.versions {
        match version.kind() {
            "Node" => {
                let is_there = version.change != Change::Deleted;
                let allocatable = is_there.then(|| amounts(&version.object["status"]["allocatable"]));
                nodes.entry(version.name()).or_default().allocatable = allocatable;
            }
            "Pod" => {
                // A compact history contains a pod's containers only once, because it omits unchanged fields.
                if !version.object["spec"]["containers"].is_null() {
                    with_containers.insert(version.uid(), version.object);
                }
                let Some(node) = version.pod().node() else { continue };
                let load = nodes.entry(node).or_default();
                if has_ended(version) {
                    load.pods.remove(version.uid());
                    continue;
                }
                let scheduler = version.object["spec"]["schedulerName"].as_str().unwrap_or_default();
                let complete = with_containers.get(version.uid()).copied().unwrap_or(version.object);
                let mut requests = requests::of_running(&complete["spec"]);
                // The node need not have these resources, because the scheduler allocates devices for them.
                let by_devices = &version.object["status"]["extendedResourceClaimStatus"]["requestMappings"];
                for mapping in list(by_devices) {
                    requests.remove(text(&mapping["resourceName"]));
                }
                let is_new = load.pods.insert(version.uid(), (requests, scheduler)).is_none();
                if let Some(excess) = load.excess().filter(|_| is_new) {
                    let message = format!(
                        "Pod {} was bound to Node {node}, whose pods then requested {excess}",
                        version.name()
                    );
                    violations.push(violation(OVER_CAPACITY, message).shown_by("bound", *version));
                }
            }
            _ => {}
        }
    }
    none(violations)
}

fn has_ended(pod: &Version<'_>) -> bool {
    let phase = &pod.object["status"]["phase"];
    pod.change == Change::Deleted || phase == "Succeeded" || phase == "Failed"
}

impl Load<'_> {
    fn excess(&self) -> Option<String> {
        let allocatable = self.allocatable.as_ref()?;
        let mut schedulers = self.pods.values().map(|(_, scheduler)| scheduler);
        let first = schedulers.next()?;
        if schedulers.any(|other| other != first) {
            return None;
        }
        let mut sums: Amounts<'_> = BTreeMap::new();
        for (requests, _) in self.pods.values() {
            add(&mut sums, requests);
        }
        sums.into_iter().find_map(|(resource, sum)| {
            let most = allocatable.get(resource).copied().unwrap_or(0);
            (sum > most).then(|| format!("{} {resource} of {} allocatable", number(sum), number(most)))
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn number(amount: Amount) -> f64 {
    amount as f64 / ONE as f64
}
