//! 1 node; a PodCliqueSet of 2 pods, whose template changes before any status is written, and a control of 1
//! pod. Once the control has converged, the operator has had time to process the first PodCliqueSet.

use conformance_facts::updates::lacks_pods;
use conformance_proxy::{Action, Match, Rule, Verb};

use crate::prelude::*;

marks! { NEW = "every pod is new"; }

const SET: &str = "changed";
const CONTROL: &str = "control";

pub(crate) const CASE: Case =
    case!("A template change before the first status write reaches every pod", restored)
        .clauses(&[UPD_02])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let statuses = Match {
        name: Some(SET.to_owned()),
        ..Match::of(&[Verb::Patch, Verb::Update], &["podcliquesets/status"]).in_namespace(&test.namespace)
    };
    let refuse = Action::Refuse { code: 503, retry_after_seconds: None };
    let rule = Rule::new("status writes of the first PodCliqueSet refused", statuses, refuse);
    let (proxy, rule) = test.proxy(Part::Controller, |proxy| proxy.add(rule)).await?;
    test.submit(SET).await?;
    test.until_applied(&proxy, rule, 1, "the first status write refused", limits::REACTION).await?;
    test.submit_and_converge(CONTROL).await?;
    let is_admitted = test.revise(SET, "2").await?;
    proxy.release(rule);
    if is_admitted {
        let new = Awaited::demanded_by(UPD_02, "every pod of the first PodCliqueSet new and Ready");
        test.until(new, limits::SCHEDULING, |live| lacks_pods(live, SET).is_none()).await?;
        test.mark(NEW, Value::Null);
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![update_finding(history, UPD_02, || {
        history.at(NEW, |new| updates::pods_are_complete(&history.before(new), SET))
    })]
}
