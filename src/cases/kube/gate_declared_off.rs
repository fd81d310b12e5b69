//! The API does not show the scheduler's feature gates. The operator's profile therefore declares them, here
//! as off. The PodCliqueSet has one clique, so that either gang scope honours a topology constraint.

use conformance_driver::admission_attempts::{required, template};
use conformance_facts::attempts::Wanted;
use conformance_install::cluster_spec::ControllerSpec;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Requests that need a scheduler gate declared off are refused with its name")
        .clauses(&[KUBE_17])
        .needs(&[Need::ReferenceController])
        .isolation(Isolation::Dedicated);

const GANGS: &str = "GangScheduling";
const TOPOLOGY: &str = "TopologyAwareWorkloadScheduling";
const GENERIC: &str = "GenericWorkload";
const COMPOSITE: &str = "CompositePodGroup";

const WITHOUT_GANGS: &[Attempt] = &[refused("a gang without GangScheduling", &[GANGS], |_| {})];
const WITHOUT_TOPOLOGY: &[Attempt] = &[
    admitted("a gang without TopologyAwareWorkloadScheduling", |_| {}),
    refused("a topology constraint without TopologyAwareWorkloadScheduling", &[TOPOLOGY], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
    }),
];

/// Kubernetes 1.37 has no gate GangScheduling. There, gangs need the gate GenericWorkload.
const NO_GANGS: &[Attempt] = &[refused("a gang without GenericWorkload", &[GENERIC], |_| {})];
const NO_TREES: &[Attempt] = &[
    refused("a tree without CompositePodGroup", &[COMPOSITE], |_| {}),
    admitted("a gang that requests no tree", |pcs| {
        pcs["metadata"]["annotations"][names::GANG_SCOPE] = "PodGroup".into();
    }),
];

type Declared = &'static [(&'static str, &'static [Attempt])];

const FLAT: Declared = &[(GANGS, WITHOUT_GANGS), (TOPOLOGY, WITHOUT_TOPOLOGY)];
const TREE: Declared = &[(GENERIC, NO_GANGS), (TOPOLOGY, WITHOUT_TOPOLOGY), (COMPOSITE, NO_TREES)];

fn declared(target: Target) -> Declared {
    if target == Target::KUBE_TREE { TREE } else { FLAT }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    restored(test, |test| Box::pin(declare(test))).await
}

async fn declare(test: &mut TestContext) -> Result<(), Stop> {
    let solo = test.manifest("solo")?;
    for (gate, attempts) in declared(test.target) {
        let profile = json!({"gangScheduling": true, "schedulerFeatureGates": {*gate: false}});
        test.restart_controller(ControllerSpec::with_profile(profile)).await?;
        test.attempt_creates(&solo, attempts).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_17, || {
        let attempts = declared(history.header.target).iter().flat_map(|(_, attempts)| *attempts);
        let (valid, broken): (Vec<_>, Vec<_>) =
            attempts.copied().partition(|attempt| attempt.wanted == Wanted::Admitted);
        all([answers(history, &broken), precondition(ADM_04, answers(history, &valid))])
    })]
}
