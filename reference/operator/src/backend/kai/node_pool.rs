//! The scheduler of a node pool schedules the PodGroups and pods with the pool's label. Without it, they
//! belong to the default pool. A gang is in one pool, so all its cliques need the same label (KAI-09).

use grove_api::{PodCliqueSet, PodGang};
use kube::ResourceExt;

use super::api::LABEL_NODE_POOL;
use crate::backend::FieldError;

const KEPT: &str = "KAI keeps the node pool of an existing PodGroup; recreate the PodCliqueSet";

pub(super) fn of_pcs(pcs: &PodCliqueSet) -> Result<Option<&str>, FieldError> {
    let mut all = named(pcs);
    let Some((first, place)) = all.next() else { return Ok(None) };
    match all.find(|(other, _)| *other != first) {
        Some((other, path)) => {
            let message =
                format!("{other:?} differs from {first:?} in {place}: all cliques need the same node pool");
            Err(FieldError::invalid(path, message))
        }
        None => Ok(Some(first)),
    }
}

pub(super) fn of_gang(pod_gang: &PodGang) -> Option<&str> {
    pod_gang.labels().get(LABEL_NODE_POOL).map(String::as_str).filter(|pool| !pool.is_empty())
}

pub(super) fn check(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Option<FieldError> {
    let pool = match of_pcs(pcs) {
        Ok(pool) => pool,
        Err(error) => return Some(error),
    };
    let before = of_pcs(old.filter(|old| old.spec.replicas > 0)?).ok()?;
    (before != pool).then(|| {
        let path = named(pcs).next().map_or_else(|| path("metadata"), |(_, path)| path);
        let quoted = |pool: Option<&str>| pool.map_or_else(|| "none".to_owned(), |pool| format!("{pool:?}"));
        let (before, pool) = (quoted(before), quoted(pool));
        let message =
            format!("the node pool cannot change from {before} to {pool} while PodGangs exist: {KEPT}");
        FieldError::forbidden(path, message)
    })
}

fn named(pcs: &PodCliqueSet) -> impl Iterator<Item = (&str, String)> {
    let own = [("metadata".to_owned(), pcs.labels())];
    let cliques = pcs.spec.template.cliques.iter().enumerate();
    let cliques = cliques.map(|(i, clique)| (format!("spec.template.cliques[{i}]"), &clique.labels));
    own.into_iter().chain(cliques).filter_map(|(metadata, labels)| {
        let pool = labels.get(LABEL_NODE_POOL).filter(|pool| !pool.is_empty())?;
        Some((pool.as_str(), path(&metadata)))
    })
}

fn path(metadata: &str) -> String {
    format!("{metadata}.labels[{LABEL_NODE_POOL}]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A PodCliqueSet and two cliques with these pools; an empty text means no label.
    fn pcs(replicas: i32, pools: [&str; 3]) -> PodCliqueSet {
        let labels = |pool: &str| if pool.is_empty() { json!({}) } else { json!({LABEL_NODE_POOL: pool}) };
        let [own, a, b] = pools.map(labels);
        let clique = |name: &str, labels| json!({"name": name, "labels": labels, "spec": {"replicas": 1, "podSpec": {}}});
        let template = json!({"cliques": [clique("a", a), clique("b", b)]});
        serde_json::from_value(json!({
            "metadata": {"name": "wl", "labels": own},
            "spec": {"replicas": replicas, "template": template},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::none(["", "", ""], None)]
    #[case::of_the_pod_clique_set(["p", "", ""], Some("p"))]
    #[case::of_a_clique(["", "", "p"], Some("p"))]
    #[case::all_alike(["p", "p", "p"], Some("p"))]
    fn all_labels_must_name_one_pool(#[case] pools: [&str; 3], #[case] wanted: Option<&str>) {
        assert_eq!(of_pcs(&pcs(1, pools)), Ok(wanted));
    }

    #[test]
    fn several_pools_or_a_changed_pool_are_refused() {
        let errors = [
            check(&pcs(0, ["", "p", "q"]), None),
            check(&pcs(1, ["q", "", ""]), Some(&pcs(1, ["p", "", ""]))),
            check(&pcs(1, ["", "", ""]), Some(&pcs(1, ["", "p", ""]))),
        ];
        let errors = errors.map(|error| error.unwrap().to_string()).join("\n");
        insta::assert_snapshot!(errors, @r#"
        spec.template.cliques[1].labels[kai.scheduler/node-pool]: Invalid value: "q" differs from "p" in spec.template.cliques[0].labels[kai.scheduler/node-pool]: all cliques need the same node pool
        metadata.labels[kai.scheduler/node-pool]: Forbidden: the node pool cannot change from "p" to "q" while PodGangs exist: KAI keeps the node pool of an existing PodGroup; recreate the PodCliqueSet
        metadata.labels[kai.scheduler/node-pool]: Forbidden: the node pool cannot change from "p" to none while PodGangs exist: KAI keeps the node pool of an existing PodGroup; recreate the PodCliqueSet
        "#);
        assert_eq!(check(&pcs(1, ["q", "", ""]), Some(&pcs(0, ["p", "", ""]))), None);
    }
}
