//! What a history shows of a gang, and the marks that the drivers set.

use conformance_contract::target::Target;
use conformance_expect::schedulers;
use conformance_history::{History, Live, Pod, What, marks};
use serde_json::Value;

use crate::answer::NoAnswer;
use crate::plain_gang::PlainGang;

marks! {
    /// The driver makes the change whose effect is observed. The mark precedes the request.
    pub(crate) CHANGED = "changed";
    /// The API server's response to that change: `{"refusal"}`, which is null if it accepted the change.
    pub(crate) REPLIED = "replied";
    /// The API server has dropped the field that the question is about: `{"reason"}`.
    pub(crate) UNSUPPORTED = "unsupported";
    /// The state of the question exists, or the scheduler has made a full pass without reaching it.
    pub(crate) OBSERVED = "observed";
}

/// The kind of a target's gang resource in histories; `None` if only an operator can create gangs.
pub(crate) fn gang_kind(target: Target) -> Option<&'static str> {
    let parts = schedulers::of(target).plain_gang("", 1);
    parts.into_iter().map(|(kind, _)| kind).find(|kind| *kind != "Pod")
}

pub(crate) fn observed(history: &History) -> Result<Live, NoAnswer> {
    let (place, _) = history.reached(OBSERVED)?;
    Ok(history.before(place))
}

pub(crate) fn before_change(history: &History) -> Result<Live, NoAnswer> {
    let (place, _) = history.reached(CHANGED)?;
    Ok(history.before(place))
}

pub(crate) fn refusal(history: &History) -> Result<Option<String>, NoAnswer> {
    let (_, mark) = history.reached(REPLIED)?;
    Ok(mark.detail["refusal"].as_str().map(str::to_owned))
}

pub(crate) fn pods<'a>(live: &'a Live, gang: &PlainGang) -> Vec<Pod<'a>> {
    live.pods().filter(|pod| gang.owns(pod.0)).collect()
}

/// Terminating pods do not count.
pub(crate) fn bound(live: &Live, gang: &PlainGang) -> usize {
    pods(live, gang).into_iter().filter(|pod| pod.node().is_some() && !pod.is_terminating()).count()
}

pub(crate) fn is_bound(live: &Live, gang: &PlainGang, index: usize) -> bool {
    live.pods().any(|pod| gang.has(pod, index) && pod.node().is_some())
}

pub(crate) fn resource<'a>(live: &'a Live, target: Target, gang: &PlainGang) -> Option<&'a Value> {
    let kind = gang_kind(target)?;
    live.of(kind).find(|object| gang.owns(object))
}

pub(crate) fn fate(live: &Live, target: Target, gang: &PlainGang) -> String {
    let fate = match resource(live, target, gang) {
        None => "is deleted",
        Some(resource) if resource["metadata"]["deletionTimestamp"].is_string() => {
            "is still Terminating, with a finalizer"
        }
        Some(_) => "exists again",
    };
    format!("the gang resource {fate}")
}

/// Seconds from the driver's change until the state; `None` if it was not reached before the answer.
pub(crate) fn seconds_after_change(history: &History, is_reached: impl Fn(&Live) -> bool) -> Option<f64> {
    let (from, _) = history.marks(CHANGED).next()?;
    let begin = history.entries.get(from)?.at;
    let end = history.marks(OBSERVED).next().map_or(history.entries.len(), |(index, _)| index);
    let mut live = Live::default();
    for (index, entry) in history.entries.iter().enumerate().take(end) {
        if let What::Object(recorded) = &entry.what {
            live.apply(recorded);
        }
        if index >= from && is_reached(&live) {
            return Some(entry.at.duration_since(begin).as_secs_f64());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{TARGET, bind, pod, resource as gang_resource, story, waiting};

    const GANG: PlainGang = PlainGang::new("g", 2);

    #[test]
    fn terminating_pods_do_not_count_as_bound() {
        let mut terminating = pod(&GANG, 1, Some("n"));
        terminating["metadata"]["deletionTimestamp"] = json!("2026-11-28T00:00:00Z");
        let history = bind(story().all_added(waiting(&GANG, 2)), &GANG, 0..2).modified(terminating).end();
        let live = history.end();
        assert_eq!((pods(&live, &GANG).len(), bound(&live, &GANG)), (2, 1));
        assert!(is_bound(&live, &GANG, 1) && !is_bound(&live, &GANG, 2));
    }

    #[test]
    fn a_duration_starts_at_the_change_and_ends_before_the_answer() {
        let changed = story().all_added(waiting(&GANG, 2)).later(5).mark(CHANGED, Value::Null).later(2);
        let first = bind(changed, &GANG, 0..1).later(1).mark(OBSERVED, Value::Null);
        let history = bind(first, &GANG, 1..2).end();
        assert_eq!(seconds_after_change(&history, |live| bound(live, &GANG) == 1), Some(2.0));
        assert_eq!(seconds_after_change(&history, |live| bound(live, &GANG) == 2), None);
    }

    #[test]
    fn a_deleted_gang_resource_may_still_exist() {
        let fate = |story: conformance_history::testing::Story| fate(&story.end().end(), TARGET, &GANG);
        let existing = || story().added(gang_resource(&GANG, json!({})));
        assert_eq!(fate(existing()), "the gang resource exists again");
        assert_eq!(fate(existing().deleted(gang_resource(&GANG, json!({})))), "the gang resource is deleted");
        let mut kept = gang_resource(&GANG, json!({}));
        kept["metadata"]["deletionTimestamp"] = json!("2026-11-28T00:00:00Z");
        assert!(fate(existing().modified(kept)).contains("Terminating"));
    }
}
