//! A PodCliqueSet of 2 replicas of 12 pods. Each replica has a base PodGang of 7 podgroups (router, frontend,
//! 2 x [decode, prefill], draft) and a scaled PodGang (a second draft). The cliques' order in the template,
//! in the scaling group and in the alphabet all differ.

use conformance_check::{gangs, invariants, order, pod_indexes, pods, services};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodCliqueSet gets the expected PodGangs, pods and gang resources, in order")
        .clauses(&[
            GANG_01, GANG_02, GANG_03, GANG_04, GANG_05, GANG_06, GANG_07, GANG_08, GANG_14, GANG_15,
            GANG_16, GANG_18, GANG_19, GANG_20, GANG_21, GANG_22, GANG_23, GANG_27, GANG_28, GANG_29,
        ])
        .nodes(&[nodes(1)]);

const SET: &str = "shape";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    test.until_resources_match(SET).await?;
    let selected = Awaited::demanded_by(GANG_28, "Services that select the pods of their replicas");
    test.until(selected, REACTION, |live| services::select_their_pods(live, SET).is_ok()).await
}

fn check(history: &History) -> Vec<Finding> {
    let (end, target) = (history.end(), history.header.target);
    let checked = |clause: &'static str, rule: &dyn Fn(&[Gang]) -> Ruling| {
        finding(clause, || rule(&history.gangs(SET)?))
    };
    vec![
        checked(GANG_01, &|all| gangs::base(&end, SET, all)),
        checked(GANG_02, &|all| gangs::podgroups(history, all)),
        checked(GANG_03, &|all| gangs::scaled(history, &end, all)),
        checked(GANG_04, &|all| gangs::labelled(history, all, target)),
        checked(GANG_05, &|all| pods::created_as_specified(history, SET, all)),
        checked(GANG_06, &|all| gangs::initialized(history, all)),
        checked(GANG_07, &|all| {
            order::release(history, all)?;
            order::no_pod_before_its_group(history)
        }),
        checked(GANG_08, &|all| {
            gang_resources::exist(history, &end, all)?;
            gang_resources::match_pod_gangs(history, &end, all)
        }),
        checked(GANG_14, &|all| gangs::keeps_its_name(history, all)),
        checked(GANG_15, &|all| gangs::in_template_order(history, all)),
        checked(GANG_16, &|_| {
            invariants::templates_are_kept(history)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        checked(GANG_27, &|_| {
            invariants::nothing_is_added(history)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        checked(GANG_28, &|_| {
            invariants::names_are_stable(history)?;
            history.reached(SharedMark::Converged)?;
            services::select_their_pods(&end, SET)
        }),
        checked(GANG_29, &|_| {
            invariants::variables_are_set(history)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        checked(GANG_18, &|_| {
            pod_indexes::are_unique(history)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        checked(GANG_19, &|all| {
            gangs::stays_initialized(history, all)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        checked(GANG_20, &|all| gangs::references_are_the_pods(&end, all)),
        checked(GANG_21, &|all| {
            gangs::references_are_sorted(&end, all)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
        checked(GANG_22, &|all| order::creation(history, all)),
        checked(GANG_23, &|all| {
            history.waited_for(SharedMark::Converged)?;
            gang_resources::were_created(history, all)?;
            gang_resources::have_owners(&end)
        }),
    ]
}
