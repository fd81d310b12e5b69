//! Admission attempts for KAI's backend: one queue for all cliques, and every topology level.

use conformance_contract::names::KAI_QUEUE;
use conformance_driver::admission_attempts::on;

use crate::backends::{
    Backend, Crd, Own, Rules, nine_podgroups, no_such_queue, not_enabled, switch_to, two_kai_queues,
    without_crd,
};
use crate::levels::{
    ALL_THREE, OF_A_CLIQUE, OF_A_GROUP, OF_ONE_OF_TWO_CLIQUES, PREFERRED, PREFERRED_AND_REQUIRED,
    PREFERRED_OF_A_CLIQUE, PREFERRED_OF_A_GROUP, REQUIRED,
};
use crate::prelude::*;

pub(crate) static BACKEND: Backend = Backend {
    targets: &[Target::KAI],
    switch_to_it: switch_to(|pcs| {
        on(pcs, "kai-scheduler");
        pcs["metadata"]["labels"][KAI_QUEUE] = "default-queue".into();
    }),
    own: Some(Own {
        rules: Rules {
            own: &[(KAI_04, refused("KAI's rule on a KAI PodCliqueSet", &[], two_kai_queues))],
            others: &[
                admitted("default-scheduler's rule on a KAI PodCliqueSet", nine_podgroups),
                admitted("Volcano's rule on a KAI PodCliqueSet", no_such_queue),
            ],
            elsewhere: &[admitted(
                "the same rule on a PodCliqueSet of another enabled scheduler",
                two_kai_queues,
            )],
            targets_without: &[
                Target::EXTERNAL,
                Target::KUBE_POD_GROUP,
                Target::VOLCANO,
                Target::KOORDINATOR,
            ],
        },
        levels: &[
            REQUIRED,
            OF_A_GROUP,
            OF_A_CLIQUE,
            OF_ONE_OF_TWO_CLIQUES,
            PREFERRED,
            PREFERRED_OF_A_GROUP,
            PREFERRED_OF_A_CLIQUE,
            PREFERRED_AND_REQUIRED,
            ALL_THREE,
        ],
        crd: Some(Crd {
            name: "podgroups.scheduling.run.ai",
            missing: without_crd(&["podgroups.scheduling.run.ai"]),
            too_old: None,
        }),
        disabled: Some(not_enabled(&["kai-scheduler", "not enabled"])),
    }),
};
