//! `served`: a base PodGang of 3 podgroups, one with surplus, and a scaled one of 2.

use conformance_check::{gang_groups, pods};

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A PodGang becomes a GangGroup with one PodGroup per podgroup")
    .clauses(&[KOORD_01, KOORD_02])
    .nodes(&[nodes(1)])
    .only(&[Target::KOORDINATOR]);

const SET: &str = "served";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    test.until_followed(SET).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding(KOORD_01, || {
            history.waited_for(SharedMark::Converged)?;
            let (end, gangs) = (history.end(), history.gangs(SET)?);
            gang_resources::as_the_pod_gangs_say(history, &end, &gangs)?;
            gang_groups::named_by_pods(&end, &gangs)?;
            gangs.iter().try_for_each(|gang| gang_groups::complete(&end, &gang.name))
        }),
        finding(KOORD_02, || pods::as_they_should_be(history, SET, &history.gangs(SET)?)),
    ]
}
