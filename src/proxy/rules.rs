use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::watch;

use crate::ProxyError;
use crate::attempts::Attempts;
use crate::log::{Fault, Log};
use crate::patch::NO_PATCH;
use crate::rule::{Action, Match, Rule};
use crate::target::{Target, Verb};

/// Identifies a rule of a running proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(usize);

/// The key by which requests are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Verb of the requests.
    pub verb: Verb,
    /// API group of the resource.
    pub group: String,
    /// Resource, with its subresource; empty for paths without a resource.
    pub resource: String,
    /// Namespace of the requests, if they have one.
    pub namespace: Option<String>,
}

/// Controls a running proxy. All clones control the same one.
#[derive(Debug, Clone)]
pub struct ProxyHandle {
    pub(crate) rules: Arc<Rules>,
}

impl ProxyHandle {
    /// Adds a rule after the existing ones. The rules apply in this order until one of them ends the request.
    /// An open watch ends if the rule must look into its events and they are not JSON.
    pub fn add(&self, rule: Rule) -> Result<RuleId, ProxyError> {
        rule.check()?;
        let mut state = self.rules.state();
        state.entries.push(Entry {
            rule,
            phase: Phase::On,
            seen: 0,
            fired: 0,
            applied: 0,
            attempts: Attempts::default(),
        });
        let id = RuleId(state.entries.len() - 1);
        drop(state);
        self.rules.changed();
        Ok(id)
    }

    /// Removes a rule and forwards the requests and events that it holds.
    pub fn release(&self, id: RuleId) {
        self.end(id, Phase::Released);
    }

    /// Removes a rule and drops the requests and events that it holds.
    pub fn abandon(&self, id: RuleId) {
        self.end(id, Phase::Abandoned);
    }

    /// Returns how often a rule was applied.
    pub fn applied(&self, id: RuleId) -> u64 {
        self.rules.state().entries[id.0].applied
    }

    /// Waits until a rule was applied `times` times. The request is then held, or the response is lost.
    pub async fn until_applied(&self, id: RuleId, times: u64) {
        self.rules.wait(|state| (state.entries[id.0].applied >= times).then_some(())).await;
    }

    /// Returns the number of requests so far, by key.
    pub fn counts(&self) -> BTreeMap<Counted, u64> {
        self.rules.state().counts.clone()
    }

    /// Returns the number of requests so far that match, regardless of names.
    pub fn count(&self, matches: &Match) -> u64 {
        let counts = self.counts().into_iter();
        let about = |counted: &Counted| {
            let Counted { verb, group, resource, namespace } = counted.clone();
            let any_name = Match { name: None, ..matches.clone() };
            any_name.is_about(&Target { verb, group, resource, namespace, name: None })
        };
        counts.filter(|(counted, _)| about(counted)).map(|(_, count)| count).sum()
    }

    /// Returns all faults so far.
    pub fn faults(&self) -> Vec<Fault> {
        self.rules.state().faults.clone()
    }

    fn end(&self, id: RuleId, phase: Phase) {
        let mut state = self.rules.state();
        let entry = &mut state.entries[id.0];
        if entry.phase == Phase::On {
            entry.phase = phase;
        }
        drop(state);
        self.rules.changed();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    On,
    Released,
    Abandoned,
}

#[derive(Debug)]
struct Entry {
    rule: Rule,
    phase: Phase,
    seen: u64,
    fired: u64,
    applied: u64,
    attempts: Attempts,
}

impl Entry {
    /// Counts a match, and returns a step if the rule fires. Irregular rules need the request.
    fn matched(&mut self, id: RuleId, request: Option<(&Target, &[u8])>) -> Option<Step> {
        self.seen += 1;
        let when = &self.rule.when;
        let mut is_due = when.fires(self.seen, self.fired);
        if let (true, Some((target, body))) = (is_due && when.irregular, request) {
            is_due = self.attempts.is_disturbed(target, body);
        }
        if !is_due {
            return None;
        }
        self.fired += 1;
        Some(Step { id, action: self.rule.action.clone(), number: self.seen })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub id: RuleId,
    pub action: Action,
    number: u64,
}

#[derive(Debug)]
struct State {
    entries: Vec<Entry>,
    counts: BTreeMap<Counted, u64>,
    faults: Vec<Fault>,
    log: Log,
}

#[derive(Debug)]
pub(crate) struct Rules {
    proxy: String,
    state: Mutex<State>,
    changes: watch::Sender<()>,
}

impl Rules {
    pub(crate) fn new(proxy: String, log: Log) -> Self {
        let state = State { entries: Vec::new(), counts: BTreeMap::new(), faults: Vec::new(), log };
        Self { proxy, state: Mutex::new(state), changes: watch::Sender::new(()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn changed(&self) {
        self.changes.send_replace(());
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    async fn wait<T>(&self, find: impl Fn(&State) -> Option<T>) -> T {
        let mut changes = self.changes();
        loop {
            if let Some(found) = find(&self.state()) {
                return found;
            }
            // The receiver cannot fail, because `self` owns the sender.
            let _ = changes.changed().await;
        }
    }

    pub(crate) fn on_request(&self, target: &Target, body: &[u8]) -> Vec<Step> {
        let mut state = self.state();
        let Target { verb, group, resource, namespace, .. } = target.clone();
        *state.counts.entry(Counted { verb, group, resource, namespace }).or_default() += 1;
        let mut steps = Vec::new();
        for (index, entry) in state.entries.iter_mut().enumerate() {
            let is_for_requests =
                !entry.rule.action.looks_into_objects() && entry.rule.action != Action::Freeze;
            if entry.phase == Phase::On && is_for_requests && entry.rule.matches.is_about(target) {
                steps.extend(entry.matched(RuleId(index), Some((target, body))));
                let ends = |step: &Step| matches!(step.action, Action::Drop | Action::Refuse { .. });
                if steps.last().is_some_and(ends) {
                    break;
                }
            }
        }
        steps
    }

    pub(crate) fn on_object(&self, target: &Target, object: &Value) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, entry) in self.state().entries.iter_mut().enumerate() {
            if entry.looks_into(target) && entry.rule.matches.is_about_object(object) {
                steps.extend(entry.matched(RuleId(index), None));
            }
        }
        steps
    }

    pub(crate) fn looks_into(&self, target: &Target) -> bool {
        self.state().entries.iter().any(|entry| entry.looks_into(target))
    }

    pub(crate) async fn unfrozen(&self, target: &Target) {
        let freezes = |entry: &Entry| {
            entry.phase == Phase::On
                && entry.rule.action == Action::Freeze
                && entry.rule.matches.is_about(target)
        };
        let index = self.state().entries.iter().position(freezes);
        let Some(index) = index else { return };
        let number = {
            let mut state = self.state();
            state.entries[index].seen += 1;
            state.entries[index].seen
        };
        self.apply(&Step { id: RuleId(index), action: Action::Freeze, number }, target, None);
        self.wait(|state| (!state.entries.iter().any(freezes)).then_some(())).await;
    }

    pub(crate) async fn halted(&self) -> bool {
        let halts =
            |entry: &Entry| entry.phase == Phase::On && entry.rule.action == Action::Halt && entry.fired > 0;
        let is_halted = |state: &State| state.entries.iter().any(halts);
        if !is_halted(&self.state()) {
            return false;
        }
        self.wait(|state| (!is_halted(state)).then_some(())).await;
        true
    }

    pub(crate) async fn ended(&self, id: RuleId) -> Phase {
        self.wait(|state| Some(state.entries[id.0].phase).filter(|phase| *phase != Phase::On)).await
    }

    pub(crate) fn phase(&self, id: RuleId) -> Phase {
        self.state().entries[id.0].phase
    }

    pub(crate) fn apply(&self, step: &Step, target: &Target, object: Option<&Value>) {
        self.record(step, target, object, None);
    }

    pub(crate) fn skip(&self, step: &Step, target: &Target, why: &'static str) {
        self.record(step, target, None, Some(why));
    }

    /// Applies the patch to an object, and returns whether the object changed.
    pub(crate) fn rewrite(&self, step: &Step, target: &Target, object: &mut Value) -> bool {
        let Action::RewriteObject(patch) = &step.action else { return false };
        if patch.apply(object) {
            self.apply(step, target, Some(object));
            return true;
        }
        self.skip(step, target, NO_PATCH);
        false
    }

    fn record(&self, step: &Step, target: &Target, object: Option<&Value>, skipped: Option<&'static str>) {
        let field = |name: &str| object?["metadata"][name].as_str().map(str::to_owned);
        let mut state = self.state();
        let entry = &mut state.entries[step.id.0];
        if skipped.is_none() {
            entry.applied += 1;
            entry.rule.applied.increment();
        }
        let fault = Fault {
            time: Timestamp::now(),
            proxy: self.proxy.clone(),
            rule: entry.rule.name.clone(),
            action: step.action.name(),
            number: step.number,
            verb: target.verb,
            group: target.group.clone(),
            resource: target.resource.clone(),
            namespace: field("namespace").or_else(|| target.namespace.clone()),
            name: field("name").or_else(|| target.name.clone()),
            skipped,
        };
        state.log.write(&fault);
        state.faults.push(fault);
        drop(state);
        self.changed();
    }
}

impl Entry {
    fn looks_into(&self, target: &Target) -> bool {
        self.phase == Phase::On
            && self.rule.action.looks_into_objects()
            && self.rule.matches.is_about_kind(target)
    }
}
