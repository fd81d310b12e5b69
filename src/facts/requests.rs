use std::collections::BTreeMap;

use conformance_history::list;
use serde_json::{Value, json};

use crate::quantity::{Amount, ONE, amount};

pub type Amounts<'a> = BTreeMap<&'a str, Amount>;

/// Invalid quantities are omitted.
pub fn amounts(quantities: &Value) -> Amounts<'_> {
    let all = quantities.as_object().into_iter().flatten();
    all.filter_map(|(resource, quantity)| Some((resource.as_str(), amount(quantity)?))).collect()
}

pub fn add<'a>(sums: &mut Amounts<'a>, more: &Amounts<'a>) {
    for (resource, amount) in more {
        *sums.entry(resource).or_default() += amount;
    }
}

/// Returns the requests of a pod whose `spec` has the API server's defaults. The amount is the larger of two:
/// the sum of containers and sidecars, and the maximum over init containers, each with the sidecars before
/// it. Pod-level requests replace this amount. Overhead and one unit of `pods` are added.
pub fn of_running(spec: &Value) -> Amounts<'_> {
    let mut requests = of_containers(spec);
    requests.extend(amounts(&spec["resources"]["requests"]));
    add(&mut requests, &amounts(&spec["overhead"]));
    requests.insert("pods", ONE);
    requests
}

fn of_containers(spec: &Value) -> Amounts<'_> {
    let mut running = Amounts::new();
    for container in list(&spec["containers"]) {
        add(&mut running, &amounts(&container["resources"]["requests"]));
    }
    let (mut sidecars, mut most) = (Amounts::new(), Amounts::new());
    for container in list(&spec["initContainers"]) {
        let mut starting = amounts(&container["resources"]["requests"]);
        if container["restartPolicy"] == "Always" {
            add(&mut sidecars, &starting);
            starting.clear();
        }
        add(&mut starting, &sidecars);
        raise(&mut most, &starting);
    }
    add(&mut running, &sidecars);
    raise(&mut running, &most);
    running
}

fn raise<'a>(to: &mut Amounts<'a>, least: &Amounts<'a>) {
    for (resource, amount) in least {
        let known = to.entry(resource).or_default();
        *known = (*known).max(*amount);
    }
}

/// Returns the pod spec of a manifest with the resources that the API server adds:
///
/// - A container without a request for a resource requests its limit.
/// - A pod with a pod-level limit requests what its containers request, and otherwise its limit.
/// - Hugepages cannot be overcommitted. Those of containers are a pod-level limit, unless the pod has one.
#[must_use]
pub fn defaulted(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for containers in ["containers", "initContainers"] {
        for container in spec.get_mut(containers).and_then(Value::as_array_mut).into_iter().flatten() {
            let limits = container["resources"]["limits"].clone();
            fill(container, "requests", &limits, |_| true);
        }
    }
    let has = |spec: &Value, field: &str| {
        spec["resources"][field].as_object().is_some_and(|amounts| !amounts.is_empty())
    };
    if has(&spec, "limits") || has(&spec, "requests") {
        let requested = of_containers(&spec).into_iter();
        let requested = requested.map(|(name, amount)| (name.to_owned(), json!(format!("{amount}n"))));
        let requested = Value::Object(requested.collect());
        let of_pod = spec["resources"]["requests"].clone();
        fill(&mut spec, "limits", &requested, |name| is_hugepages(name) && of_pod[name].is_null());
        if has(&spec, "limits") {
            fill(&mut spec, "requests", &requested, |name| !is_hugepages(name));
            let limits = spec["resources"]["limits"].clone();
            fill(&mut spec, "requests", &limits, |_| true);
        }
    }
    spec
}

fn is_hugepages(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}

/// Adds the selected amounts to the field of `resources`, unless it has them.
fn fill(of: &mut Value, field: &str, amounts: &Value, is_selected: impl Fn(&str) -> bool) {
    for (resource, amount) in amounts.as_object().into_iter().flatten() {
        if of["resources"][field][resource.as_str()].is_null() && is_selected(resource) {
            if !of["resources"][field].is_object() {
                of["resources"][field] = json!({});
            }
            of["resources"][field][resource.as_str()] = amount.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(gpus: u32) -> Value {
        json!({"resources": {"requests": {"gpu": gpus}}})
    }

    fn sidecar(gpus: u32) -> Value {
        json!({"restartPolicy": "Always", "resources": {"requests": {"gpu": gpus}}})
    }

    #[rstest::rstest]
    #[case::sum_of_containers(json!({"containers": [container(2), container(3)]}), 5)]
    #[case::larger_init_container(json!({"containers": [container(2)], "initContainers": [container(3)]}), 3)]
    #[case::smaller_init_container(json!({"containers": [container(4)], "initContainers": [container(3)]}), 4)]
    #[case::init_containers_run_one_by_one(
        json!({"containers": [container(2)], "initContainers": [container(3), container(3)]}), 3
    )]
    #[case::sidecar(json!({"containers": [container(8)], "initContainers": [sidecar(1)]}), 9)]
    #[case::sidecar_before_an_init_container(
        json!({"containers": [container(1)], "initContainers": [sidecar(2), container(4)]}), 6
    )]
    #[case::sidecar_after_an_init_container(
        json!({"containers": [container(1)], "initContainers": [container(4), sidecar(2)]}), 4
    )]
    #[case::overhead(json!({"containers": [container(2)], "overhead": {"gpu": 1}}), 3)]
    #[case::limit(json!({"containers": [{"resources": {"limits": {"gpu": 2}}}]}), 2)]
    #[case::limit_above_the_request(
        json!({"containers": [{"resources": {"limits": {"gpu": 2}, "requests": {"gpu": 1}}}]}), 1
    )]
    #[case::pod_level_request(
        json!({"containers": [container(2)], "resources": {"requests": {"gpu": 3}}}), 3
    )]
    #[case::pod_level_limit(json!({"containers": [{}], "resources": {"limits": {"gpu": 3}}}), 3)]
    #[case::pod_level_limit_above_the_containers(
        json!({"containers": [container(2)], "resources": {"limits": {"gpu": 3}}}), 2
    )]
    #[case::nothing(json!({"containers": [{"name": "c"}]}), 0)]
    fn the_requests_of_a_pod_are_what_the_scheduler_counts(#[case] spec: Value, #[case] wanted: Amount) {
        let spec = defaulted(&spec);
        assert_eq!(of_running(&spec).get("gpu").copied().unwrap_or(0), wanted * ONE);
        assert_eq!(of_running(&spec)["pods"], ONE);
    }

    #[test]
    fn pod_level_resources_include_those_of_containers() {
        let of_container = json!({"limits": {"memory": "1Gi", "hugepages-2Mi": "4Mi"}});
        let spec = |of_pod: Value| {
            defaulted(&json!({"containers": [{"resources": of_container}], "resources": of_pod}))
        };
        let with_limit = spec(json!({"limits": {"cpu": "2"}}));
        let names = |field: &str| amounts(&with_limit["resources"][field]).into_keys().collect::<Vec<_>>();
        assert_eq!(names("limits"), ["cpu", "hugepages-2Mi"]);
        assert_eq!(names("requests"), ["cpu", "hugepages-2Mi", "memory"]);
        let requests = of_running(&with_limit);
        assert_eq!((requests["cpu"], requests["memory"]), (2 * ONE, 1024 * 1024 * 1024 * ONE));
        assert_eq!(spec(Value::Null)["resources"], Value::Null, "the pod has no resources of its own");
    }

    #[test]
    fn hugepages_of_the_pod_are_requested_despite_those_of_a_container() {
        let spec = json!({
            "containers": [{"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}],
            "resources": {"limits": {"hugepages-2Mi": "4Mi"}},
        });
        assert_eq!(of_running(&defaulted(&spec))["hugepages-2Mi"], 4 * 1024 * 1024 * ONE);
    }
}
