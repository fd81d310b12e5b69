//! Reports gates that other controllers added to a PodGang's pods (STAT-09). A scheduler reports nothing
//! about a gated pod, although one can hold back every pod of a tree on kube-scheduler 1.37.

use std::collections::BTreeMap;

use grove_api::names::POD_GANG_GATE;
use kube::ResourceExt;

use super::shortened;
use crate::cache::gang_view::GangView;
use crate::cache::observed_pod::Pod;
use crate::faults::fault;

const PREFIX: &str = "the scheduler ignores pods with scheduling gates that Grove did not add: ";
/// Some controllers add a gate with a name of its own to each pod, so the message names only the first ones.
const GATES: usize = 8;
const PODS_PER_GATE: usize = 3;

pub(super) fn message(view: &GangView) -> Option<String> {
    let pods = view.pods();
    let mut gated: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pod in &pods {
        for gate in pod.gates().filter(|gate| *gate != POD_GANG_GATE) {
            gated.entry(gate).or_default().push(pod.name_any());
        }
    }
    if gated.is_empty() {
        return None;
    }
    let gates = gated.into_iter().map(|(gate, pods)| format!("{gate} ({})", shortened(&pods, PODS_PER_GATE)));
    let gates: Vec<_> = gates.collect();
    let most = if fault!("report-first-gate") { 1 } else { GATES };
    let listed = shortened(&gates, most);
    Some(format!("{PREFIX}{listed}"))
}

/// Returns the gates that a message lists.
pub(super) fn listed_in(message: &str) -> Option<&str> {
    message.split_once(PREFIX).map(|(_, listed)| listed)
}

pub(super) fn has_none(pod: &Pod) -> bool {
    pod.gates().all(|gate| gate == POD_GANG_GATE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::cache::gang_view::PodGroupView;

    /// The gates of a pod are separated by spaces.
    fn reported(pods: &[(&str, &str)]) -> Option<String> {
        let pod = |(name, gates): &(&str, &str)| {
            let gates: Vec<_> = gates.split_whitespace().map(|gate| json!({"name": gate})).collect();
            let pod = json!({"metadata": {"name": name}, "spec": {"schedulingGates": gates}});
            Arc::new(serde_json::from_value::<Pod>(pod).unwrap())
        };
        let podgroup = PodGroupView {
            name: "wl-0-a".to_owned(),
            min_replicas: 1,
            wanted: Some(1),
            pods: pods.iter().map(pod).collect(),
            former: Vec::new(),
        };
        message(&GangView { podgroups: vec![podgroup] })
    }

    #[rstest::rstest]
    #[case::groves_gate(&[("p0", "grove.io/podgang-pending-creation")], None)]
    #[case::one(&[("p0", ""), ("p1", "a.com/x")], Some("a.com/x (p1)"))]
    #[case::with_groves_gate(&[("p0", "grove.io/podgang-pending-creation a.com/x")], Some("a.com/x (p0)"))]
    #[case::two_on_one_pod(&[("p0", "b.com/y a.com/x")], Some("a.com/x (p0), b.com/y (p0)"))]
    #[case::on_two_pods(&[("p0", "b.com/y"), ("p1", "b.com/y a.com/x")], Some("a.com/x (p1), b.com/y (p0, p1)"))]
    #[case::on_many_pods(
        &[("p0", "a.com/x"), ("p1", "a.com/x"), ("p2", "a.com/x"), ("p3", "a.com/x"), ("p4", "a.com/x")],
        Some("a.com/x (p0, p1, p2 and 2 more)")
    )]
    fn every_foreign_gate_is_reported_with_its_pods(
        #[case] pods: &[(&str, &str)],
        #[case] listed: Option<&str>,
    ) {
        let wanted = listed.map(|listed| {
            format!("the scheduler ignores pods with scheduling gates that Grove did not add: {listed}")
        });
        assert_eq!(reported(pods), wanted);
    }

    #[test]
    fn the_message_is_short_even_if_every_gate_has_another_name() {
        let gates: Vec<_> = (10..40).map(|number| format!("a.com/{number}")).collect();
        let found = reported(&[("p0", &gates.join(" "))]).unwrap();
        assert!(found.contains("a.com/17 (p0) and 22 more") && !found.contains("a.com/18"), "{found}");
    }
}
