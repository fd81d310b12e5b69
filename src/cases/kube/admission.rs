//! In PodGroup and PodGang scope, a scaling group's replica cannot be kept in one domain. In PodGroup scope,
//! a Workload has no room for 9 podgroups. Tree scope honours every required level and no preferred level.

use conformance_contract::names::VOLCANO_QUEUE;
use conformance_driver::admission_attempts::{clique, on};
use conformance_facts::attempts::refused_or_warned;

use crate::backends::{Backend, Own, Rules, nine_podgroups, switch_to};
use crate::levels::{
    EVERY_PLACE, OF_A_GROUP, OF_ONE_OF_TWO_CLIQUES, OF_THE_SET_AND_A_CLIQUE, PREFERENCE, PREFERRED,
    PREFERRED_AND_REQUIRED, PREFERRED_OF_A_CLIQUE, PREFERRED_OF_A_GROUP, REQUIRED, of_a_group,
    preferred_by_a_group,
};
use crate::prelude::*;

const RULE: &str = "podCliqueScalingGroups[0].topologyConstraint";
/// Backends without a limit of podgroups.
const WITHOUT_LIMIT: &[Target] = &[Target::EXTERNAL, Target::VOLCANO, Target::KOORDINATOR, Target::KAI];
const SWITCH: Attempt = switch_to(|pcs| on(pcs, "default-scheduler"));
const ELSEWHERE: &[Attempt] =
    &[admitted("the same rule on a PodCliqueSet of another enabled scheduler", nine_podgroups)];

pub(crate) static FLAT: Backend = Backend {
    targets: &[Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG],
    switch_to_it: SWITCH,
    own: Some(Own {
        rules: Rules {
            own: &[
                (ADM_09, refused("default-scheduler's rule on its own PodCliqueSet", &[], of_a_group)),
                (
                    KUBE_05,
                    refused(
                        "more podgroups than a Workload holds on its own PodCliqueSet",
                        &[],
                        nine_podgroups,
                    ),
                ),
            ],
            others: &[
                refused("the same rule on a PodCliqueSet of a scheduler that is not enabled", &[], |pcs| {
                    of_a_group(pcs);
                    on(pcs, "nobodys-scheduler");
                })
                .words_only()
                .silent_about(&[RULE]),
                // Volcano's rules: a queue name is a DNS label, and cliques agree with the PodCliqueSet.
                admitted("another backend's rules on a default-scheduler PodCliqueSet", |pcs| {
                    pcs["metadata"]["annotations"][VOLCANO_QUEUE] = "No Queue".into();
                    clique(pcs, 0)["annotations"] = json!({VOLCANO_QUEUE: "another"});
                }),
            ],
            elsewhere: ELSEWHERE,
            targets_without: WITHOUT_LIMIT,
        },
        levels: &[
            REQUIRED,
            OF_A_GROUP,
            OF_ONE_OF_TWO_CLIQUES,
            OF_THE_SET_AND_A_CLIQUE,
            PREFERRED,
            PREFERRED_OF_A_GROUP,
            PREFERRED_OF_A_CLIQUE,
            PREFERRED_AND_REQUIRED,
        ],
        crd: None,
        disabled: None,
    }),
};

pub(crate) static TREE: Backend = Backend {
    targets: &[Target::KUBE_TREE],
    switch_to_it: SWITCH,
    own: Some(Own {
        rules: Rules {
            own: &[
                (
                    ADM_17,
                    refused_or_warned(
                        "default-scheduler's rule on its own PodCliqueSet",
                        PREFERENCE,
                        preferred_by_a_group,
                    ),
                ),
                (
                    KUBE_05,
                    refused(
                        "more podgroups than a CompositePodGroup holds on its own PodCliqueSet",
                        &[],
                        nine_podgroups,
                    ),
                ),
            ],
            others: &[refused(
                "the same rule on a PodCliqueSet of a scheduler that is not enabled",
                &[],
                |pcs| {
                    preferred_by_a_group(pcs);
                    on(pcs, "nobodys-scheduler");
                },
            )
            .words_only()
            .silent_about(&[RULE])],
            elsewhere: ELSEWHERE,
            targets_without: WITHOUT_LIMIT,
        },
        levels: EVERY_PLACE,
        crd: None,
        disabled: None,
    }),
};
