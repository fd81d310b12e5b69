//! Whether the pod statuses that the harness wrote in place of a kubelet held. If something overwrote them,
//! as KWOK may, the operator saw another state than the case needs, and no clause can be checked.

use conformance_facts::health::is_live;
use conformance_history::{Change, History, SharedMark, Version, condition, text};
use jiff::SignedDuration;
use serde_json::Value;

/// How long another status may show until the harness has written its own again.
const MOMENT: SignedDuration = SignedDuration::from_secs(1);

/// The first pod whose Ready status differed for more than a second from what the harness wrote, as a
/// message.
pub fn unheld(history: &History) -> Option<String> {
    let marks: Vec<_> = history.marks(SharedMark::PodSaid).map(|(_, mark)| &mark.detail).collect();
    marks.iter().enumerate().find_map(|(number, said)| {
        let (uid, name, ready) = (text(&said["uid"]), text(&said["name"]), text(&said["ready"]));
        let revision = |said: &Value| said["revision"].as_u64().unwrap_or_default();
        let next = marks[number + 1..].iter().find(|next| next["uid"] == uid);
        let until = next.map_or(u64::MAX, |next| revision(next));
        let since = history
            .named("Pod", name)
            .filter(|version| version.uid() == uid && version.revision() > revision(said));
        let since: Vec<_> = since.collect();
        since.iter().enumerate().find_map(|(place, version)| {
            let lasted = || {
                let back =
                    since[place + 1..].iter().find(|later| is_so(later, ready) || later.revision() >= until);
                back.map_or_else(|| history.last_at(), |back| back.at).duration_since(version.at)
            };
            (version.revision() < until && !is_so(version, ready) && lasted() > MOMENT).then(|| {
                format!("the harness set condition Ready of Pod {name} to {ready}, but it changed afterwards")
            })
        })
    })
}

/// Whether a pod has the status that the harness wrote, or is terminating or deleted.
fn is_so(version: &Version<'_>, ready: &str) -> bool {
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

    /// The harness wrote this Ready status; the write gave the pod this resourceVersion.
    fn said(story: Story, ready: &str, revision: u64) -> Story {
        let name = pod(ready)["metadata"]["name"].clone();
        let detail = json!({"name": name, "uid": "u", "ready": ready, "revision": revision});
        story.modified(pod(ready)).mark(SharedMark::PodSaid, detail)
    }

    #[test]
    fn what_the_harness_says_holds_or_not() {
        let crashes = || said(Story::flat().added(pod("True")).later(1), "False", 2);
        assert_eq!(unheld(&crashes().later(9).modified(pod("False")).end()), None);
        let lost = crashes().modified(pod("True")).later(9).modified(pod("True")).end();
        assert!(
            unheld(&lost).is_some_and(|why| why.contains("set condition Ready of Pod")),
            "KWOK wrote once more"
        );
        let mended = said(crashes().modified(pod("True")), "False", 5);
        assert_eq!(unheld(&mended.later(9).modified(pod("False")).end()), None, "said again at once");
        let healed = said(crashes().later(5), "True", 4).later(9).modified(pod("True")).end();
        assert_eq!(unheld(&healed), None, "the case itself heals it");
        let mut gone = pod("True");
        gone["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(unheld(&crashes().modified(gone).later(9).end()), None, "it is going");
    }
}
