//! A PodCliqueSet has two cliques. Each names a scheduler or none; the default is default-scheduler.

use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
use conformance_driver::admission_attempts::clique;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("All cliques must use the same scheduler; an empty name means the default").clauses(&[ADM_01]);

const TWO: &[Attempt] = &[
    refused("two schedulers", &[EXTERNAL_SCHEDULER], |pcs| {
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = EXTERNAL_SCHEDULER.into();
    }),
    admitted("one scheduler", |_| {}),
];

const DEFAULT: &[Attempt] = &[
    refused("default-scheduler and another scheduler", &["default-scheduler", EXTERNAL_SCHEDULER], |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = EXTERNAL_SCHEDULER.into();
    }),
    admitted("no scheduler name and default-scheduler", |pcs| {
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
    }),
    admitted("an empty scheduler name and default-scheduler", |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "".into();
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
    }),
];

const OTHER_THAN_DEFAULT: &[Attempt] =
    &[refused("no scheduler name and a scheduler that is not the default", &["default-scheduler"], |pcs| {
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "".into();
    })];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut pair = test.manifest("pair")?;
    test.attempt_creates(&pair, TWO).await?;
    pair["metadata"]["name"] = "pair-of-the-default".into();
    test.attempt_creates(&pair, about_the_default(test.target)).await
}

fn about_the_default(target: Target) -> &'static [Attempt] {
    if KUBE.contains(&target) { DEFAULT } else { OTHER_THAN_DEFAULT }
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(ADM_01, || {
        answers(history, TWO)?;
        answers(history, about_the_default(history.header.target))
    })]
}
