//! The rules of a running proxy: which of them fire, who waits for one, and what was seen and done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use crate::ProxyError;
use crate::log::{Fault, Log};
use crate::rule::{Action, Match, Rule};
use crate::target::{Target, Verb};

/// A rule that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(usize);

/// What requests are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// What they did.
    pub verb: Verb,
    /// API group.
    pub group: String,
    /// With its subresource; empty for paths that are no resource's.
    pub resource: String,
    /// If they were about one.
    pub namespace: Option<String>,
}

/// Controls a running proxy. Every copy controls the same one.
#[derive(Debug, Clone)]
pub struct ProxyHandle {
    pub(crate) rules: Arc<Rules>,
}

impl ProxyHandle {
    /// Adds a rule behind those that are there. Of the rules that match a request, all do their part in this order, up to
    /// one that ends it; rules behind that one do not see it. A watch in an encoding that the rule cannot look into
    /// ends, so that the program asks again.
    ///
    /// # Errors
    /// [`ProxyError::Rule`].
    pub fn add(&self, rule: Rule) -> Result<RuleId, ProxyError> {
        rule.check()?;
        let mut state = self.rules.state();
        state.entries.push(Entry { rule, phase: Phase::On, seen: 0, fired: 0, applied: 0 });
        let id = RuleId(state.entries.len() - 1);
        drop(state);
        self.rules.changed();
        Ok(id)
    }

    /// Ends a rule; what it holds goes on.
    pub fn release(&self, id: RuleId) {
        self.end(id, Phase::Released);
    }

    /// Ends a rule; what it holds is lost, as is right where nobody is left who would hear the answer.
    pub fn abandon(&self, id: RuleId) {
        self.end(id, Phase::Abandoned);
    }

    /// How often a rule has done what it does.
    pub fn applied(&self, id: RuleId) -> u64 {
        self.rules.state().entries[id.0].applied
    }

    /// Waits until a rule has done what it does so often: a request is held from then on, a lost answer was given.
    pub async fn until_applied(&self, id: RuleId, times: u64) {
        self.rules.wait(|state| (state.entries[id.0].applied >= times).then_some(())).await;
    }

    /// Every request so far.
    pub fn counts(&self) -> BTreeMap<Counted, u64> {
        self.rules.state().counts.clone()
    }

    /// How many requests so far were as `matches` says; names are not counted by.
    pub fn count(&self, matches: &Match) -> u64 {
        let counts = self.counts().into_iter();
        let about = |counted: &Counted| {
            let Counted { verb, group, resource, namespace } = counted.clone();
            let any_name = Match { name: None, ..matches.clone() };
            any_name.is_about(&Target { verb, group, resource, namespace, name: None })
        };
        counts.filter(|(counted, _)| about(counted)).map(|(_, count)| count).sum()
    }

    /// What was done so far.
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
}

impl Entry {
    /// One more match; a rule that fires at it is to do its part.
    fn matched(&mut self, place: usize) -> Option<Step> {
        self.seen += 1;
        self.rule.when.fires(self.seen, self.fired).then(|| {
            self.fired += 1;
            Step { id: RuleId(place), action: self.rule.action.clone(), number: self.seen }
        })
    }
}

/// What a rule is to do to a request or an object.
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

/// See [`ProxyHandle`].
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_replace(());
    }

    /// Told of every change of the rules.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    async fn wait<T>(&self, until: impl Fn(&State) -> Option<T>) -> T {
        let mut changes = self.changes();
        loop {
            if let Some(reached) = until(&self.state()) {
                return reached;
            }
            // The sender is this very value's.
            let _ = changes.changed().await;
        }
    }

    /// Counts a request; what is to be done to it.
    pub(crate) fn on_request(&self, target: &Target) -> Vec<Step> {
        let mut state = self.state();
        let Target { verb, group, resource, namespace, .. } = target.clone();
        *state.counts.entry(Counted { verb, group, resource, namespace }).or_default() += 1;
        let mut steps = Vec::new();
        for (place, entry) in state.entries.iter_mut().enumerate() {
            let is_for_requests =
                !entry.rule.action.looks_into_objects() && entry.rule.action != Action::Freeze;
            if entry.phase == Phase::On && is_for_requests && entry.rule.matches.is_about(target) {
                steps.extend(entry.matched(place));
                let ends = |step: &Step| matches!(step.action, Action::Drop | Action::Refuse { .. });
                if steps.last().is_some_and(ends) {
                    break;
                }
            }
        }
        steps
    }

    /// What is to be done to an object in an answer, or to the watch that delivers it.
    pub(crate) fn on_object(&self, target: &Target, object: &Value) -> Vec<Step> {
        let mut state = self.state();
        let entries = state.entries.iter_mut().enumerate();
        let due = entries
            .filter(|(_, entry)| entry.looks_into(target) && entry.rule.matches.is_about_object(object));
        due.filter_map(|(place, entry)| entry.matched(place)).collect()
    }

    /// Whether some rule looks into the objects of such an answer.
    pub(crate) fn looks_into(&self, target: &Target) -> bool {
        self.state().entries.iter().any(|entry| entry.looks_into(target))
    }

    /// Waits while a rule freezes such a watch.
    pub(crate) async fn unfrozen(&self, target: &Target) {
        let freezes = |entry: &Entry| {
            entry.phase == Phase::On
                && entry.rule.action == Action::Freeze
                && entry.rule.matches.is_about(target)
        };
        let place = self.state().entries.iter().position(freezes);
        let Some(place) = place else { return };
        let number = {
            let mut state = self.state();
            state.entries[place].seen += 1;
            state.entries[place].seen
        };
        self.apply(&Step { id: RuleId(place), action: Action::Freeze, number }, target, None);
        self.wait(|state| (!state.entries.iter().any(freezes)).then_some(())).await;
    }

    /// Waits while the program is to end; whether it was.
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

    /// Waits until a rule has ended; how.
    pub(crate) async fn ended(&self, id: RuleId) -> Phase {
        self.wait(|state| Some(state.entries[id.0].phase).filter(|phase| *phase != Phase::On)).await
    }

    /// Whether a rule goes on, and how it ended.
    pub(crate) fn phase(&self, id: RuleId) -> Phase {
        self.state().entries[id.0].phase
    }

    /// A rule has done its part.
    pub(crate) fn apply(&self, step: &Step, target: &Target, object: Option<&Value>) {
        self.record(step, target, object, None);
    }

    /// A rule could not do its part.
    pub(crate) fn skip(&self, step: &Step, target: &Target, why: &'static str) {
        self.record(step, target, None, Some(why));
    }

    fn record(&self, step: &Step, target: &Target, object: Option<&Value>, skipped: Option<&'static str>) {
        let field = |name: &str| object?["metadata"][name].as_str().map(str::to_owned);
        let mut state = self.state();
        let entry = &mut state.entries[step.id.0];
        if skipped.is_none() {
            entry.applied += 1;
            entry.rule.applied.once_more();
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
