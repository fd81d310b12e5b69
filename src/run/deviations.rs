//! Known deviations: clauses that a released scheduler violates, each with its reason. Every report shows
//! them. If a deviation that always occurs does not occur, the run fails, because the entry is out of date.

mod known;

use std::collections::BTreeMap;

use conformance_check::binding::NOT_BOUND_WHOLE;
use conformance_contract::target::Target;
use conformance_contract::violation::{Code, Violation};
use conformance_history::{Header, list};
use serde_json::Value;

pub use self::known::DEVIATIONS;

/// The violation code of a timeout that no check explains.
pub(crate) const DID_NOT_HAPPEN: Code = Code::new("did-not-happen");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deviation {
    pub target: Target,
    pub clause: &'static str,
    pub case: &'static str,
    pub version: &'static str,
    /// A violation whose code is not listed is a normal failure.
    pub shows: &'static [Code],
    pub occurs: Occurs,
    /// The cause, and what it means for a user.
    pub reason: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurs {
    /// A pass is unexpected.
    Always,
    /// The case is retried until it passes, with at most `tries` attempts. If every attempt shows the
    /// deviation, the case fails, because the deviation is then not a race.
    Race { tries: u32 },
    /// The deviation depends on the machine's speed and load. It may occur in every attempt on one machine
    /// and rarely on another, so more attempts do not help.
    ByPace,
}

pub fn of(case: &str, clause: &str, target: Target) -> Option<&'static Deviation> {
    DEVIATIONS.iter().find(|known| known.case == case && known.clause == clause && known.target == target)
}

/// Returns the deviation by which the target never reaches a state that the case awaits, on no machine.
pub(crate) fn of_each_timeout(case: &str, target: Target) -> Option<&'static Deviation> {
    DEVIATIONS.iter().find(|known| {
        let is_always_late = known.occurs == Occurs::Always && known.shows == [DID_NOT_HAPPEN];
        known.case == case && known.target == target && is_always_late
    })
}

pub fn may_show(case: &str, target: Target) -> bool {
    DEVIATIONS.iter().any(|known| known.case == case && known.target == target)
}

/// Returns the deviation of the suite that may explain these violations of a user's workload. Their code is
/// the same for any partly bound or pending unit, so clause and PodCliqueSets distinguish deviations.
pub(crate) fn of_workload(
    header: &Header,
    clause: &str,
    violations: &[Violation],
) -> Option<&'static Deviation> {
    let clauses: &[&str] = match clause {
        "AON-01" | "AON-03" => &["AON-01", "AON-03"],
        "AON-02" => &["AON-02"],
        _ => return None,
    };
    if violations.is_empty() || violations.iter().any(|violation| violation.code != NOT_BOUND_WHOLE) {
        return None;
    }
    DEVIATIONS.iter().find(|known| {
        known.target == header.target
            && clauses.contains(&known.clause)
            && can_occur(known.case, &header.submitted)
    })
}

/// Whether the deviation of this case can occur with these PodCliqueSets. It cannot if the case prepares what
/// no workload has, such as a second namespace or a broken watch.
fn can_occur(case: &str, sets: &BTreeMap<String, Value>) -> bool {
    match case {
        "aon/one-pod-short" => true,
        "aon/nothing-requested" => sets.values().any(has_pod_without_requests),
        "aon/device-elsewhere" | "del/shared-claims" => sets.values().any(claims_devices),
        _ => false,
    }
}

fn has_pod_without_requests(set: &Value) -> bool {
    let requests = |container: &Value| {
        let amounts = ["requests", "limits"].map(|amounts| &container["resources"][amounts]);
        amounts.into_iter().any(|amounts| amounts.as_object().is_some_and(|amounts| !amounts.is_empty()))
    };
    list(&set["spec"]["template"]["cliques"]).iter().any(|clique| {
        let pod = &clique["spec"]["podSpec"];
        let mut containers = list(&pod["containers"]).iter().chain(list(&pod["initContainers"]));
        !requests(pod) && !containers.any(requests)
    })
}

fn claims_devices(set: &Value) -> bool {
    let template = &set["spec"]["template"];
    let cliques = list(&template["cliques"]);
    let shares = |part: &Value| !list(&part["resourceSharing"]).is_empty();
    let claims = |clique: &Value| !list(&clique["spec"]["podSpec"]["resourceClaims"]).is_empty();
    shares(template)
        || list(&template["podCliqueScalingGroups"]).iter().any(shares)
        || cliques.iter().any(|clique| shares(clique) || claims(clique))
}

impl Deviation {
    pub fn explains(&self, violations: &[Violation]) -> bool {
        violations.iter().all(|violation| self.shows.contains(&violation.code))
    }

    /// The line of a failed clause of a user's workload.
    pub(crate) fn line(&self) -> String {
        let Self { target, case, version, reason, .. } = self;
        format!("known: {}, shown by case {case} on {target} {version}: {reason}", self.page())
    }

    fn page(&self) -> String {
        let name = match self.target.backend() {
            "default-scheduler" => "kube-scheduler",
            "koord-scheduler" => "koordinator",
            other => other,
        };
        format!("docs/findings/{name}.md")
    }
}

#[cfg(test)]
mod tests {
    use conformance_check::binding::BOUND_IN_PART;
    use conformance_contract::ruling::Broken;
    use conformance_history::testing::{Story, one_clique, worker};
    use conformance_history::{MarkName, SharedMark};
    use serde_json::json;

    use super::*;
    use crate::suites;

    #[test]
    fn a_violation_with_another_code_is_no_known_deviation() {
        let known = &DEVIATIONS[0];
        let found = |code: Code| Violation::new(code, "in whatever words", []);
        assert!(known.explains(&[found(BOUND_IN_PART)]));
        assert!(!known.explains(&[found(BOUND_IN_PART), found(Code::new("bound-outside-pool"))]));
    }

    fn is_known(case: &str, clause: &str, story: Story) -> bool {
        let history = story.end();
        let found = (suites::case(case).expect("the case").check)(&history);
        let ruling = found.into_iter().find(|finding| finding.clause == clause).expect("the clause").ruling;
        let Err(Broken::Violated(violations)) = ruling else { panic!("{ruling:?} is no violation") };
        of(case, clause, history.header.target).expect("the deviation").explains(&violations)
    }

    fn submitted_on(target: Target, sets: &[(&str, usize)]) -> Story {
        sets.iter().fold(Story::on(target), |story, (set, pods)| story.submitted(one_clique(set, *pods)))
    }

    /// Returns the case whose deviation explains that a unit of a workload is not bound whole.
    fn known_case(target: Target, clause: &str, pod: Value, code: Code) -> Option<&'static str> {
        let mut set = one_clique("w", 2);
        set["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = pod;
        let header = Story::on(target).submitted(set).end().header;
        of_workload(&header, clause, &[Violation::new(code, "1 of 2 pods is bound", [])])
            .map(|known| known.case)
    }

    #[test]
    fn a_workload_shows_a_deviation_only_if_its_pods_can() {
        let requesting = || json!({"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]});
        let claiming = || json!({"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]});
        let known =
            |target: Target, clause: &str, pod: Value| known_case(target, clause, pod, NOT_BOUND_WHOLE);
        assert_eq!(known(Target::VOLCANO, "AON-02", json!({})), Some("aon/nothing-requested"));
        assert_eq!(known(Target::VOLCANO, "AON-02", requesting()), None);
        assert_eq!(known(Target::VOLCANO, "AON-01", json!({})), None);
        assert_eq!(known(Target::KUBE_POD_GANG, "AON-02", claiming()), Some("aon/device-elsewhere"));
        assert_eq!(known(Target::KUBE_TREE, "AON-03", claiming()), Some("del/shared-claims"));
        assert_eq!(known(Target::KUBE_TREE, "AON-03", requesting()), None);
        assert_eq!(known(Target::KOORDINATOR, "AON-01", requesting()), Some("aon/one-pod-short"));
        assert_eq!(known(Target::KOORDINATOR, "AON-02", requesting()), None, "no watch was broken");
        assert_eq!(known(Target::KAI, "AON-02", requesting()), None, "there is one namespace");
        let other = Code::new("bound-without-capacity");
        assert_eq!(known_case(Target::VOLCANO, "AON-02", json!({}), other), None);
    }

    #[test]
    fn a_deviation_of_a_workload_has_a_page() {
        let can_occur =
            ["aon/one-pod-short", "aon/nothing-requested", "aon/device-elsewhere", "del/shared-claims"];
        for known in DEVIATIONS.iter().filter(|known| can_occur.contains(&known.case)) {
            let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(known.page());
            assert!(page.is_file(), "{} is missing", page.display());
        }
    }

    #[test]
    fn koordinator_starves_a_small_gang() {
        let story = submitted_on(Target::KOORDINATOR, &[("rival", 2), ("tiny", 1)]).workers("rival", 2, 2);
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null).workers("tiny", 1, 0);
        assert!(is_known("aon/room-for-one", "AON-10", story.mark(SharedMark::WaitTimedOut, Value::Null)));
    }

    #[test]
    fn koordinator_starves_a_gang_behind_a_pending_one() {
        let story = submitted_on(Target::KOORDINATOR, &[("large", 5), ("small", 2)]).workers("large", 5, 0);
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null).workers("small", 2, 1);
        assert!(is_known("aon/pending-blocks-nobody", "AON-10", story));
    }

    #[test]
    fn volcano_binds_pods_without_requests_one_by_one() {
        let story = submitted_on(Target::VOLCANO, &[("undemanding", 3)]).workers("undemanding", 3, 2);
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null);
        assert!(is_known("aon/nothing-requested", "AON-02", story));
    }

    #[test]
    fn kai_merges_gangs_of_one_name_in_two_namespaces() {
        let elsewhere = MarkName::of_case("in the other namespace");
        let story = || submitted_on(Target::KAI, &[("namesake", 3)]);
        let bound = |bound: usize| {
            let story = story().workers("namesake", 3, bound).mark(SharedMark::SchedulerPassed, Value::Null);
            story.mark(elsewhere, json!({"pods": 1, "bound": 0}))
        };
        assert!(is_known("aon/same-name-two-namespaces", "AON-01", bound(0)));
        assert!(is_known("aon/same-name-two-namespaces", "AON-02", bound(2)));
    }

    #[test]
    fn koordinator_does_not_retry_a_gang_when_capacity_is_added() {
        let mark = |story: Story, name: MarkName| story.mark(name, Value::Null);
        let story =
            mark(submitted_on(Target::KOORDINATOR, &[("serving", 2)]), MarkName::of_case("base bound"));
        let story = mark(story.workers("serving", 2, 1), SharedMark::SchedulerPassed.into());
        // For this deviation, the check reports that no scaled gang is bound whole, although one must be.
        assert!(is_known("aon/scaled-gang-short", "AON-07", story));
    }

    #[test]
    fn koordinator_does_not_retry_a_gang_whose_reason_has_ended() {
        let known =
            DEVIATIONS.iter().filter(|known| known.case == "wake/koordinator").map(|known| known.clause);
        let sets = [
            ("WAKE-01", "waits-for-a-node"),
            ("WAKE-02", "waits-for-an-uncordon"),
            ("WAKE-03", "waits-for-a-taint"),
            ("WAKE-04", "waits-for-a-deletion"),
            ("WAKE-05", "waits-for-a-scale-in"),
            ("WAKE-09", "waits-for-an-end"),
            ("WAKE-14", "waits-for-a-volume"),
        ];
        assert_eq!(known.collect::<Vec<_>>(), sets.map(|(clause, _)| clause));
        for (clause, set) in sets {
            let of_set = || json!({"set": set});
            let story = submitted_on(Target::KOORDINATOR, &[(set, 2)]).workers(set, 2, 0);
            let ended = story.mark(MarkName::of_case("the reason ends"), of_set()).workers(set, 0, 1);
            let waited = MarkName::of_case("its pods are bound, or the wait for them has timed out");
            assert!(is_known("wake/koordinator", clause, ended.mark(waited, of_set()).later(1)));
        }
    }

    #[test]
    fn koordinator_does_not_retry_a_pod_when_capacity_is_added() {
        let story = submitted_on(Target::KOORDINATOR, &[("short", 5)]).workers("short", 5, 0);
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null);
        assert!(is_known("aon/one-pod-short", "AON-03", story.workers("short", 5, 4)));
    }

    #[test]
    fn kube_scheduler_binds_one_clique_without_the_other() {
        let story = submitted_on(Target::KUBE_POD_GROUP, &[("across", 5)]).workers("across", 5, 2);
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null);
        assert!(is_known("aon/one-clique-too-large", "AON-08", story));
    }

    #[test]
    fn a_gang_that_must_not_preempt_evicts_another() {
        let running = MarkName::of_case("the low gang runs");
        let waited = MarkName::of_case("the gang that never preempts has waited");
        for target in [Target::VOLCANO, Target::KAI] {
            let story = submitted_on(target, &[("interruptible", 2)]).workers("interruptible", 2, 2);
            let evicted = story.mark(running, Value::Null).deleted(worker("interruptible", 0, Some("n")));
            assert!(is_known("pre/never", "PRE-07", evicted.mark(waited, Value::Null)));
        }
    }

    #[test]
    fn a_surplus_pod_evicts_another_gang() {
        let arrived = MarkName::of_case("the gang with a surplus pod arrives");
        let passed = MarkName::of_case("the scheduler has tried the surplus pod");
        for target in [Target::KUBE_TREE, Target::VOLCANO, Target::KAI] {
            let story = submitted_on(target, &[("first", 1), ("second", 1)]).workers("first", 1, 1);
            let story = story.workers("second", 1, 1).mark(arrived, Value::Null);
            let evicted =
                story.deleted(worker("first", 0, Some("n"))).deleted(worker("second", 0, Some("n")));
            assert!(is_known("pre/surplus-evicts-nobody", "PRE-08", evicted.mark(passed, Value::Null)));
        }
    }

    #[test]
    fn koordinator_counts_pods_whose_deletion_it_missed() {
        let story = submitted_on(Target::KOORDINATOR, &[("unseen", 4)]);
        let again = story.mark(MarkName::of_case("submitted again"), Value::Null);
        assert!(is_known("del/same-name-watches-broken", "AON-02", again.workers("unseen", 4, 3)));
    }

    #[test]
    fn kube_scheduler_binds_a_pod_away_from_the_device_of_its_gang() {
        for target in [Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG] {
            let story = submitted_on(target, &[("paired", 2)]).workers("paired", 2, 1);
            assert!(is_known("aon/device-elsewhere", "AON-02", story));
        }
    }

    #[test]
    fn koordinator_binds_part_of_a_gang_that_reuses_a_name() {
        let story = submitted_on(Target::KOORDINATOR, &[("again", 4)]).mark(SharedMark::Deleted, Value::Null);
        let story = story.mark(MarkName::of_case("submitted again"), Value::Null);
        assert!(is_known("del/same-name-again", "DEL-08", story.workers("again", 4, 3)));
    }
}
