//! The checks of a load test. Each PodCliqueSet must match the calculated state after convergence and after
//! an update. The operator must have no write loops, and nothing may be left after the deletion.

use std::collections::BTreeMap;
use std::iter::successors;
use std::ops::Range;

use conformance_check::lifecycle::{conditions, updates};
use conformance_check::{audit, binding, cleanup, gang_resources, gangs, order};
use conformance_contract::ruling::{Broken, Finding, Ruling, finding};
use conformance_expect::{Gang, scaling};
use conformance_history::{History, Live, MarkName, SharedMark, What};

use super::shapes;

const CONVERGED_CLAUSES: [&str; 7] =
    ["GANG-01", "GANG-02", "GANG-03", "GANG-20", "GANG-08", "GANG-23", "AON-01"];
const UPDATE_CLAUSES: [&str; 10] =
    ["UPD-02", "UPD-03", "UPD-04", "UPD-07", "UPD-08", "UPD-18", "UPD-27", "UPD-29", "UPD-30", "UPD-31"];
const WRITE_LOOP_CLAUSES: [&str; 2] = ["STAT-08", "GANG-11"];
const DELETION_CLAUSE: &str = "DEL-01";

/// Mark: every pod is replaced, and every PodCliqueSet has converged again.
pub(super) const UPDATED: MarkName = MarkName::of_case("every pod is new");

pub(super) fn clauses(with_update: bool) -> Vec<&'static str> {
    let of_update = UPDATE_CLAUSES.into_iter().chain(WRITE_LOOP_CLAUSES).filter(|_| with_update);
    CONVERGED_CLAUSES.into_iter().chain(of_update).chain([DELETION_CLAUSE]).collect()
}

pub(super) fn check(history: &History, with_update: bool) -> Vec<Finding> {
    let converged = SplitHistory::until(history, SharedMark::Converged.into());
    let admitted = updates::are_admitted(history);
    let updated = (with_update && admitted.is_ok()).then(|| SplitHistory::until(history, UPDATED));
    let of_update = |clause: &str| {
        admitted.clone()?;
        // Without convergence, the driver starts no update.
        history.reached(SharedMark::Converged)?;
        match clause {
            "STAT-08" => no_write_loops(history),
            "GANG-11" => audit::nothing_requested(history, idle_period(history)?),
            clause => updated.iter().try_for_each(|updated| updated.ruling(history, clause)),
        }
    };
    let ruling = |clause: &str| match clause {
        DELETION_CLAUSE => cleanup::nothing_left(history),
        clause if CONVERGED_CLAUSES.contains(&clause) => {
            converged.ruling(history, clause)?;
            // GANG-08 is not checked after an update, because the gang resources of a replaced gang may have
            // new names. UPD-07 covers gangs that are not replaced.
            match &updated {
                Some(updated) if clause != "GANG-08" => updated.ruling(history, clause),
                _ => Ok(()),
            }
        }
        clause => of_update(clause),
    };
    clauses(with_update).into_iter().map(|clause| finding(clause, || ruling(clause))).collect()
}

/// No condition is written without a change. After the update, no object is written more often than its pods
/// changed during the update. In the idle period, no object is written twice.
fn no_write_loops(history: &History) -> Ruling {
    conditions::transitions_are_correct(history)?;
    conditions::messages_are_stable(history)?;
    let ((begin, _), (updated, _)) = (history.reached(SharedMark::Converged)?, history.reached(UPDATED)?);
    let idle = idle_period(history)?;
    let mut changes: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in history.pods().filter(|pod| (begin..updated).contains(&pod.index)) {
        // The names of a pod's clique, gang and PodCliqueSet are prefixes of its name.
        for owner in name_prefixes(pod.name()) {
            *changes.entry(owner).or_default() += 1;
        }
    }
    let limit = |name: &str| name_prefixes(name).find_map(|owner| changes.get(owner).copied());
    audit::writes_within_limit(history, updated..idle.start, limit)?;
    conditions::no_write_loops(history, idle.start, idle.end)
}

/// A name and its prefixes before each dash, longest first.
fn name_prefixes(name: &str) -> impl Iterator<Item = &str> {
    successors(Some(name), |name| Some(name.rsplit_once('-')?.0))
}

fn idle_period(history: &History) -> Result<Range<usize>, Broken> {
    Ok(history.reached(SharedMark::OperatorIdle)?.0..history.reached(SharedMark::IdlePeriodEnded)?.0)
}

/// The history of each PodCliqueSet, until the mark `end` or until the wait for this mark timed out.
struct SplitHistory {
    end: MarkName,
    all: Vec<PcsHistory>,
}

struct PcsHistory {
    name: String,
    part: History,
    end: Live,
    gangs: Vec<Gang>,
}

impl SplitHistory {
    fn until(history: &History, end: MarkName) -> Self {
        let until = history.waited_for(end).unwrap_or(history.entries.len());
        let mut parts: BTreeMap<&str, History> = BTreeMap::new();
        for (name, pcs) in &history.header.submitted {
            let mut header = history.header.clone();
            header.submitted = [(name.clone(), pcs.clone())].into();
            parts.insert(name, History { header, entries: Vec::new() });
        }
        for entry in &history.entries[..until] {
            let What::Object(recorded) = &entry.what else { continue };
            let part = shapes::pcs_of(&recorded.object).and_then(|pcs| parts.get_mut(pcs));
            part.into_iter().for_each(|part| part.entries.push(entry.clone()));
        }
        let pcs = |(name, part): (&str, History)| {
            let gangs = scaling::gangs(&part, &part.header.submitted[name], part.entries.len());
            PcsHistory { name: name.to_owned(), end: part.end(), part, gangs }
        };
        Self { end, all: parts.into_iter().map(pcs).collect() }
    }

    fn ruling(&self, history: &History, clause: &str) -> Ruling {
        self.all.iter().try_for_each(|pcs| pcs.ruling(clause))?;
        // Anything missing at the timeout is a violation. Otherwise, the mark proves a long enough wait.
        history.reached(self.end).map(drop)
    }
}

impl PcsHistory {
    fn ruling(&self, clause: &str) -> Ruling {
        let Self { name, part, end, gangs } = self;
        match clause {
            "GANG-01" => gangs::base(end, name, gangs),
            "GANG-02" => gangs::podgroups(part, gangs),
            "GANG-03" if gangs.iter().all(|gang| gang.is_base) => Ok(()),
            "GANG-03" => gangs::scaled(part, end, gangs),
            "GANG-20" => gangs::references_are_the_pods(end, gangs),
            "GANG-23" => gang_resources::have_owners(end),
            "GANG-08" => {
                gang_resources::exist(part, end, gangs)?;
                gang_resources::match_pod_gangs(part, end, gangs)
            }
            "AON-01" => binding::all(end, gangs),
            "UPD-02" => updates::ended(part, name),
            "UPD-03" => updates::one_replica_at_a_time(part, name),
            "UPD-04" => updates::steps_do_not_overlap(part, name),
            "UPD-07" => updates::gangs_stay(part, name),
            "UPD-08" => {
                order::no_pod_before_its_group(part)?;
                updates::replacements_are_members(part, name)
            }
            "UPD-18" => updates::progress_is_correct(part, name),
            "UPD-27" => updates::never_ended_early(part, name),
            "UPD-29" => updates::status_names_the_replica(part, name),
            "UPD-30" => updates::minimum_stays(part, name),
            "UPD-31" => {
                updates::references_follow_the_pods(part, name)?;
                updates::references_match_pods(end, name)
            }
            other => Err(Broken::NotReached(format!("clause {other} has no check here"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::clause;
    use conformance_history::testing::{Story, object};
    use serde_json::{Value, json};

    use super::*;

    fn submitted(pods: u32) -> Story {
        let sets = grove_yaml::documents(&shapes::manifest(pods)).unwrap();
        sets.into_iter().fold(Story::flat(), Story::submitted)
    }

    #[rstest::rstest]
    #[case::bound_and_deleted(false, 8)]
    #[case::updated(true, 20)]
    fn every_clause_has_a_check(#[case] with_update: bool, #[case] count: usize) {
        let found = check(&submitted(300).end(), with_update);
        assert_eq!(found.len(), count);
        for found in found {
            assert!(clause(found.clause).is_some(), "{}", found.clause);
            assert!(found.ruling.is_err(), "{} is not violated although no object was created", found.clause);
        }
    }

    #[test]
    fn the_deletion_is_not_judged_after_a_timeout_before_it() {
        let history = submitted(300).mark(SharedMark::WaitTimedOut, Value::Null).end();
        let found = check(&history, false).into_iter().find(|found| found.clause == DELETION_CLAUSE);
        let ruling = found.map(|found| found.ruling);
        assert!(matches!(ruling, Some(Err(Broken::NotReached(_)))), "{ruling:?}");
    }

    #[test]
    fn the_history_is_split_by_pod_clique_set() {
        let story = submitted(60).added(object("PodGang", "s0-0")).added(object("PodGang", "s1-0"));
        let story = story.mark(SharedMark::Converged, Value::Null);
        let history = story.added(object("Pod", "s0-0-worker-x")).end();
        let sets = SplitHistory::until(&history, SharedMark::Converged.into()).all;
        let names = |pcs: &PcsHistory| {
            pcs.end.all().map(|object| object["metadata"]["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(sets.iter().map(|pcs| pcs.name.as_str()).collect::<Vec<_>>(), ["s0", "s1", "s2"]);
        assert_eq!((names(&sets[0]), names(&sets[1])), (vec!["s0-0".into()], vec!["s1-0".into()]));
        assert_eq!(sets[0].gangs.len(), 5);
    }

    #[rstest::rstest]
    #[case::as_often_as_its_pod_changes("s0-0-worker", 2, true)]
    #[case::too_often("s0-0-worker", 3, false)]
    #[case::as_often_as_pods_of_the_gang("s0-0", 3, true)]
    #[case::gang_resource_too_often("s0-0-worker-2", 3, false)]
    fn an_object_is_not_written_more_often_than_its_pods_change(
        #[case] name: &str,
        #[case] times: usize,
        #[case] fine: bool,
    ) {
        let write = json!({"verb": "patch", "group": "g", "resource": "r", "name": name, "code": 200});
        let writes = json!({"since": "", "writes": vec![write; times]});
        let pod = |name| object("Pod", name);
        let story = submitted(60).mark(SharedMark::Converged, Value::Null).added(pod("s0-0-worker-x"));
        let story =
            story.modified(pod("s0-0-worker-x")).added(pod("s0-0-other-y")).mark(UPDATED, Value::Null);
        let story =
            story.mark(SharedMark::OperatorWrites, writes).mark(SharedMark::OperatorIdle, Value::Null);
        let history = story.mark(SharedMark::IdlePeriodEnded, Value::Null).end();
        assert_eq!(no_write_loops(&history).is_ok(), fine);
    }
}
