//! A rest: the operator has no work left, so every status must equal a recount of pods and objects.

use conformance_check::lifecycle::{counts, gang_status};
use conformance_expect::scopes::{Clique, SetReplica};

use crate::prelude::*;

marks! {
    REST = "rest";
}

const AWAITED: &str = "statuses that equal a recount";

/// Waits until every status equals a recount after all changes of the case. A timeout violates `clause`.
pub(super) async fn rest(
    test: &TestContext,
    set: &str,
    clause: &'static str,
    what: &str,
) -> Result<(), Stop> {
    test.caught_up().await?;
    let history = test.history();
    let pcs = history.header.submitted.get(set).cloned().unwrap_or_default();
    let gangs = scaling::gangs(&history, &pcs, history.entries.len());
    let held = gang_status::ever_bound(&history, &gangs, history.entries.len());
    let reports_gangs = test.target.declares(Feature::PodGangStatus);
    let is_right = |live: &Live| {
        let replicas = counts::replicas_of(live, &pcs);
        [cliques, groups, breaches].iter().all(|recount| recount(live, &replicas).is_empty())
            && counts::of_set(live, &pcs).is_empty()
            && counts::is_observed(live, set)
            && (!reports_gangs
                || gangs.iter().all(|gang| {
                    gang_status::faults(live, gang, &held).is_empty()
                        && gang_status::phase_fault(live, gang).is_none()
                }))
    };
    test.until(Awaited::demanded_by(clause, format!("{AWAITED} ({what})")), limits::REACTION, is_right)
        .await?;
    test.mark(REST, json!({"what": what}));
    Ok(())
}

fn members(live: &Live, replicas: &[SetReplica]) -> Vec<Clique> {
    let size = |name: &str, default: usize| {
        let found = live.get("PodCliqueScalingGroup", name);
        found.and_then(|found| conformance_history::count(&found["spec"]["replicas"])).unwrap_or(default)
    };
    let of_groups = replicas.iter().flat_map(|replica| &replica.groups).flat_map(|group| {
        (0..size(&group.name, group.replicas)).flat_map(|index| group.replica(index).collect::<Vec<_>>())
    });
    replicas.iter().flat_map(|replica| &replica.standalone).cloned().chain(of_groups).collect()
}

pub(super) fn cliques(live: &Live, replicas: &[SetReplica]) -> Vec<String> {
    members(live, replicas).iter().flat_map(|clique| counts::of_clique(live, clique)).collect()
}

pub(super) fn groups(live: &Live, replicas: &[SetReplica]) -> Vec<String> {
    let groups = replicas.iter().flat_map(|replica| &replica.groups);
    groups.flat_map(|group| counts::of_group(live, group)).collect()
}

pub(super) fn breaches(live: &Live, replicas: &[SetReplica]) -> Vec<String> {
    let of_cliques = members(live, replicas);
    let of_cliques = of_cliques.iter().flat_map(|clique| counts::breach_of_clique(live, clique));
    let groups = replicas.iter().flat_map(|replica| &replica.groups);
    of_cliques.chain(groups.flat_map(|group| counts::breach_of_group(live, group))).collect()
}

/// The rests, and the timeouts of waits for a rest. A timeout of another wait is about another clause.
fn places(history: &History) -> impl Iterator<Item = usize> {
    let timeouts = history.marks(SharedMark::WaitTimedOut).filter(|(_, mark)| {
        mark.detail["condition"].as_str().is_some_and(|condition| condition.starts_with(AWAITED))
    });
    history.marks(REST).chain(timeouts).map(|(index, _)| index)
}

/// Applies the recount at each rest and each timeout of a rest. `NotReached` without all `rests`.
pub(super) fn at_every_rest(
    history: &History,
    set: &str,
    rests: usize,
    recount: impl Fn(&Live, &[SetReplica]) -> Vec<String>,
) -> Ruling {
    let pcs = history.submitted(set)?;
    all(places(history).map(|index| {
        let live = history.before(index);
        counts::ruling(&live, recount(&live, &counts::replicas_of(&live, pcs)))
    }))?;
    all_reached(history, rests)
}

pub(super) fn gangs_at_every_rest(history: &History, set: &str, rests: usize) -> Ruling {
    let pcs = history.submitted(set)?;
    all(places(history)
        .map(|index| gang_status::conditions_at(history, &scaling::gangs(history, pcs, index), index)))?;
    all_reached(history, rests)
}

pub(super) fn phases_at_every_rest(history: &History, set: &str, rests: usize) -> Ruling {
    let pcs = history.submitted(set)?;
    all(places(history)
        .map(|index| gang_status::phases_at(history, &scaling::gangs(history, pcs, index), index)))?;
    all_reached(history, rests)
}

pub(super) fn all_reached(history: &History, rests: usize) -> Ruling {
    let reached = history.marks(REST).count();
    if reached == rests {
        Ok(())
    } else {
        Err(Broken::NotReached(format!(
            "the case reached {reached} of {rests} points at which the status is checked"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_timeout_of_a_wait_for_a_rest_is_judged() {
        let check = |condition: &str| {
            let story = Story::flat().submitted(one_clique("w", 1)).added(one_clique("w", 1));
            let history = story.mark(SharedMark::WaitTimedOut, json!({"condition": condition})).end();
            at_every_rest(&history, "w", 1, |_, _| vec!["a status is wrong".to_owned()])
        };
        let of_rest = check("statuses that equal a recount (at first)");
        assert!(matches!(of_rest, Err(Broken::Violated(_))), "{of_rest:?}");
        let of_another = check("2 pods bound");
        assert!(matches!(of_another, Err(Broken::NotReached(_))), "{of_another:?}");
    }
}
