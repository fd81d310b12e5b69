//! 2 replicas, each a base PodGang of 7 podgroups (router, frontend, 2 x [decode, prefill], draft) and a
//! scaled one (a second draft): 12 pods each. Template order, scaling group order and alphabetical order all
//! differ.

use conformance_contract::ruling::{Finding, Ruling};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::{Expected, Gang};
use conformance_history::{History, SharedMark};
use conformance_judge::{finding, gang_resources, gangs, invariants, order, pods};

pub(crate) const CASE: Case = Case::new(
    "A PodCliqueSet gets the expected PodGangs, pods and gang resources, in order",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&[
    "GANG-01", "GANG-02", "GANG-03", "GANG-04", "GANG-05", "GANG-06", "GANG-07", "GANG-08", "GANG-14",
    "GANG-15", "GANG-16", "GANG-18", "GANG-19", "GANG-20", "GANG-21", "GANG-22", "GANG-23",
])
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
        says("GANG-01", &|all| gangs::base(&end, SET, all)),
        says("GANG-02", &|all| gangs::podgroups(history, all)),
        says("GANG-03", &|all| gangs::scaled(history, &end, all)),
        says("GANG-04", &|all| gangs::labelled(history, all, target)),
        says("GANG-05", &|all| pods::as_they_should_be(history, SET, all)),
        says("GANG-06", &|all| gangs::initialized(history, all)),
        says("GANG-07", &|all| {
            order::release(history, all)?;
            order::no_pod_before_its_group(history)
        }),
        says("GANG-08", &|all| {
            gang_resources::exist(history, &end, all)?;
            gang_resources::as_the_pod_gangs_say(history, &end, all)
        }),
        says("GANG-14", &|all| gangs::keeps_its_name(history, all)),
        says("GANG-15", &|all| gangs::in_template_order(history, all)),
        says("GANG-16", &|_| {
            invariants::templates_are_kept(history)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        says("GANG-18", &|_| {
            pods::indexes_are_unique(history)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        says("GANG-19", &|all| {
            gangs::stays_initialized(history, all)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        says("GANG-20", &|all| gangs::references_are_the_pods(&end, all)),
        says("GANG-21", &|all| {
            gangs::references_are_sorted(&end, all)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        says("GANG-22", &|all| order::creation(history, all)),
        says("GANG-23", &|all| {
            history.waited_for(SharedMark::Converged)?;
            gang_resources::were_made(history, all)?;
            gang_resources::controlled(&end)
        }),
    ]
}
