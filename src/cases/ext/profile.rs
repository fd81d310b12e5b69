//! PodCliqueSet `packed`, one clique, requests a topology level. First the operator's profile declares
//! nothing, then it declares `topologyConstraints: true`. Finally, the case starts the operator with invalid
//! profiles.

use conformance_check::configuration::prevents_start;
use conformance_contract::names::TOPOLOGY;
use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
use conformance_driver::admission_attempts::{clique, required, template};
use conformance_facts::configuration::Flaw;

use crate::prelude::*;

pub(crate) const CASE: Case = case!(
    "Topology is refused unless declared, and an invalid profile stops the controller's start",
    restored
)
.clauses(&[EXT_02, EXT_05])
.needs(&[Need::ReferenceController])
.isolation(Isolation::Dedicated);

const UNDECLARED: &[Attempt] = &[
    admitted("no topology", |_| {}),
    refused("a required level that is not declared", &["spec.template.topologyConstraint"], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
    }),
    refused("a required level of a clique that is not declared", &["cliques[0].topologyConstraint"], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    admitted("a preferred level that is not declared", |pcs| {
        template(pcs)["topologyConstraint"] =
            json!({"topologyName": TOPOLOGY, "pack": {"preferred": "rack"}});
    })
    .with_warning(&["preferred"]),
];

const DECLARED: &[Attempt] = &[admitted("a required level that is declared", |pcs| {
    template(pcs)["topologyConstraint"] = required("rack");
})];

const FLAWS: &[Flaw] = &[
    Flaw {
        title: "an unknown config field",
        words: &["scheduler.profiles[", "config", "topologyConstraint"],
        edit: |configuration| external(configuration)["config"] = json!({"topologyConstraint": true}),
    },
    Flaw {
        title: "a config value of the wrong type",
        words: &["scheduler.profiles[", "config.topologyConstraints"],
        edit: |configuration| external(configuration)["config"] = json!({"topologyConstraints": "yes"}),
    },
    Flaw {
        title: "the name of a built-in backend",
        words: &["scheduler.profiles[", "name", "volcano"],
        edit: |configuration| external(configuration)["name"] = "volcano".into(),
    },
    Flaw {
        title: "two profiles with the same name",
        words: &["scheduler.profiles[", "name", EXTERNAL_SCHEDULER],
        edit: |configuration| {
            let duplicate = external(configuration).clone();
            if let Some(profiles) = profiles(configuration).as_array_mut() {
                profiles.push(duplicate);
            }
        },
    },
];

fn profiles(configuration: &mut Value) -> &mut Value {
    &mut configuration["scheduler"]["profiles"]
}

fn external(configuration: &mut Value) -> &mut Value {
    let profiles = profiles(configuration);
    let last = profiles.as_array().map_or(0, Vec::len).saturating_sub(1);
    &mut profiles[last]
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let packed = test.manifest("packed")?;
    test.attempt_creates(&packed, UNDECLARED).await?;
    let controller = test.local()?.spec().controller;
    let declared = controller.with_profile_config(EXTERNAL_SCHEDULER, json!({"topologyConstraints": true}));
    test.restart_controller(declared).await?;
    let mut declared = packed.clone();
    declared["metadata"]["name"] = "declared".into();
    test.attempt_creates(&declared, DECLARED).await?;
    test.start_with_flaws(FLAWS).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(EXT_02, || {
            answers(history, UNDECLARED)?;
            answers(history, DECLARED)
        }),
        finding(EXT_05, || prevents_start(history, FLAWS)),
    ]
}
