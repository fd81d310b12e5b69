//! Common network and API server faults for an operator. Each ends after a number of requests, so that an
//! operator that retries reaches the undisturbed end state.

use conformance_expect::schedulers;
use conformance_history::Kind;
use conformance_install::part::Part;
use conformance_proxy::{Action, Match, ProxyError, ProxyHandle, Rule, RuleId, Verb, When};

use crate::prelude::*;

marks! { DISTURBED = "the operator disturbed"; }

pub(crate) const COUNT: usize = 8;

fn all(namespace: &str) -> [Rule; COUNT] {
    // Every second write is affected, starting with the first, so an immediate retry succeeds.
    let writes = |name: &str, action| {
        let when = When { every: 2, count: Some(4), ..When::default() };
        Rule { when, ..Rule::new(name, Match::writes().in_namespace(namespace), action) }
    };
    let watches = Match::of(&[Verb::Watch], &[]).in_namespace(namespace);
    let refuse = |code, retry_after_seconds| Action::Refuse { code, retry_after_seconds };
    [
        writes("conflicts", refuse(409, None)),
        writes("too many requests", refuse(429, Some(1))),
        writes("internal errors", refuse(500, None)),
        writes("service unavailable", refuse(503, None)),
        writes("requests dropped", Action::Drop),
        writes("responses dropped after the commit", Action::LoseAnswer),
        writes("requests sent twice", Action::Duplicate),
        Rule::new("delayed events", watches, Action::DelayEvents { milliseconds: 100 }),
    ]
}

pub(crate) struct Disturbed {
    proxy: ProxyHandle,
    remaining: std::vec::IntoIter<Rule>,
    current: Option<(String, RuleId)>,
}

impl Disturbed {
    pub(crate) async fn start(test: &TestContext) -> Result<Self, Stop> {
        let (proxy, ()) = test.proxy(Part::Controller, |_| Ok(())).await?;
        let remaining = Vec::from(all(&test.namespace)).into_iter();
        Ok(Self { proxy, remaining, current: None })
    }

    /// Ends the current fault, marks how often it was applied, and starts the next one, if any.
    pub(crate) async fn next(&mut self, test: &TestContext) -> Result<bool, Stop> {
        if let Some((name, rule)) = self.current.take() {
            // The case may see the written object before the proxy counts the fault.
            test.until_applied(&self.proxy, rule, 1, &name, limits::REACTION).await?;
            self.proxy.release(rule);
            test.mark(DISTURBED, json!({"by": name, "times": self.proxy.applied(rule)}));
        }
        let Some(rule) = self.remaining.next() else { return Ok(false) };
        self.current = Some((rule.name.clone(), self.proxy.add(rule)?));
        Ok(true)
    }
}

/// Restarts each part of the target's scheduler behind a proxy, which applies `action` to the watches of gang
/// resources with this name. Canaries are not affected.
pub(crate) async fn proxy_gang_resource_watches(
    test: &TestContext,
    name: &str,
    action: &Action,
) -> Result<Vec<(ProxyHandle, RuleId)>, Stop> {
    let parts: Vec<_> = test.local()?.spec().parts_of(test.target.scheduler()).collect();
    let mut watched = Vec::new();
    for part in parts {
        let (proxy, rules) = test.proxy(part, |proxy| rules_per_kind(test, proxy, name, action)).await?;
        watched.extend(rules.into_iter().map(|rule| (proxy.clone(), rule)));
    }
    Ok(watched)
}

fn rules_per_kind(
    test: &TestContext,
    proxy: &ProxyHandle,
    name: &str,
    action: &Action,
) -> Result<Vec<RuleId>, ProxyError> {
    let kinds = schedulers::of(test.target).kinds().iter().filter_map(|kind| Kind::named(kind));
    let rules = kinds.map(|kind| {
        let matches = Match {
            group: kind.api_version.split_once('/').map(|(group, _)| group.to_owned()),
            name: Some(name.to_owned()),
            ..Match::of(&[Verb::Watch], &[kind.plural]).in_namespace(&test.namespace)
        };
        proxy.add(Rule::new(format!("{} events delayed", kind.name), matches, action.clone()))
    });
    rules.collect()
}

pub(crate) fn all_applied(history: &History) -> Ruling {
    let applied: Vec<&Value> = history.marks(DISTURBED).map(|(_, mark)| &mark.detail).collect();
    let idle = applied.iter().find(|detail| detail["times"] == 0).map(|detail| detail["by"].to_string());
    match idle {
        None if applied.len() == COUNT => Ok(()),
        None => Err(Broken::NotReached(format!("{} of {COUNT} API faults were injected", applied.len()))),
        Some(name) => Err(Broken::NotReached(format!("API fault {name} was never applied"))),
    }
}
