//! Checks that nothing, such as KWOK, overwrote pod statuses of the harness. Otherwise nothing is decided.

use conformance_facts::health::is_live;
use conformance_history::{Change, History, SharedMark, Version, condition, text};
use jiff::SignedDuration;
use serde_json::Value;

/// How long a pod may show another status until the harness has written the intended status again.
const TOLERATED: SignedDuration = SignedDuration::from_secs(1);

pub fn overwritten_status(history: &History) -> Option<String> {
    let marks: Vec<_> = history.marks(SharedMark::PodStatusSet).map(|(_, mark)| &mark.detail).collect();
    marks.iter().enumerate().find_map(|(number, written)| {
        let (uid, name, ready) = (text(&written["uid"]), text(&written["name"]), text(&written["ready"]));
        let revision = |mark: &Value| mark["revision"].as_u64().unwrap_or_default();
        let next = marks[number + 1..].iter().find(|next| next["uid"] == uid);
        let until = next.map_or(u64::MAX, |next| revision(next));
        let since = history
            .named("Pod", name)
            .filter(|version| version.uid() == uid && version.revision() > revision(written));
        let since: Vec<_> = since.collect();
        since.iter().enumerate().find_map(|(place, version)| {
            let lasted = || {
                let back = since[place + 1..]
                    .iter()
                    .find(|later| has_status(later, ready) || later.revision() >= until);
                back.map_or_else(|| history.last_at(), |back| back.at).duration_since(version.at)
            };
            (version.revision() < until && !has_status(version, ready) && lasted() > TOLERATED).then(|| {
                format!(
                    "the harness set condition Ready of Pod {name} to {ready}, but the condition was \
                     changed later"
                )
            })
        })
    })
}

fn has_status(version: &Version<'_>, ready: &str) -> bool {
    let found = condition(version.object, "Ready");
    version.change == Change::Deleted
        || !is_live(version.pod())
        || found.is_some_and(|found| found["status"] == ready)
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, worker};
    use serde_json::{Value, json};

    use super::*;

    fn pod(ready: &str) -> Value {
        let mut pod = worker("w", 0, Some("n"));
        pod["metadata"]["uid"] = json!("u");
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
        pod
    }

    fn written(story: Story, ready: &str, revision: u64) -> Story {
        let name = pod(ready)["metadata"]["name"].clone();
        let detail = json!({"name": name, "uid": "u", "ready": ready, "revision": revision});
        story.modified(pod(ready)).mark(SharedMark::PodStatusSet, detail)
    }

    #[test]
    fn a_status_that_is_overwritten_for_more_than_a_second_is_reported() {
        let crashes = || written(Story::flat().added(pod("True")).later(1), "False", 2);
        assert_eq!(overwritten_status(&crashes().later(9).modified(pod("False")).end()), None);
        let lost = crashes().modified(pod("True")).later(9).modified(pod("True")).end();
        assert!(
            overwritten_status(&lost).is_some_and(|why| why.contains("set condition Ready of Pod")),
            "KWOK overwrote the status"
        );
        let mended = written(crashes().modified(pod("True")), "False", 5);
        assert_eq!(
            overwritten_status(&mended.later(9).modified(pod("False")).end()),
            None,
            "the harness wrote it again at once"
        );
        let healed = written(crashes().later(5), "True", 4).later(9).modified(pod("True")).end();
        assert_eq!(overwritten_status(&healed), None, "the case itself sets it to True");
        let mut terminating = pod("True");
        terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let history = crashes().modified(terminating).later(9).end();
        assert_eq!(overwritten_status(&history), None, "the pod is terminating");
    }
}
