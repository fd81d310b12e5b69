//! Checks that no other client, such as KWOK, overwrote a status of the harness or deleted a simulated node.
//! Cases rely on the number and the capacity of nodes, so such a history proves nothing.

use std::collections::BTreeMap;

use conformance_contract::names;
use conformance_facts::health::has_fields;
use conformance_history::{Change, History, SharedMark, Version, text};
use jiff::SignedDuration;
use serde_json::{Value, json};

/// How long an object may show another status until the harness has written the intended status again.
const TOLERATED: SignedDuration = SignedDuration::from_secs(1);

struct Written<'a> {
    uid: &'a str,
    revision: u64,
    status: Value,
}

impl<'a> Written<'a> {
    fn by_mark(mark: &'a Value) -> Self {
        let revision = mark["revision"].as_u64().unwrap_or_default();
        Self { uid: text(&mark["uid"]), revision, status: mark["status"].clone() }
    }

    /// The harness creates its simulated nodes with their status.
    fn by_creation(first: &Version<'a>) -> Option<Self> {
        if !is_simulated_node(first) {
            return None;
        }
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let status = json!({"allocatable": first.object["status"]["allocatable"], "conditions": ready});
        Some(Self { uid: first.uid(), revision: first.revision(), status })
    }
}

pub fn overwritten_status(history: &History) -> Option<String> {
    let tolerated = history.allowed(TOLERATED);
    let mut versions: BTreeMap<&str, Vec<Version<'_>>> = BTreeMap::new();
    for version in history.versions().filter(|version| ["Node", "Pod"].contains(&version.kind())) {
        versions.entry(version.uid()).or_default().push(version);
    }
    let created = versions.values().filter_map(|versions| Written::by_creation(versions.first()?));
    let marked = history.marks(SharedMark::StatusSet).map(|(_, mark)| Written::by_mark(&mark.detail));
    let written: Vec<_> = created.chain(marked).collect();
    written.iter().enumerate().find_map(|(number, this)| {
        let next = written[number + 1..].iter().find(|next| next.uid == this.uid);
        let until = next.map_or(u64::MAX, |next| next.revision);
        let since: Vec<_> =
            versions.get(this.uid)?.iter().filter(|version| version.revision() > this.revision).collect();
        since.iter().enumerate().find_map(|(place, version)| {
            let lasted = || {
                let back = since[place + 1..]
                    .iter()
                    .find(|later| has_status(later, &this.status) || later.revision() >= until);
                back.map_or_else(|| history.last_at(), |back| back.at).duration_since(version.at)
            };
            let is_overwritten = version.revision() < until && !has_status(version, &this.status);
            (is_overwritten && lasted() > tolerated).then(|| {
                format!(
                    "the harness set {} in the status of {} {}, which changed later",
                    this.status,
                    version.kind(),
                    version.name()
                )
            })
        })
    })
}

/// Returns a simulated node that another client deleted: the harness would first cordon it or set a mark.
pub fn deleted_node(history: &History) -> Option<&str> {
    let is_marked = |node: &Version<'_>| {
        let mut marks = history.marks(SharedMark::Deleted).filter(|(place, _)| *place < node.index);
        marks.any(|(_, mark)| mark.detail["kind"] == "Node" && mark.detail["name"] == node.name())
    };
    let is_of_harness = |node: &Version<'_>| node.object["spec"]["unschedulable"] == true || is_marked(node);
    let mut deleted = history.of("Node").filter(|version| version.change == Change::Deleted);
    deleted.find(|node| is_simulated_node(node) && !is_of_harness(node)).map(|node| node.name())
}

fn is_simulated_node(version: &Version<'_>) -> bool {
    version.kind() == "Node" && !version.object["metadata"]["labels"][names::SIMULATED].is_null()
}

fn has_status(version: &Version<'_>, status: &Value) -> bool {
    version.change == Change::Deleted
        || version.pod().is_terminating()
        || has_fields(&version.object["status"], status)
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, node, worker};

    use super::*;

    fn pod(ready: &str) -> Value {
        let mut pod = worker("w", 0, Some("n"));
        pod["metadata"]["uid"] = json!("u");
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
        pod
    }

    fn written(story: Story, ready: &str, revision: u64) -> Story {
        let status = json!({"conditions": [{"type": "Ready", "status": ready}]});
        let detail = json!({"kind": "Pod", "uid": "u", "revision": revision, "status": status});
        story.modified(pod(ready)).mark(SharedMark::StatusSet, detail)
    }

    #[test]
    fn a_status_that_is_overwritten_for_more_than_a_second_is_reported() {
        let crashes = || written(Story::flat().added(pod("True")).later(1), "False", 2);
        assert_eq!(overwritten_status(&crashes().later(9).modified(pod("False")).end()), None);
        let lost = crashes().modified(pod("True")).later(9).modified(pod("True")).end();
        let name = text(&pod("True")["metadata"]["name"]).to_owned();
        assert!(
            overwritten_status(&lost)
                .is_some_and(|why| why.contains(&format!("in the status of Pod {name},"))),
            "KWOK overwrote the status"
        );
        let mended = written(crashes().modified(pod("True")), "False", 5);
        assert_eq!(
            overwritten_status(&mended.later(9).modified(pod("False")).end()),
            None,
            "the harness wrote it again at once"
        );
        let mut late = written(crashes().modified(pod("True")).later(3), "False", 5).later(9).end();
        assert!(overwritten_status(&late).is_some(), "the harness wrote it again after 3 s");
        late.header.slowness = Some(4.0);
        assert_eq!(overwritten_status(&late), None, "the machine was slow");
        let healed = written(crashes().later(5), "True", 4).later(9).modified(pod("True")).end();
        assert_eq!(overwritten_status(&healed), None, "the case itself sets it to True");
        let mut terminating = pod("True");
        terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let history = crashes().modified(terminating).later(9).end();
        assert_eq!(overwritten_status(&history), None, "the pod is terminating");
    }

    #[test]
    fn a_pod_that_runs_again_after_the_harness_failed_it_is_reported() {
        let in_phase = |phase: &str| {
            let mut pod = pod("True");
            pod["status"]["phase"] = json!(phase);
            pod
        };
        let detail = json!({"kind": "Pod", "uid": "u", "revision": 2, "status": {"phase": "Failed"}});
        let failed = Story::flat().added(in_phase("Running")).modified(in_phase("Failed"));
        let failed = || failed.clone().mark(SharedMark::StatusSet, detail.clone());
        assert_eq!(overwritten_status(&failed().later(9).modified(in_phase("Failed")).end()), None);
        let again = failed().modified(in_phase("Running")).later(9).modified(in_phase("Running")).end();
        assert!(overwritten_status(&again).is_some_and(|why| why.contains(r#"{"phase":"Failed"}"#)));
    }

    fn simulated(gpus: u32, ready: &str) -> Value {
        let mut node = node("n", gpus);
        node["metadata"]["uid"] = json!("u");
        node["metadata"]["labels"] = json!({(names::SIMULATED): "true"});
        node["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
        node
    }

    #[rstest::rstest]
    #[case::kept(simulated(8, "True"), false)]
    #[case::another_number_of_gpus(simulated(7, "True"), true)]
    #[case::not_ready(simulated(8, "Unknown"), true)]
    fn a_simulated_node_keeps_the_status_that_the_harness_gave_it(
        #[case] later: Value,
        #[case] is_reported: bool,
    ) {
        let created = || Story::flat().added(simulated(8, "True"));
        let found =
            overwritten_status(&created().modified(later.clone()).later(9).modified(later.clone()).end());
        assert_eq!(found.is_some(), is_reported, "{found:?}");
        let mended = created().modified(later.clone()).modified(simulated(8, "True")).later(9);
        assert_eq!(overwritten_status(&mended.modified(simulated(8, "True")).end()), None);
        let mut of_user = later;
        of_user["metadata"]["labels"] = json!({});
        let mut before = simulated(8, "True");
        before["metadata"]["labels"] = json!({});
        let of_user = Story::flat().added(before).modified(of_user.clone()).later(9).modified(of_user);
        assert_eq!(overwritten_status(&of_user.end()), None, "a kubelet writes the status of a real node");
    }

    #[test]
    fn a_node_that_another_client_deletes_is_reported() {
        let created = || Story::flat().added(simulated(8, "True"));
        let gone = |story: Story| deleted_node(&story.deleted(simulated(8, "True")).end()).map(str::to_owned);
        assert_eq!(gone(created()).as_deref(), Some("n"));
        let of_case = |name: &str| json!({"kind": "Node", "name": name});
        assert_eq!(gone(created().mark(SharedMark::Deleted, of_case("n"))), None);
        assert_eq!(gone(created().mark(SharedMark::Deleted, of_case("m"))).as_deref(), Some("n"));
        let mut cordoned = simulated(8, "True");
        cordoned["spec"] = json!({"unschedulable": true});
        assert_eq!(deleted_node(&created().deleted(cordoned).end()), None);
        assert_eq!(deleted_node(&Story::flat().deleted(node("real", 8)).end()), None);
    }

    #[test]
    fn the_harness_may_change_the_capacity_of_a_node() {
        let detail = json!({"kind": "Node", "uid": "u", "revision": 2,
            "status": {"allocatable": {(names::GPU): "7"}}});
        let changed = Story::flat().added(simulated(8, "True")).modified(simulated(7, "True"));
        let changed = changed.mark(SharedMark::StatusSet, detail).later(9);
        assert_eq!(overwritten_status(&changed.clone().modified(simulated(7, "True")).end()), None);
        let lost = changed.modified(simulated(8, "True")).later(9).modified(simulated(8, "True")).end();
        assert!(overwritten_status(&lost).is_some_and(|why| why.contains("in the status of Node n,")));
    }
}
