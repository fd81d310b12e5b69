//! The hard gang and its surplus. Surplus pods exceed the minimum of their podgroup. A scheduler that only
//! counts pods may bind surplus pods as the minimum, so some backends hold surplus pods back.

use grove_api::PodGang;
use grove_api::names::{LABEL_POD_CLIQUE, LABEL_POD_INDEX, POD_GANG_GATE};
use kube::ResourceExt;

use super::GangState;
use super::domain::node_name;
use crate::cache::observed_pod::Pod;

pub(super) fn index(pod: &Pod) -> Option<i32> {
    pod.labels().get(LABEL_POD_INDEX)?.parse().ok()
}

/// Members are the pods with the lowest indexes. A pod without an index or podgroup is surplus.
pub(super) fn is_surplus(pod: &Pod, pod_gang: &PodGang) -> bool {
    let podgroups = &pod_gang.spec.podgroups;
    let podgroup =
        podgroups.iter().find(|podgroup| pod.labels().get(LABEL_POD_CLIQUE) == Some(&podgroup.name));
    podgroup.zip(index(pod)).is_none_or(|(podgroup, index)| index >= podgroup.min_replicas)
}

pub(crate) fn is_gated(pod: &Pod) -> bool {
    pod.gates().any(|gate| gate == POD_GANG_GATE)
}

pub(super) fn is_released(gang: &GangState<'_>) -> bool {
    gang.pod_gang.spec.podgroups.iter().all(|podgroup| {
        let released = gang.pods.iter().filter(|pod| {
            pod.labels().get(LABEL_POD_CLIQUE) == Some(&podgroup.name)
                && index(pod).is_some_and(|index| index < podgroup.min_replicas)
                && !is_gated(pod)
        });
        usize::try_from(podgroup.min_replicas).is_ok_and(|wanted| released.count() >= wanted)
    })
}

pub(super) fn unbound(gang: &GangState<'_>) -> Option<String> {
    gang.pod_gang.spec.podgroups.iter().find_map(|podgroup| {
        let bound = gang.pods.iter().filter(|pod| {
            pod.labels().get(LABEL_POD_CLIQUE) == Some(&podgroup.name)
                && index(pod).is_some_and(|index| index < podgroup.min_replicas)
                && node_name(pod).is_some()
        });
        let (bound, wanted) = (bound.count(), podgroup.min_replicas);
        (bound < usize::try_from(wanted).unwrap_or(0)).then(|| {
            format!("{bound} of the {wanted} required pods of PodClique {} are bound", podgroup.name)
        })
    })
}

#[cfg(test)]
pub(super) fn released_pods(pod_gang: &PodGang) -> Vec<std::sync::Arc<Pod>> {
    let podgroups = pod_gang.spec.podgroups.iter();
    let members =
        podgroups.flat_map(|podgroup| (0..podgroup.min_replicas).map(|index| (&podgroup.name, index)));
    let pod = |(clique, index): (&String, i32)| {
        let mut pod = Pod::default();
        pod.labels_mut().insert(LABEL_POD_CLIQUE.to_owned(), clique.clone());
        pod.labels_mut().insert(LABEL_POD_INDEX.to_owned(), index.to_string());
        std::sync::Arc::new(pod)
    };
    members.map(pod).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use grove_api::{PodGangSpec, PodGroup};
    use serde_json::json;

    use super::*;

    fn pod(clique: &str, index: i32, node: Option<&str>) -> Arc<Pod> {
        let pod = json!({
            "metadata": {"labels": {LABEL_POD_CLIQUE: clique, LABEL_POD_INDEX: index.to_string()}},
            "spec": {"containers": [], "nodeName": node},
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn pod_gang() -> PodGang {
        let podgroup =
            |name: &str, min_replicas| PodGroup { name: name.into(), min_replicas, ..PodGroup::default() };
        let podgroups = vec![podgroup("a", 2), podgroup("b", 1)];
        PodGang::new("wl-0", PodGangSpec { podgroups, ..PodGangSpec::default() })
    }

    #[rstest::rstest]
    #[case::all_bound(&[("a", 0, true), ("a", 1, true), ("b", 0, true)], None)]
    #[case::one_missing(
        &[("a", 0, true), ("b", 0, true)],
        Some("1 of the 2 required pods of PodClique a are bound")
    )]
    #[case::one_pending(
        &[("a", 0, true), ("a", 1, true), ("b", 0, false)],
        Some("0 of the 1 required pods of PodClique b are bound")
    )]
    #[case::surplus_does_not_count(
        &[("a", 0, true), ("a", 2, true), ("b", 0, true)],
        Some("1 of the 2 required pods of PodClique a are bound")
    )]
    fn unbound_names_the_podgroup_without_its_minimum(
        #[case] pods: &[(&str, i32, bool)],
        #[case] reason: Option<&str>,
    ) {
        let pods: Vec<_> =
            pods.iter().map(|(clique, i, bound)| pod(clique, *i, bound.then_some("n1"))).collect();
        let pod_gang = pod_gang();
        let gang = GangState { pods: &pods, ..GangState::without_pods(&pod_gang) };
        assert_eq!(unbound(&gang).as_deref(), reason);
    }

    #[test]
    fn the_hard_gang_is_released_when_its_last_pod_is() {
        let gated = |pod: &Arc<Pod>| {
            let gates = json!([{"name": POD_GANG_GATE}]);
            let mut pod = (**pod).clone();
            pod.spec.as_mut().unwrap().scheduling_gates = serde_json::from_value(gates).unwrap();
            Arc::new(pod)
        };
        let (a0, a1, b0, surplus) =
            (pod("a", 0, None), pod("a", 1, None), pod("b", 0, None), pod("b", 1, None));
        let pod_gang = pod_gang();
        let released =
            |pods: &[Arc<Pod>]| is_released(&GangState { pods, ..GangState::without_pods(&pod_gang) });
        assert!(released(&[a0.clone(), a1.clone(), b0.clone(), gated(&surplus)]));
        assert!(!released(&[a0.clone(), gated(&a1), b0.clone()]));
        assert!(!released(&[a0, a1]), "b has no pod");
    }

    #[rstest::rstest]
    #[case::member("a", 1, false)]
    #[case::beyond("a", 2, true)]
    #[case::in_no_podgroup("c", 0, true)]
    fn surplus_is_beyond_the_minimum(#[case] clique: &str, #[case] index: i32, #[case] surplus: bool) {
        assert_eq!(is_surplus(&pod(clique, index, None), &pod_gang()), surplus);
    }
}
