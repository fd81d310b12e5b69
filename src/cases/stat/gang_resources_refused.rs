//! 1 node; a gang of 2 pods. A proxy refuses at least 7 writes of gang resources.

use conformance_check::lifecycle::reasons;
use conformance_driver::limits::RECOVERY;
use conformance_facts::warnings::is_in_conditions;
use conformance_history::{Kind, event_note, list};
use conformance_proxy::{Action, Match, Rule, Verb};
use jiff::Timestamp;

use crate::prelude::*;

marks! {
    /// The proxy refused the creates of one gang resource at these times: `{"at"}`.
    ATTEMPTS = "creates refused";
    CREATED = "gang resources created";
    OVER = "no failure reported";
}

const SET: &str = "declined";
const TIMES: usize = 7;
/// A part of the proxy's error message.
const REFUSED: &str = "refused by a fault rule";

pub(crate) const CASE: Case =
    case!("Refused gang resources are reported and retried with growing delays", restored)
        .clauses(&[STAT_10, STAT_17])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let kinds = schedulers::of(test.target).kinds().iter().filter_map(|kind| Kind::named(kind));
    let plurals: Vec<_> = kinds.map(|kind| kind.plural).collect();
    let writes = Match::of(&[Verb::Create, Verb::Patch, Verb::Update], &plurals);
    let refuse = Action::Refuse { code: 500, retry_after_seconds: None };
    let rule = Rule::new("gang resources refused", writes.in_namespace(&test.namespace), refuse);
    let (proxy, rule) = test.proxy(Part::Controller, |proxy| proxy.add(rule)).await?;
    test.submit(SET).await?;
    let reported = Awaited::demanded_by(STAT_10, "the refusal reported");
    test.until(reported, REACTION, |live| {
        is_in_conditions(live, REFUSED) && live.of("Event").any(is_warning)
    })
    .await?;
    test.until_applied(&proxy, rule, TIMES, "retried creates of gang resources", RECOVERY).await?;
    proxy.release(rule);
    let faults = proxy.faults();
    // The operator may create several gang resources at once, so only attempts for the first count.
    let first = faults.first().map(|fault| (fault.resource.clone(), fault.name.clone()));
    let of_first = faults.iter().filter(|fault| Some((fault.resource.clone(), fault.name.clone())) == first);
    let at: Vec<_> = of_first.map(|fault| fault.time.to_string()).collect();
    test.mark(ATTEMPTS, json!({"at": at}));
    test.until_converged(SET).await?;
    test.mark(CREATED, Value::Null);
    let over = Awaited::demanded_by(STAT_10, "the refusal no longer reported");
    test.until(over, REACTION, |live| !is_in_conditions(live, REFUSED)).await?;
    test.mark(OVER, Value::Null);
    Ok(())
}

fn is_warning(event: &Value) -> bool {
    event["type"] == "Warning" && event_note(event).contains(REFUSED)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(STAT_10, || {
            history.waited_for(ATTEMPTS)?;
            let gangs = history.gangs(SET)?;
            let gang: &Gang =
                gangs.first().ok_or_else(|| Broken::NotReached("the PodCliqueSet has no gang".into()))?;
            reasons::failure_reported(history, gang, REFUSED)?;
            let (created, _) = history.reached(CREATED)?;
            reasons::failure_no_longer_reported(history, gang, REFUSED, created)?;
            history.reached(OVER).map(drop)
        }),
        finding(STAT_17, || {
            let (_, attempts) = history.reached(ATTEMPTS)?;
            let at = list(&attempts.detail["at"]).iter().filter_map(|at| text(at).parse::<Timestamp>().ok());
            reasons::pauses_grow(&at.collect::<Vec<_>>())
        }),
    ]
}
