use conformance_contract::names;
use conformance_history::{Pod, counted_pods, name, text};
use serde_json::Value;

/// Plain pods that must be bound all together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlainGang {
    pub name: String,
    pub pods: usize,
}

impl PlainGang {
    /// The gang that a pod of a manifest describes. Its annotation states the size; the default is 1.
    pub(crate) fn of(pod: &Value) -> Self {
        let pods = text(&pod["metadata"]["annotations"][names::GANG_SIZE]).parse();
        Self { name: name(pod).to_owned(), pods: pods.unwrap_or(1) }
    }

    pub(crate) fn pod_names(&self) -> impl Iterator<Item = String> {
        (0..self.pods).map(|index| format!("{}-{index}", self.name))
    }

    pub(crate) fn has(&self, pod: Pod<'_>) -> bool {
        pod.label(names::GANG) == Some(&self.name)
    }
}

impl std::fmt::Display for PlainGang {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "gang {} ({})", self.name, counted_pods(self.pods))
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::{AI_CONFORMANCE_TARGETS, Target};
    use conformance_expect::schedulers::{self, kueue};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_size_of_a_gang_comes_from_the_annotation() {
        let pod = json!({"metadata": {"name": "whole", "annotations": {names::GANG_SIZE: "3"}}});
        let gang = PlainGang::of(&pod);
        assert_eq!((gang.to_string(), gang.pods), ("gang whole (3 pods)".into(), 3));
        assert_eq!(gang.pod_names().collect::<Vec<_>>(), ["whole-0", "whole-1", "whole-2"]);
        let labelled = |name| json!({"metadata": {"labels": {names::GANG: name}}});
        assert!(gang.has(Pod(&labelled("whole"))) && !gang.has(Pod(&labelled("other"))));
        assert_eq!(PlainGang::of(&json!({"metadata": {"name": "one"}})).pods, 1);
    }

    #[test]
    fn every_target_has_a_plain_gang_of_a_gang_resource_and_a_pod() {
        for target in AI_CONFORMANCE_TARGETS {
            let expectations = schedulers::of(target);
            let objects = expectations.plain_gang("whole", 3);
            let [(kind, group), ("Pod", pod)] = objects.as_slice() else { panic!("{target}: {objects:?}") };
            assert!(expectations.kinds().contains(kind), "{target}: {kind}");
            assert_eq!(group["metadata"]["name"], "whole", "{target}");
            let of_group = text(&pod["metadata"]["annotations"][kueue::GROUP_SIZE]).parse().ok();
            assert_eq!(expectations.size(group).or(of_group), Some(3), "{target}");
            assert_eq!(expectations.named_by(Pod(pod)), Some("whole"), "{target}");
            let is_kueue = target == Target::AI_CONFORMANCE_KUEUE;
            let binder = if is_kueue { names::DEFAULT_SCHEDULER } else { target.backend() };
            assert_eq!(pod["spec"]["schedulerName"], binder, "{target}");
            assert_eq!(expectations.kind_of_plain_gang().is_some(), is_kueue, "{target}");
        }
        assert!(schedulers::of(Target::EXTERNAL).plain_gang("whole", 3).is_empty());
    }
}
