//! Network and API server faults for an operator. Each fault ends after a few requests, so an operator that
//! retries reaches the same end state as without faults.

use conformance_history::Kind;
use conformance_proxy::{Action, Match, ProxyError, ProxyHandle, Rule, RuleId, Verb, When};

use crate::prelude::*;

marks! {
    DISTURBED = "the operator disturbed";
    /// The proxies ended the held watches with 410 Gone: `{"watches"}`.
    pub(crate) BROKEN_OFF = "watches broken off";
}

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

pub(crate) fn scheduler_parts(test: &TestContext) -> Result<Vec<Part>, Stop> {
    Ok(test.local()?.spec().parts_of(test.target.scheduler()).collect())
}

/// Restarts each part of the scheduler behind a proxy. The proxy applies `action` to watch events about gang
/// resources called `name`. Canaries are not affected.
pub(crate) async fn proxy_gang_resource_watches(
    test: &TestContext,
    name: &str,
    action: &Action,
) -> Result<Vec<(ProxyHandle, RuleId)>, Stop> {
    let mut watched = Vec::new();
    for part in scheduler_parts(test)? {
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
        let matches = Match { name: Some(name.to_owned()), ..watches_of(test, kind) };
        proxy.add(Rule::new(format!("{} events delayed", kind.name), matches, action.clone()))
    });
    rules.collect()
}

fn watches_of(test: &TestContext, kind: &Kind) -> Match {
    Match {
        group: kind.api_version.split_once('/').map(|(group, _)| group.to_owned()),
        ..Match::of(&[Verb::Watch], &[kind.plural]).in_namespace(&test.namespace)
    }
}

/// Watches on pods and gang resources, which proxies hold at the next event about an object of the case.
pub(crate) struct HeldWatches {
    proxies: Vec<ProxyHandle>,
    holds: Vec<(ProxyHandle, RuleId)>,
    breaks: Vec<(ProxyHandle, RuleId)>,
}

impl HeldWatches {
    /// Restarts these parts behind proxies, which forward everything until [`hold`](Self::hold).
    pub(crate) async fn of(test: &TestContext, parts: Vec<Part>) -> Result<Self, Stop> {
        let mut proxies = Vec::new();
        for part in parts {
            let (proxy, ()) = test.proxy(part, |_| Ok(())).await?;
            proxies.push(proxy);
        }
        Ok(Self { proxies, holds: Vec::new(), breaks: Vec::new() })
    }

    /// Call this after the last event that the programs should receive.
    pub(crate) fn hold(&mut self, test: &TestContext) -> Result<(), Stop> {
        let kinds = ["Pod"].into_iter().chain(schedulers::of(test.target).kinds().iter().copied());
        for kind in kinds.filter_map(Kind::named) {
            for proxy in &self.proxies {
                let add = |what: &str, action| {
                    proxy.add(Rule::new(
                        format!("{} watch {what}", kind.name),
                        watches_of(test, kind),
                        action,
                    ))
                };
                // The proxy applies rules in this order: it holds an event, and then ends the watch with it.
                let hold = add("held", Action::HoldEvents { others_pass: false })?;
                let end = add("broken", Action::BreakWatch { code: 410 })?;
                self.holds.push((proxy.clone(), hold));
                self.breaks.push((proxy.clone(), end));
            }
        }
        Ok(())
    }

    /// The programs list again without the events since [`hold`](Self::hold).
    pub(crate) async fn break_off(&self, test: &TestContext) -> Result<(), Stop> {
        let held = |rules: usize| {
            self.holds.iter().take(rules).map(|(proxy, rule)| proxy.applied(*rule)).sum::<u64>()
        };
        // `holds` starts with the rules about pods. A pod's deletion may arrive until a pod event is held.
        let of_pods = self.proxies.len();
        let awaited = Awaited::of_harness("a watch held at an event about a pod");
        test.poll_until(awaited, REACTION, || async { Ok((held(of_pods) > 0).then_some(())) }).await?;
        test.mark(BROKEN_OFF, json!({"watches": held(self.holds.len())}));
        // A released rule still applies to the held event, but to no later event.
        for (proxy, rule) in self.breaks.iter().chain(&self.holds) {
            proxy.release(*rule);
        }
        Ok(())
    }
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
