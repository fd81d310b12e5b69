//! PodCliqueSet `tree` has topology constraints at all three levels. The PodCliqueSet requires a block and
//! prefers a rack. Its scaling group requires a rack and prefers a host. One clique requires a host, one
//! prefers a host, and one has no constraint. The case also adds a host level to a topology of its own.

use conformance_contract::names::{BLOCK, HOST, TOPOLOGY};
use conformance_driver::test_cluster::binding;
use conformance_expect::domains::LEVELS;
use conformance_expect::schedulers::kai::{self, POD_GROUP};
use conformance_facts::gang_resources::is_gang_resource;
use conformance_facts::topology::BINDING;
use conformance_history::list;

use crate::prelude::*;

const WRONG_TOPOLOGY_CONSTRAINT: Code = Code::new("wrong-topology-constraint");
const CHANGED_IN_PLACE: Code = Code::new("changed-in-place");
const TOPOLOGY_NOT_AS_BOUND: Code = Code::new("topology-differs-from-binding");

pub(crate) const CASE: Case =
    case!("Constraints of all three levels reach the PodGroup; the Topology follows its binding")
        .clauses(&[KAI_06, KAI_13]);

const SET: &str = "tree";

marks! {
    CREATED = "Topology created";
    FOLLOWED = "Topology followed";
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Root,
    Above(&'static str),
    Leaf(&'static str),
}

const WANTED: [(Place, Option<&str>, Option<&str>); 5] = [
    (Place::Root, Some(BLOCK), Some(RACK)),
    (Place::Above("tree-0-model-0-leader"), Some(RACK), Some(HOST)),
    (Place::Leaf("tree-0-router"), Some(HOST), None),
    (Place::Leaf("tree-0-model-0-leader"), None, None),
    (Place::Leaf("tree-0-model-0-worker"), None, Some(HOST)),
];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    let pods: usize = gangs.iter().map(Gang::pods).sum();
    let created = Awaited::demanded_by(GANG_08, "the PodGroup and the pods of PodCliqueSet tree");
    test.until(created, REACTION, |live| pod_group(live).is_some() && live.pods().count() == pods).await?;

    let name = test.namespace.clone();
    test.create(BINDING, &binding(&name, &LEVELS[..2])).await?;
    follows(test, 2).await?;
    let uid = test
        .test_cluster
        .recorder
        .look("", |live| live.get("Topology", &name).map(|found| found["metadata"]["uid"].clone()));
    test.mark(CREATED, json!(uid));
    let levels = binding(&name, &LEVELS)["spec"]["levels"].clone();
    test.patch(BINDING, &name, json!({"spec": {"levels": levels}})).await?;
    follows(test, 3).await?;
    test.mark(FOLLOWED, Value::Null);
    Ok(())
}

async fn follows(test: &TestContext, levels: usize) -> Result<(), Stop> {
    let name = &test.namespace;
    let has_levels =
        |binding: &Value| binding["spec"]["levels"].as_array().is_some_and(|of| of.len() == levels);
    let follows = |live: &Live| {
        live.get(BINDING, name)
            .is_some_and(|binding| has_levels(binding) && faults(test.target, binding, live, name).is_empty())
    };
    test.until_in_cluster(&format!("Topology {name} with {levels} levels"), REACTION, follows).await
}

fn faults(target: Target, binding: &Value, live: &Live, pool: &str) -> Vec<String> {
    schedulers::of(target).topology_faults(binding, live, pool)
}

fn pod_group(live: &Live) -> Option<&Value> {
    live.of(POD_GROUP).find(|found| is_gang_resource(found))
}

fn constrained(live: &Live) -> Ruling {
    let Some(found) = pod_group(live) else {
        return Err(Broken::NotReached("no PodGroup exists".into()));
    };
    let subgroup = |name: &str| list(&found["spec"]["subGroups"]).iter().find(|of| of["name"] == name);
    let leaf_of = |podgroup: &'static str| subgroup(kai::leaf(live, podgroup));
    none(WANTED.iter().filter_map(|(place, required, preferred)| {
        let (what, place) = match place {
            Place::Root => ("the PodGroup".to_owned(), Some(&found["spec"])),
            Place::Above(leaf) => {
                let parent = leaf_of(leaf).and_then(|leaf| leaf["parent"].as_str());
                (format!("parent of subgroup {leaf}"), parent.and_then(subgroup))
            }
            Place::Leaf(name) => ((*name).to_owned(), leaf_of(name)),
        };
        let constraint = place.map_or(&Value::Null, |place| &place["topologyConstraint"]);
        let topology = required.or(*preferred).map(|_| TOPOLOGY);
        let fields = [
            ("topology", topology),
            ("requiredTopologyLevel", *required),
            ("preferredTopologyLevel", *preferred),
        ];
        let is_right = |(field, wanted): &(&str, Option<&str>)| {
            constraint[*field].as_str().filter(|value| !value.is_empty()) == *wanted
        };
        (place.is_none() || !fields.iter().all(is_right)).then(|| {
            violation(
                WRONG_TOPOLOGY_CONSTRAINT,
                format!("{what}: topologyConstraint is {constraint}, want {fields:?}"),
            )
            .shown_by_object("the PodGroup", found)
        })
    }))
}

/// The Topology must match its binding. After the binding's levels change, the Topology must be a new object.
fn recreated(history: &History) -> Ruling {
    let name = &history.header.namespace;
    followed(history, name, &history.before(history.waited_for(CREATED)?))?;
    let (_, created) = history.reached(CREATED)?;
    let live = history.before(history.waited_for(FOLLOWED)?);
    followed(history, name, &live)?;
    history.reached(FOLLOWED)?;
    let found = live.get("Topology", name).unwrap_or(&Value::Null);
    ensure(found["metadata"]["uid"] != created.detail, || {
        violation(
            CHANGED_IN_PLACE,
            format!("Topology {name}: levels changed in place, want a new object (KAI ignores changes)"),
        )
        .shown_by_object("the Topology", found)
    })
}

fn followed(history: &History, name: &str, live: &Live) -> Ruling {
    let binding = live
        .get(BINDING, name)
        .ok_or_else(|| Broken::NotReached(format!("{BINDING} {name} does not exist")))?;
    let faults = faults(history.header.target, binding, live, name);
    none(
        faults
            .into_iter()
            .map(|fault| violation(TOPOLOGY_NOT_AS_BOUND, fault).shown_by_object("the binding", binding)),
    )
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KAI_06, || constrained(&history.end())), finding(KAI_13, || recreated(history))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod_group() -> Value {
        let constraint = |required: Option<&str>, preferred: Option<&str>| match required.or(preferred) {
            Some(_) => {
                json!({"topology": TOPOLOGY, "requiredTopologyLevel": required, "preferredTopologyLevel": preferred})
            }
            None => json!({}),
        };
        let mut found = object(POD_GROUP, "tree-0");
        let subgroup = |(place, required, preferred): &(Place, Option<&str>, Option<&str>)| {
            let (name, parent) = match place {
                Place::Root | Place::Above(_) => ("model", None),
                Place::Leaf(name) => (*name, name.contains("model").then_some("model")),
            };
            json!({"name": name, "parent": parent, "topologyConstraint": constraint(*required, *preferred)})
        };
        found["spec"] = json!({
            "topologyConstraint": constraint(WANTED[0].1, WANTED[0].2),
            "subGroups": WANTED[1..].iter().map(subgroup).collect::<Vec<_>>(),
        });
        found
    }

    fn ruling(found: Value) -> Ruling {
        constrained(&Story::on(Target::KAI).added(found).end().end())
    }

    #[test]
    fn constraints_of_all_levels_pass() {
        assert_eq!(ruling(pod_group()), Ok(()));
    }

    #[rstest]
    #[case::root("/spec/topologyConstraint/requiredTopologyLevel", json!(RACK))]
    #[case::dropped("/spec/topologyConstraint/preferredTopologyLevel", Value::Null)]
    #[case::topology("/spec/subGroups/0/topologyConstraint/topology", json!("another"))]
    #[case::leaf("/spec/subGroups/3/topologyConstraint/preferredTopologyLevel", Value::Null)]
    #[case::one_too_many("/spec/subGroups/2/topologyConstraint", json!({"requiredTopologyLevel": HOST}))]
    #[case::no_subgroup("/spec/subGroups/1/name", json!("other"))]
    fn each_wrong_constraint_is_a_violation(#[case] field: &str, #[case] value: Value) {
        let mut found = pod_group();
        *found.pointer_mut(field).unwrap() = value;
        assert!(ruling(found).is_err());
    }

    #[test]
    fn pods_may_name_the_leaf_of_a_podgroup() {
        const LEAF: &str = "tree-0-router";
        let mut found = pod_group();
        found["spec"]["subGroups"][1]["name"] = json!("hashed");
        let outcome = |leaf: &str| {
            let mut pod = object("Pod", "p");
            pod["metadata"]["labels"] =
                json!({"grove.io/podclique": LEAF, "kai.scheduler/subgroup-name": leaf});
            constrained(&Story::on(Target::KAI).added(found.clone()).added(pod).end().end())
        };
        assert_eq!(outcome("hashed"), Ok(()));
        assert!(outcome("another").is_err());
    }

    #[test]
    fn changed_levels_need_a_new_topology() {
        let topology = |uid: &str, keys: &[&str]| {
            let mut found = owned(object("Topology", "ns"), BINDING, "ns");
            found["metadata"]["uid"] = json!(uid);
            found["spec"]["levels"] = keys.iter().map(|key| json!({"nodeLabel": key})).collect();
            found
        };
        let outcome = |uid: &str, keys: &[&str], mark: MarkName| {
            let story = Story::on(Target::KAI).added(binding("ns", &LEVELS[..2]));
            let story = story.added(topology("first", &[BLOCK, RACK])).mark(CREATED, json!("first"));
            let story = story.modified(binding("ns", &LEVELS)).modified(topology(uid, keys));
            recreated(&story.mark(mark, Value::Null).end())
        };
        assert_eq!(outcome("second", &[BLOCK, RACK, HOST], FOLLOWED), Ok(()));
        assert!(outcome("first", &[BLOCK, RACK, HOST], FOLLOWED).is_err(), "changed in place");
        let violated = |ruling| matches!(ruling, Err(Broken::Violated(_)));
        assert!(violated(outcome("second", &[BLOCK, RACK], SharedMark::WaitTimedOut.into())), "timed out");
        assert!(
            !violated(outcome("second", &[BLOCK, RACK], SharedMark::Stopped.into())),
            "stopped before the wait"
        );
    }
}
