use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{Live, Pod, count};
use serde_json::Value;

use super::{Shown, none, violation};

const SERVICE_MISSING: Code = Code::new("service-missing");
const WRONG_SERVICE: Code = Code::new("wrong-service");

/// Requires that each replica of a PodCliqueSet has a headless Service of its pods (GANG-28). The pods of a
/// replica are those that name its Service. An invariant checks these names.
pub fn select_their_pods(live: &Live, set: &str) -> Ruling {
    let Some(pcs) = live.get("PodCliqueSet", set) else {
        return Err(Broken::NotReached(format!("PodCliqueSet {set} does not exist")));
    };
    let config = &pcs["spec"]["template"]["headlessServiceConfig"];
    let publishes = config["publishNotReadyAddresses"] != false;
    none((0..count(&pcs["spec"]["replicas"]).unwrap_or(0)).filter_map(|replica| {
        let name = format!("{set}-{replica}");
        let Some(service) = live.get("Service", &name) else {
            return Some(violation(SERVICE_MISSING, format!("Service {name} does not exist")));
        };
        let fault = fault(live, service, &name, publishes)?;
        let message = format!("Service {name} {fault}");
        Some(violation(WRONG_SERVICE, message).shown_by_object("the Service", service))
    }))
}

fn fault(live: &Live, service: &Value, name: &str, publishes: bool) -> Option<String> {
    let spec = &service["spec"];
    if spec["clusterIP"] != "None" {
        return Some(format!("has clusterIP {}, want None", spec["clusterIP"]));
    }
    if spec["publishNotReadyAddresses"].as_bool().unwrap_or(false) != publishes {
        let not = if publishes { "does not publish" } else { "publishes" };
        return Some(format!("{not} the addresses of pods that are not Ready"));
    }
    let selector = spec["selector"].as_object().filter(|selector| !selector.is_empty());
    let selects = |pod: Pod<'_>| {
        selector.is_some_and(|labels| labels.iter().all(|(key, value)| pod.label(key) == value.as_str()))
    };
    live.pods().filter(|pod| !pod.is_terminating()).find_map(|pod| {
        let is_of_replica = pod.0["spec"]["subdomain"] == name;
        match (is_of_replica, selects(pod)) {
            (true, false) => Some(format!("does not select Pod {}, which names it as subdomain", pod.name())),
            (false, true) => Some(format!("selects Pod {}, which does not name it as subdomain", pod.name())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_history::testing::{Story, object, one_clique, worker};
    use serde_json::json;

    use super::*;
    use crate::message;

    fn objects() -> Vec<Value> {
        let mut set = one_clique("w", 1);
        set["spec"]["replicas"] = json!(2);
        let of_replica = |replica: &str| {
            let mut service = object("Service", &format!("w-{replica}"));
            let selector = json!({names::PART_OF: "w", names::REPLICA_INDEX: replica});
            service["spec"] =
                json!({"clusterIP": "None", "publishNotReadyAddresses": true, "selector": selector});
            let mut pod = worker("w", 0, None);
            pod["metadata"]["name"] = json!(format!("p{replica}"));
            pod["metadata"]["labels"][names::REPLICA_INDEX] = json!(replica);
            pod["spec"]["subdomain"] = json!(format!("w-{replica}"));
            [service, pod]
        };
        [set].into_iter().chain(of_replica("0")).chain(of_replica("1")).collect()
    }

    fn ruling(objects: Vec<Value>) -> Ruling {
        select_their_pods(&Story::flat().all_added(objects).end().end(), "w")
    }

    #[test]
    fn a_headless_service_of_each_replica_is_no_violation() {
        assert_eq!(ruling(objects()), Ok(()));
        let mut hidden = objects();
        hidden[0]["spec"]["template"]["headlessServiceConfig"] = json!({"publishNotReadyAddresses": false});
        for index in [1, 3] {
            hidden[index]["spec"]["publishNotReadyAddresses"] = Value::Null;
        }
        assert_eq!(ruling(hidden), Ok(()), "false is the default of the API");
        let mut ends = objects();
        ends[4]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        ends[4]["metadata"]["labels"] = json!({});
        assert_eq!(ruling(ends), Ok(()), "a terminating pod may stay or leave");
    }

    #[rstest::rstest]
    #[case::cluster_ip(1, "/spec/clusterIP", json!("10.0.0.1"), "has clusterIP \"10.0.0.1\", want None")]
    #[case::hidden(
        1, "/spec/publishNotReadyAddresses", json!(false),
        "does not publish the addresses of pods that are not Ready"
    )]
    #[case::published(
        0, "/spec/template", json!({"headlessServiceConfig": {"publishNotReadyAddresses": false}}),
        "publishes the addresses of pods that are not Ready"
    )]
    #[case::no_selector(
        1, "/spec/selector", json!({}), "does not select Pod p0, which names it as subdomain"
    )]
    #[case::every_replica(
        1, "/spec/selector", json!({names::PART_OF: "w"}),
        "selects Pod p1, which does not name it as subdomain"
    )]
    #[case::label(
        2,
        "/metadata/labels/grove.io~1podcliqueset-replica-index",
        Value::Null,
        "does not select Pod p0, which names it as subdomain"
    )]
    fn a_service_that_does_not_find_its_pods_is_a_violation(
        #[case] object: usize,
        #[case] at: &str,
        #[case] value: Value,
        #[case] wanted: &str,
    ) {
        let mut objects = objects();
        *objects[object].pointer_mut(at).unwrap() = value;
        assert_eq!(message(ruling(objects)), format!("Service w-0 {wanted}"));
    }

    #[test]
    fn a_replica_without_a_service_is_a_violation() {
        let mut objects = objects();
        objects.remove(3);
        assert_eq!(message(ruling(objects)), "Service w-1 does not exist");
        assert!(matches!(ruling(Vec::new()), Err(Broken::NotReached(_))));
    }
}
