//! `served`: a base PodGang of 3 podgroups, one with surplus, and a scaled one of 2.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::{finding, gang_groups, gang_resources, pods};

pub(crate) const CASE: Case = Case::new(
    "A PodGang becomes a GangGroup with one PodGroup per podgroup",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["KOORD-01", "KOORD-02"])
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
        finding("KOORD-01", || {
            history.waited_for(SharedMark::Converged)?;
            let (end, gangs) = (history.end(), history.gangs(SET)?);
            gang_resources::as_the_pod_gangs_say(history, &end, &gangs)?;
            gang_groups::named_by_pods(&end, &gangs)?;
            gangs.iter().try_for_each(|gang| gang_groups::complete(&end, &gang.name))
        }),
        finding("KOORD-02", || pods::as_they_should_be(history, SET, &history.gangs(SET)?)),
    ]
}
