//! Volcano requires an existing queue, and honours a clique's required level.

use conformance_driver::admission_attempts::on;

use crate::backends::{
    Backend, Crd, Own, Rules, nine_podgroups, no_such_queue, not_enabled, switch_to, two_kai_queues,
    without_crd,
};
use crate::levels::EVERY_PLACE;
use crate::prelude::*;

pub(crate) static BACKEND: Backend = Backend {
    targets: &[Target::VOLCANO],
    switch_to_it: switch_to(|pcs| on(pcs, "volcano")),
    own: Some(Own {
        rules: Rules {
            own: &[(VOL_03, refused("Volcano's rule on a Volcano PodCliqueSet", &[], no_such_queue))],
            others: &[
                admitted("default-scheduler's rule on a Volcano PodCliqueSet", nine_podgroups),
                admitted("KAI's rule on a Volcano PodCliqueSet", two_kai_queues),
            ],
            elsewhere: &[admitted(
                "the same rule on a PodCliqueSet of another enabled scheduler",
                no_such_queue,
            )],
            targets_without: &[Target::EXTERNAL, Target::KUBE_POD_GROUP, Target::KOORDINATOR, Target::KAI],
        },
        levels: EVERY_PLACE,
        crd: Some(Crd {
            name: "podgroups.scheduling.volcano.sh",
            missing: without_crd(&["podgroups.scheduling.volcano.sh"]),
            too_old: Some((
                "subGroupPolicy",
                refused(
                    "a gang with the CRD of an older release",
                    &["podgroups.scheduling.volcano.sh", "1.14"],
                    |_| {},
                ),
            )),
        }),
        disabled: Some(not_enabled(&["volcano", "not enabled"])),
    }),
};
