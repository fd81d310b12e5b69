//! An autoscaler has the name of its scale target (AUTO-01).

use futures::FutureExt;
use grove_api::PodCliqueSet;
use kube::{Resource, ResourceExt};

use crate::cache::kinds::HorizontalPodAutoscaler;
use crate::cache::ownership::controller;
use crate::context::Context;
use crate::context::children::{Children, Write};
use crate::plan::autoscaler_objects::{autoscalers, change};

const REASON_NOT_OWNED: &str = "HorizontalPodAutoscalerNotOwned";
const REASON_FAILED: &str = "HorizontalPodAutoscalerFailed";

pub(super) async fn writes<'a>(context: &'a Context, pcs: &'a PodCliqueSet, key: &str) -> Vec<Write<'a>> {
    let cache = &context.caches.autoscalers;
    let mut children = Children::new(context, pcs, cache, change);
    let mut foreign = Vec::new();
    for wanted in autoscalers(pcs) {
        let found = cache.get(pcs.namespace().as_deref(), &wanted.name_any());
        match found.is_some_and(|found| is_foreign(&found, pcs)) {
            true => foreign.push(wanted.name_any()),
            false => children.want(wanted),
        }
    }
    match foreign.is_empty() {
        true => context.events.reset_warning(pcs, REASON_NOT_OWNED),
        false => {
            let note = format!(
                "HorizontalPodAutoscaler {} belongs to another owner, and the operator leaves it unchanged: \
                 delete it to use the scale configuration of the template",
                foreign.join(", ")
            );
            context.events.warn(pcs, REASON_NOT_OWNED, &note).await;
        }
    }
    // Report errors, because only the user can fix a metric that the API server rejects.
    let report = |write: Write<'a>| {
        async move { context.events.report(pcs, REASON_FAILED, write.await).await }.boxed()
    };
    children.finish(key).into_iter().map(report).collect()
}

/// Excludes autoscalers of a deleted PodCliqueSet of the same name, which garbage collection deletes.
fn is_foreign(found: &HorizontalPodAutoscaler, pcs: &PodCliqueSet) -> bool {
    let is_named = |owner: &str, kind: &str| owner == pcs.name_any() && kind == PodCliqueSet::kind(&());
    controller(found).is_none_or(|owner| !is_named(&owner.name, &owner.kind))
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::*;
    use crate::cache::caches::object_key;
    use crate::context::children;
    use crate::context::test_api::World;
    use crate::plan::autoscaler_objects::tests::pcs;

    async fn step(world: &World, pcs: &PodCliqueSet) -> Vec<(String, Value)> {
        children::all(writes(&world.context, pcs, &object_key("ns", "wl")).await).await.unwrap();
        world.written()
    }

    #[tokio::test]
    async fn existing_autoscalers_are_kept_and_unwanted_ones_deleted() {
        let mut world = World::new();
        let created = step(&world, &pcs(2)).await;
        assert_eq!(created.len(), 4, "{created:?}");
        world.deliver(&created);
        assert_eq!(step(&world, &pcs(2)).await, []);
        let mut deleted = step(&world, &pcs(1)).await;
        deleted.sort_by(|(a, _), (b, _)| a.cmp(b));
        let path = "/apis/autoscaling/v2/namespaces/ns/horizontalpodautoscalers";
        let requests: Vec<_> = deleted.into_iter().map(|(request, _)| request).collect();
        assert_eq!(requests, [format!("DELETE {path}/wl-1-a"), format!("DELETE {path}/wl-1-sg")]);
        let mut changed = pcs(2);
        changed.spec.template.cliques[0].spec.auto_scaling_config.as_mut().unwrap().max_replicas = 9;
        let patches = step(&world, &changed).await;
        assert!(
            patches.iter().all(|(_, patch)| *patch == json!({"spec": {"maxReplicas": 9}})),
            "{patches:?}"
        );
        assert_eq!(patches.len(), 2);
    }

    #[tokio::test]
    async fn an_autoscaler_of_another_owner_is_not_taken_over() {
        let mut world = World::new();
        let mut foreign = autoscalers(&pcs(1)).remove(0);
        foreign.metadata.owner_references = None;
        foreign.metadata.uid = Some("theirs".to_owned());
        foreign.spec.max_replicas = 99;
        world.feeds.autoscalers.take(Event::Apply(foreign));
        let written = step(&world, &pcs(1)).await;
        let of_kind = |kind: &str| written.iter().filter(|(request, _)| request.ends_with(kind)).count();
        assert_eq!((of_kind("horizontalpodautoscalers"), of_kind("events")), (1, 1), "{written:?}");
        assert_eq!(
            step(&world, &pcs(1)).await.iter().filter(|(_, body)| body["reason"].is_string()).count(),
            0
        );
    }
}
