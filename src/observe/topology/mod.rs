//! A gang that requires one domain of a topology level. Nodes lack the label of the level.

use conformance_contract::names;
use conformance_contract::scheduler::Scheduler;
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, Live, text};
use serde_json::{Value, json};

use crate::answer::{Answer, Answered, NoAnswer};
use crate::plain_gang::PlainGang;
use crate::{reports, seen, steps};

pub(crate) mod label_on_no_node;
pub(crate) mod label_on_some_nodes;
pub(crate) mod missing_label_in_events;
pub(crate) mod missing_label_on_pods;
pub(crate) mod missing_label_on_resource;

/// Schedulers whose plain gangs require no level.
const WITHOUT_LEVELS: &[(Scheduler, &str)] = &[
    (Scheduler::VOLCANO, "its levels are HyperNodes, which an operator writes"),
    (Scheduler::KOORDINATOR, "its levels are in a ClusterNetworkTopology, which an administrator writes"),
    (Scheduler::KAI, "its levels are in a Topology, which an operator writes"),
];

const ANSWERS: &[&str] = &["waits", "bound-in-one-domain", "bound-outside"];

const GANG: PlainGang = PlainGang::new("level", 2);

const MISSING: &str = "example.com/missing-level";

async fn submit(test: &TestContext, level: &str) -> Result<(), Stop> {
    let edit = |resource: &mut Value| {
        resource["spec"]["schedulingConstraints"] = json!({"topology": [{"key": level}]});
    };
    steps::create_resource(test, &GANG, edit).await?;
    steps::changed(test);
    steps::create_pods(test, &GANG, 0..GANG.minimum).await
}

/// The gang resource has the requirement. The API server drops a field that it does not know.
fn require_level(live: &Live, history: &History) -> Result<(), NoAnswer> {
    let resource = seen::resource(live, history.header.target, &GANG);
    if resource.is_some_and(|resource| resource["spec"]["schedulingConstraints"].is_object()) {
        return Ok(());
    }
    Err(NoAnswer("the gang resource has no field schedulingConstraints".into()))
}

async fn missing_label(test: &mut TestContext) -> Result<(), Stop> {
    submit(test, MISSING).await?;
    test.scheduler_passes().await
}

fn passed(history: &History) -> Result<Live, NoAnswer> {
    let live = seen::passed(history)?;
    require_level(&live, history)?;
    Ok(live)
}

fn on_pods(history: &History) -> Answered {
    reports::on_pods(&passed(history)?, &GANG)
}

fn on_resource(history: &History) -> Answered {
    reports::on_resource(&passed(history)?, history.header.target, &GANG)
}

fn in_events(history: &History) -> Answered {
    reports::in_events(&passed(history)?, history.header.target, &GANG)
}

fn answer_for(history: &History) -> Answered {
    let live = seen::observed(history)?;
    require_level(&live, history)?;
    let domains: Vec<String> = seen::pods(&live, &GANG)
        .into_iter()
        .filter_map(|pod| pod.node())
        .map(|node| {
            let node = live.get("Node", node);
            node.map(|node| text(&node["metadata"]["labels"][names::RACK]).to_owned()).unwrap_or_default()
        })
        .collect();
    let word = match domains.as_slice() {
        [first, second] if first == second && !first.is_empty() => "bound-in-one-domain",
        [_, _] => "bound-outside",
        _ => "waits",
    };
    let are_bound = |live: &Live| seen::bound(live, &GANG) == GANG.minimum;
    let after = seen::seconds_after_change(history, are_bound);
    Ok(Answer::new(word).seconds("creation to binding", after).notes(reports::pod_messages(&live, &GANG)))
}

#[cfg(test)]
mod tests {
    use conformance_history::SharedMark;

    use super::*;
    use crate::observation::Observation;
    use crate::testing::prelude::*;

    fn constrained() -> Value {
        let mut group = resource(&GANG, json!({}));
        group["spec"]["schedulingConstraints"] = json!({"topology": [{"key": MISSING}]});
        group
    }

    fn node(name: &str, rack: Option<&str>) -> Value {
        let labels = rack.map_or_else(|| json!({}), |rack| json!({names::RACK: rack}));
        json!({"kind": "Node", "metadata": {"name": name, "labels": labels}})
    }

    fn created(group: Value) -> Story {
        let racks = [("a", Some("r")), ("b", Some("r")), ("c", Some("s")), ("d", None)];
        let nodes = racks.map(|(name, rack)| node(name, rack));
        story().all_added(nodes).added(group).mark(CHANGED, Value::Null)
    }

    #[rstest::rstest]
    #[case([Some("a"), Some("b")], "bound-in-one-domain")]
    #[case([Some("a"), Some("c")], "bound-outside")]
    #[case([Some("d"), Some("d")], "bound-outside")]
    #[case([Some("a"), None], "waits")]
    fn the_domains_of_the_pods_are_the_answer(
        #[case] places: [Option<&str>; 2],
        #[case] wanted: &'static str,
    ) {
        for observation in [label_on_no_node::OBSERVATION, label_on_some_nodes::OBSERVATION] {
            let pods = places.iter().enumerate().map(|(index, place)| pod(&GANG, index, *place));
            let observed = created(constrained()).all_added(pods).mark(OBSERVED, Value::Null);
            assert_eq!(word(&observation, observed), Ok(wanted));
        }
    }

    #[rstest::rstest]
    #[case::bound(label_on_no_node::OBSERVATION)]
    #[case::on_pods(missing_label_on_pods::OBSERVATION)]
    #[case::on_resource(missing_label_on_resource::OBSERVATION)]
    #[case::in_events(missing_label_in_events::OBSERVATION)]
    fn a_dropped_field_is_no_answer(#[case] observation: Observation) {
        let created = created(resource(&GANG, json!({}))).added(pod(&GANG, 0, None));
        let marked = created.mark(SharedMark::SchedulerPassed, Value::Null).mark(OBSERVED, Value::Null);
        let reason = word(&observation, marked).unwrap_err();
        assert_eq!(reason, "the gang resource has no field schedulingConstraints");
    }

    #[test]
    fn the_reports_of_the_gang_are_the_answers() {
        let passed = |pod: Value, group: Value| {
            created(group).added(pod).mark(SharedMark::SchedulerPassed, Value::Null)
        };
        let silent = || passed(pod(&GANG, 0, None), constrained());
        let mut refusing = constrained();
        refusing["status"] = json!({"conditions": [{"type": "Unschedulable", "status": "True"}]});
        let about = json!({"kind": "Pod", "name": "level-0"});
        let event = json!({"kind": "Event", "metadata": {"name": "e"}, "involvedObject": about});
        let refused = refused(&GANG, 0, "Unschedulable", "");
        let refusing_gang = || passed(refused.clone(), refusing.clone());
        let with_event = created(constrained()).added(pod(&GANG, 0, None)).added(event);
        let words = [
            word(&missing_label_on_pods::OBSERVATION, silent()),
            word(&missing_label_on_pods::OBSERVATION, refusing_gang()),
            word(&missing_label_on_resource::OBSERVATION, silent()),
            word(&missing_label_on_resource::OBSERVATION, refusing_gang()),
            word(&missing_label_in_events::OBSERVATION, silent()),
            word(
                &missing_label_in_events::OBSERVATION,
                with_event.mark(SharedMark::SchedulerPassed, Value::Null),
            ),
        ];
        let wanted = ["no-condition", "unschedulable", "nothing", "refusal", "none", "on-pods"];
        assert_eq!(words.map(Result::unwrap), wanted);
    }
}
