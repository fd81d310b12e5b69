//! 1 node; PodCliqueSet `served` has 9 pods: a base PodGang of 3 podgroups, 5 pods + 1 surplus, and a scaled
//! PodGang of 2 podgroups, 3 pods.

use conformance_check::{gang_groups, pods};

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A PodGang becomes a GangGroup with one PodGroup per podgroup")
    .clauses(&[KOORD_01, KOORD_02])
    .nodes(&[nodes(1)]);

const SET: &str = "served";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    test.until_resources_match(SET).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KOORD_01, || {
            history.waited_for(SharedMark::Converged)?;
            let (end, gangs) = (history.end(), history.gangs(SET)?);
            gang_resources::match_pod_gangs(history, &end, &gangs)?;
            gang_groups::named_by_pods(&end, &gangs)?;
            gangs.iter().try_for_each(|gang| gang_groups::complete(&end, &gang.name))
        }),
        finding(KOORD_02, || {
            pods::created_as_members(history, &history.gangs(SET)?)?;
            pods::created_for_scheduler(history, history.header.target.backend())
        }),
    ]
}
