//! Plans the HorizontalPodAutoscalers. The API server rewrites quantities, and adds a metric if there is
//! none. So metrics are compared by meaning, and an unchanged autoscaler is never written (GANG-11).

use grove_api::{AutoScalingConfig, PodClique, PodCliqueScalingGroup, PodCliqueSet, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use serde_json::{Map, Value, json};

use super::patches;
use crate::cache::kinds::{AutoscalerSpec, HorizontalPodAutoscaler};
use crate::cache::ownership::owner_reference;

pub(crate) fn autoscalers(pcs: &PodCliqueSet) -> Vec<HorizontalPodAutoscaler> {
    let (template, pcs_name) = (&pcs.spec.template, pcs.name_any());
    let of_replica = |i: i32| {
        let cliques = template.standalone_cliques().filter_map(|clique| {
            let name = names::standalone_pod_clique(&pcs_name, i, &clique.name);
            let config = clique.spec.auto_scaling_config.as_ref()?;
            Some(autoscaler(pcs, i, target::<PodClique>(&name), name, config, clique.spec.replicas))
        });
        let groups = template.pod_clique_scaling_groups.iter().filter_map(|group| {
            let name = names::scaling_group(&pcs_name, i, &group.name);
            let (config, replicas) = (group.scale_config.as_ref()?, group.replicas.unwrap_or(1));
            Some(autoscaler(pcs, i, target::<PodCliqueScalingGroup>(&name), name, config, replicas))
        });
        cliques.chain(groups).collect::<Vec<_>>()
    };
    (0..pcs.spec.replicas).flat_map(of_replica).collect()
}

fn target<K: Resource<DynamicType = ()>>(name: &str) -> Value {
    json!({"apiVersion": K::api_version(&()), "kind": K::kind(&()), "name": name})
}

fn autoscaler(
    pcs: &PodCliqueSet,
    i: i32,
    scale_target_ref: Value,
    name: String,
    config: &AutoScalingConfig,
    replicas: i32,
) -> HorizontalPodAutoscaler {
    let mut labels = names::object_labels(&pcs.name_any(), &name, names::COMPONENT_AUTOSCALER);
    labels.insert(names::LABEL_PCS_REPLICA_INDEX.to_owned(), i.to_string());
    let metadata = ObjectMeta {
        name: Some(name),
        namespace: pcs.namespace(),
        labels: Some(labels),
        owner_references: owner_reference(pcs).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    let spec = AutoscalerSpec {
        scale_target_ref,
        min_replicas: Some(config.min_replicas.unwrap_or(replicas)),
        max_replicas: config.max_replicas,
        metrics: config.metrics.clone(),
    };
    HorizontalPodAutoscaler { metadata, spec }
}

pub(crate) fn change(
    existing: &HorizontalPodAutoscaler,
    wanted: &HorizontalPodAutoscaler,
) -> serde_json::Result<Option<Value>> {
    let mut to = wanted.spec.clone();
    if meaning(&existing.spec.metrics) == meaning(&to.metrics) {
        to.metrics.clone_from(&existing.spec.metrics);
    }
    let specs = [serde_json::to_value(&existing.spec)?, serde_json::to_value(to)?];
    Ok(patches::change(existing, wanted, specs))
}

fn meaning(metrics: &[Value]) -> Vec<Value> {
    if metrics.is_empty() {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        return vec![json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})];
    }
    metrics.iter().map(with_numbers).collect()
}

fn with_numbers(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                let number =
                    matches!(key.as_str(), "value" | "averageValue").then(|| quantity(value)).flatten();
                (key.clone(), number.map_or_else(|| with_numbers(value), Value::from))
            };
            Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(with_numbers).collect(),
        other => other.clone(),
    }
}

fn quantity(value: &Value) -> Option<f64> {
    let Some(text) = value.as_str() else { return value.as_f64() };
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|known| *known == suffix);
    let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].iter().position(|known| *known == suffix);
    let number: f64 = number.parse().ok()?;
    let power = |exponent: usize| i32::try_from(exponent).unwrap_or(0);
    match (binary, decimal, suffix.strip_prefix(['e', 'E'])) {
        (Some(exponent), ..) => Some(number * 1024_f64.powi(power(exponent) + 1)),
        (_, Some(exponent), _) => Some(number * 1000_f64.powi(power(exponent) - 3)),
        (.., Some(exponent)) => Some(number * 10_f64.powi(exponent.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn metric(value: Value) -> Value {
        let target = json!({"type": "AverageValue", "averageValue": value});
        json!({"type": "Pods", "pods": {"metric": {"name": "queue"}, "target": target}})
    }

    pub(crate) fn pcs(replicas: i32) -> PodCliqueSet {
        let clique = |name: &str, config: Value| json!({"name": name, "spec": {"podSpec": {}, "replicas": 3, "minAvailable": 2, "autoScalingConfig": config}});
        serde_json::from_value(json!({
            "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl"},
            "spec": {"replicas": replicas, "template": {
                "cliques": [
                    clique("a", json!({"maxReplicas": 5, "metrics": [metric(json!(1))]})),
                    clique("b", json!(null)),
                    clique("c", json!(null)),
                ],
                "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "cliqueNames": ["c"],
                                            "scaleConfig": {"minReplicas": 1, "maxReplicas": 4}}],
            }},
        }))
        .unwrap()
    }

    #[test]
    fn each_replica_has_an_autoscaler_per_configured_target() {
        let line = |found: HorizontalPodAutoscaler| {
            let AutoscalerSpec { scale_target_ref, min_replicas, max_replicas, metrics } = &found.spec;
            let (kind, target) = (&scale_target_ref["kind"], &scale_target_ref["name"]);
            let min = min_replicas.unwrap_or(0);
            format!("{} {kind} {target} {min} {max_replicas} {}", found.name_any(), metrics.len())
        };
        let lines: Vec<_> = autoscalers(&pcs(2)).into_iter().map(line).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        wl-0-a "PodClique" "wl-0-a" 3 5 1
        wl-0-sg "PodCliqueScalingGroup" "wl-0-sg" 1 4 0
        wl-1-a "PodClique" "wl-1-a" 3 5 1
        wl-1-sg "PodCliqueScalingGroup" "wl-1-sg" 1 4 0
        "#);
    }

    #[rstest::rstest]
    #[case(json!(1), json!("1"), true)]
    #[case(json!("1500m"), json!("1.5"), true)]
    #[case(json!("1k"), json!(1000), true)]
    #[case(json!("1Ki"), json!("1024"), true)]
    #[case(json!("1e3"), json!("1k"), true)]
    #[case(json!("2"), json!("1"), false)]
    #[case(json!("odd"), json!("1"), false)]
    fn equal_quantities_are_equal_in_any_notation(
        #[case] wanted: Value,
        #[case] stored: Value,
        #[case] same: bool,
    ) {
        assert_eq!(meaning(&[metric(wanted)]) == meaning(&[metric(stored)]), same);
    }
}
