use std::collections::BTreeMap;

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{History, SharedMark, Version};
use serde_json::Value;

use crate::{Shown, ensure, none, violation};

const LOOSE_POD_RELEASED: Code = Code::new("loose-pod-released");
const CONTROLLER_RESTARTED: Code = Code::new("controller-restarted");

/// Requires that pods of the target's scheduler without a scheduling group stay gated and unbound (KUBE-16).
/// All pods of the workload must belong to the hard gang. A gap in the watch does not matter, because the
/// scheduling group of a pod never changes.
pub fn no_loose_pods(history: &History) -> Ruling {
    let scheduler = history.header.target.backend();
    let of_target = |version: &Version<'_>| version.object["spec"]["schedulerName"] == scheduler;
    if !history.pods().any(|version| of_target(&version)) {
        return Err(Broken::NotReached("no pod ever existed".into()));
    }
    let mut loose: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    for version in history.pods().filter(of_target) {
        let pod = version.pod();
        let group = &version.object["spec"]["schedulingGroup"]["podGroupName"];
        if !group.is_string() && (pod.gates().is_empty() || pod.node().is_some()) {
            loose.entry(pod.uid()).or_insert(version);
        }
    }
    none(loose.into_values().map(|version| {
        violation(
            LOOSE_POD_RELEASED,
            format!("Pod {} had neither a scheduling gate nor a scheduling group", version.name()),
        )
        .shown_by("without scheduling group", version)
    }))
}

pub fn one_process(history: &History) -> Ruling {
    let pids: Vec<&Value> =
        history.marks(SharedMark::Controller).map(|(_, mark)| &mark.detail["pid"]).collect();
    let [first, rest @ .., last] = pids.as_slice() else {
        return Err(Broken::NotReached("the controller process was recorded fewer than two times".into()));
    };
    ensure(rest.iter().chain([last]).all(|pid| pid == first), || {
        violation(CONTROLLER_RESTARTED, "the controller was restarted")
    })
}

#[cfg(test)]
#[path = "missing_apis_tests.rs"]
mod tests;
