//! Koordinator honours one topology level per PodGang. It cannot keep a scaling group's replica in one
//! domain, whether the level is required or preferred.

use conformance_driver::admission_attempts::on;
use conformance_facts::attempts::refused_or_warned;

use crate::backends::{
    Backend, Crd, Own, Rules, nine_podgroups, no_such_queue, not_enabled, switch_to, two_kai_queues,
    without_crd,
};
use crate::levels::{
    OF_A_GROUP, OF_ONE_OF_TWO_CLIQUES, OF_THE_ONLY_CLIQUE, PREFERENCE, PREFERRED, PREFERRED_AND_REQUIRED,
    PREFERRED_OF_A_GROUP, REQUIRED, preferred_by_a_group,
};
use crate::prelude::*;

pub(crate) static BACKEND: Backend = Backend {
    targets: &[Target::KOORDINATOR],
    switch_to_it: switch_to(|pcs| on(pcs, "koord-scheduler")),
    own: Some(Own {
        rules: Rules {
            // ADM-17 leaves it to the operator whether it refuses such a level or warns about it.
            own: &[(
                ADM_17,
                refused_or_warned(
                    "Koordinator's rule on a Koordinator PodCliqueSet",
                    PREFERENCE,
                    preferred_by_a_group,
                ),
            )],
            others: &[
                admitted("default-scheduler's rule on a Koordinator PodCliqueSet", nine_podgroups),
                admitted("Volcano's and KAI's rules on a Koordinator PodCliqueSet", |pcs| {
                    no_such_queue(pcs);
                    two_kai_queues(pcs);
                }),
            ],
            elsewhere: &[admitted(
                "the same rule on a PodCliqueSet of another enabled scheduler",
                preferred_by_a_group,
            )],
            targets_without: &[Target::EXTERNAL, Target::KAI],
        },
        levels: &[
            REQUIRED,
            OF_A_GROUP,
            OF_THE_ONLY_CLIQUE,
            OF_ONE_OF_TWO_CLIQUES,
            PREFERRED,
            PREFERRED_OF_A_GROUP,
            PREFERRED_AND_REQUIRED,
        ],
        crd: Some(Crd {
            name: "podgroups.scheduling.sigs.k8s.io",
            missing: without_crd(&["podgroups.scheduling.sigs.k8s.io"]),
            too_old: None,
        }),
        disabled: Some(not_enabled(&["koord-scheduler", "not enabled"])),
    }),
};
