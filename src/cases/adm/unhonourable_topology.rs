//! One clique in a scaling group of one replica: PodGangs of one podgroup, so that every target honours a required
//! level of the PodCliqueSet. What else it honours is the target's: default-scheduler nothing more in either gang
//! scope, and every required level in a tree; Volcano a clique's required level; Koordinator one level per PodGang; KAI all there is.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::test_cluster::TOPOLOGY;
use conformance_history::History;
use conformance_judge::admission::{Attempt, admitted, answers, refused};
use conformance_judge::finding;
use serde_json::{Value, json};

/// ADM-09.
pub(crate) const CASE: Case = Case::new(
    "A topology level that cannot be honoured is refused, or said to have no effect",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["ADM-09"]);

const REQUIRED: Attempt = admitted("a required level of the PodCliqueSet", |pcs| {
    template(pcs)["topologyConstraint"] = required("rack")
});
const OF_A_GROUP: Attempt =
    refused("a required level of a scaling group", &["topologyConstraint"], of_a_group);
const OF_A_CLIQUE: fn(&mut Value) = |pcs| clique(pcs, 0)["topologyConstraint"] = required("rack");
const PREFERRED: Attempt = refused("a preferred level alone", &["topologyConstraint", "preferred"], |pcs| {
    template(pcs)["topologyConstraint"] = pack(json!({"preferred": "rack"}))
});
const PREFERRED_OF_A_GROUP: Attempt =
    refused("a preferred level alone where no level is honoured", &["topologyConstraint"], |pcs| {
        group(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "rack"}))
    });
const BESIDE_REQUIRED: Attempt = admitted("a preferred level beside one that is honoured", beside)
    .with_warning(&["preferred", "no effect"]);

const OF_KUBE: &[Attempt] = &[REQUIRED, OF_A_GROUP, PREFERRED, PREFERRED_OF_A_GROUP, BESIDE_REQUIRED];

const OF_KUBE_TREE: &[Attempt] = &[
    REQUIRED,
    admitted("a required level of a scaling group, honoured", of_a_group),
    admitted("a required level of a clique", OF_A_CLIQUE),
    admitted("levels of all three at once", |pcs| {
        template(pcs)["topologyConstraint"] = required("block");
        of_a_group(pcs);
        clique(pcs, 0)["topologyConstraint"] = required("host");
    }),
    PREFERRED,
    refused(
        "a preferred level of a scaling group alone",
        &["podCliqueScalingGroups[0].topologyConstraint", "preferred"],
        |pcs| group(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "rack"})),
    ),
    refused("a preferred level of a clique alone", &["cliques[0].topologyConstraint", "preferred"], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "rack"}));
    }),
    BESIDE_REQUIRED,
];

const OF_VOLCANO: &[Attempt] = &[
    REQUIRED,
    OF_A_GROUP,
    admitted("a required level of a clique", OF_A_CLIQUE),
    PREFERRED,
    PREFERRED_OF_A_GROUP,
    refused("a preferred level of a clique alone", &["topologyConstraint", "preferred"], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "rack"}));
    }),
    BESIDE_REQUIRED,
];

const OF_KOORDINATOR: &[Attempt] = &[
    REQUIRED,
    OF_A_GROUP,
    refused("a required level of a clique beside another podgroup", &["topologyConstraint"], |pcs| {
        OF_A_CLIQUE(pcs);
        add_a_clique(pcs);
    }),
    PREFERRED,
    PREFERRED_OF_A_GROUP,
    BESIDE_REQUIRED,
];

const OF_KAI: &[Attempt] = &[
    REQUIRED,
    admitted("a required level of a scaling group, honoured", of_a_group),
    admitted("a required level of a clique", OF_A_CLIQUE),
    admitted("a preferred level of the PodCliqueSet, honoured", |pcs| {
        template(pcs)["topologyConstraint"] = pack(json!({"preferred": "rack"}));
    }),
    admitted("a preferred level of a scaling group, honoured", |pcs| {
        group(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "rack"}));
    }),
    admitted("a preferred level of a clique, honoured", |pcs| {
        clique(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "rack"}));
    }),
    admitted("a preferred level beside a required one, honoured", beside).silent_about(&["no effect"]),
    admitted("levels of all three at once", |pcs| {
        template(pcs)["topologyConstraint"] = required("block");
        of_a_group(pcs);
        clique(pcs, 0)["topologyConstraint"] = required("host");
    }),
];

fn attempts(target: Target) -> &'static [Attempt] {
    match target {
        Target::KubeTree => OF_KUBE_TREE,
        Target::Volcano => OF_VOLCANO,
        Target::Koordinator => OF_KOORDINATOR,
        Target::Kai => OF_KAI,
        _ => OF_KUBE,
    }
}

fn of_a_group(pcs: &mut Value) {
    group(pcs, 0)["topologyConstraint"] = required("rack");
}

fn beside(pcs: &mut Value) {
    template(pcs)["topologyConstraint"] = pack(json!({"required": "rack", "preferred": "host"}));
}

/// A second podgroup in every base PodGang.
fn add_a_clique(pcs: &mut Value) {
    let mut more = clique(pcs, 0).clone();
    more["name"] = "router".into();
    more["spec"]["roleName"] = "router".into();
    more["topologyConstraint"] = Value::Null;
    if let Some(cliques) = template(pcs)["cliques"].as_array_mut() {
        cliques.push(more);
    }
}

fn pack(levels: Value) -> Value {
    json!({"topologyName": TOPOLOGY, "pack": levels})
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.creates(&test.manifest("levelled")?, attempts(test.target)).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-09", || answers(history, attempts(history.header.target)))]
}
