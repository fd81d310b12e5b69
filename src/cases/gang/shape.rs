//! 2 replicas, each a base PodGang of 7 podgroups (router, frontend, 2 x [decode, prefill], draft) and a scaled one (a
//! second draft): 12 pods each. Template order, order in the scaling group and alphabet differ from one another.

use conformance_contract::ruling::{Finding, Ruling};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::{Expected, Gang};
use conformance_history::History;
use conformance_judge::{finding, gang_resources, gangs, order, pods};

/// GANG-01 to GANG-08.
pub(crate) const CASE: Case = Case::new(
    "A PodCliqueSet becomes PodGangs, pods and gang resources, in order, and each as it should be",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["GANG-01", "GANG-02", "GANG-03", "GANG-04", "GANG-05", "GANG-06", "GANG-07", "GANG-08"])
.nodes(&[nodes(1)]);

const SET: &str = "shape";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    test.until_followed(SET).await
}

fn judge(history: &History) -> Vec<Finding> {
    let (end, target) = (history.end(), history.header.target);
    let says = |clause: &'static str, sentence: &dyn Fn(&[Gang]) -> Ruling| {
        finding(clause, || sentence(&history.gangs(SET)?))
    };
    vec![
        says("GANG-01", &|all| {
            gangs::base(&end, SET, all)?;
            gangs::keeps_its_name(history, all)
        }),
        says("GANG-02", &|all| gangs::podgroups(history, all)),
        says("GANG-03", &|all| gangs::scaled(history, &end, all)),
        says("GANG-04", &|all| gangs::labelled(history, all, target)),
        says("GANG-05", &|all| {
            pods::as_they_should_be(history, SET, all)?;
            pods::indexes_are_unique(history)
        }),
        says("GANG-06", &|all| {
            gangs::initialized(history, all)?;
            gangs::references_are_the_pods(&end, all)
        }),
        says("GANG-07", &|all| {
            order::creation(history, all)?;
            order::no_pod_before_its_group(history)
        }),
        says("GANG-08", &|all| {
            gang_resources::owned(history, &end, all)?;
            gang_resources::as_the_pod_gangs_say(history, &end, all)
        }),
    ]
}
