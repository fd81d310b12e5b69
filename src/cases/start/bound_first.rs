//! 5 nodes x 8 GPUs; a gang in startup order: a leader clique of 2 pods, a scaling group of 2 replicas of 1
//! worker (one in the base gang), and a last clique of 1 pod. Each pod x 8 GPUs: room for exactly all pods.
//! Simulated nodes do not start containers, so the harness makes pods Ready.

use conformance_check::startup_wait;
use conformance_expect::Unit;
use conformance_expect::scopes::replicas;
use conformance_facts::health::is_ready;

use crate::prelude::*;

marks! {
    BOUND = "bound before anything starts";
    REPORTED = "waits reported and cleared";
    RECYCLED = "recreated with the waiting cliques";
}

const STILL_GATED: Code = Code::new("scaled-gang-still-gated");

const SET: &str = "ordered";
const FIRST: &str = "ordered-0-leader";
const ALL: [&str; 4] = [FIRST, "ordered-0-pool-0-worker", "ordered-0-pool-1-worker", "ordered-0-last"];

pub(crate) const CASE: Case =
    case!("A gang in startup order is bound before containers start, and reports its waits")
        .clauses(&[START_05, START_09, START_11])
        .nodes(&[nodes(5).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let bound = Awaited::demanded_by(START_05, "4 pods of the base bound while none is Ready");
    test.until(bound, SCHEDULING, |live| live.bound() >= 4).await?;
    let bound = Awaited::demanded_by(AON_16, "all 5 pods bound while none is Ready");
    test.until(bound, SCHEDULING, |live| live.bound() == 5).await?;
    test.mark(BOUND, Value::Null);
    let reported = Awaited::demanded_by(
        START_09,
        "a report of the PodCliques that pods wait for, and of their Ready pods",
    );
    test.until(reported, REACTION, |live| startup_wait::reports_are_current(live, SET, &[])).await?;
    test.set_first_pod_status(FIRST, Containers::Ready).await?;
    let reported =
        Awaited::demanded_by(START_09, format!("a report that 1 of 2 pods of PodClique {FIRST} is Ready"));
    test.until(reported, REACTION, |live| {
        let ready = live.pods().filter(|pod| pod.pod_clique() == Some(FIRST) && is_ready(*pod)).count();
        ready == 1 && startup_wait::reports_are_current(live, SET, &[])
    })
    .await?;
    let before = test.look(|live| startup_wait::reported(live, SET));
    for pod in test.pods_of(FIRST) {
        test.set_pod_status(&pod, Containers::Ready).await?;
    }
    let over =
        Awaited::demanded_by(START_09, format!("no report any more that pods wait for PodClique {FIRST}"));
    test.until(over, REACTION, |live| {
        let is_over = !startup_wait::reported(live, SET).iter().any(|(wait, _)| wait.parent == FIRST);
        is_over && startup_wait::reports_are_current(live, SET, &before)
    })
    .await?;
    test.mark(REPORTED, Value::Null);
    let old: Vec<_> = ALL.iter().flat_map(|clique| test.pods_of(clique)).collect();
    // The clique requires both pods, so one crash breaches the gang.
    test.set_first_pod_status(FIRST, Containers::Crashing).await?;
    test.until_recreated(
        "the waiting cliques and the clique that they wait for",
        START_11,
        &ALL,
        &old,
        false,
    )
    .await?;
    test.mark(RECYCLED, Value::Null);
    Ok(())
}

/// A scaled PodGang that is gated although its base is bound violates AON-16, not the startup order.
fn bound_whole(history: &History, live: &Live) -> Ruling {
    let gangs = history.gangs(SET)?;
    let (bases, scaled): (Vec<_>, Vec<_>) = gangs.iter().partition(|gang| gang.is_base);
    let units = |gangs: &[&Gang]| -> Vec<Unit> {
        gangs.iter().flat_map(|gang| gang.units(history.header.target)).collect()
    };
    binding::whole(live, &units(&bases))?;
    precondition(AON_16, are_released(live, &scaled))?;
    binding::whole(live, &units(&scaled))
}

fn are_released(live: &Live, scaled: &[&Gang]) -> Ruling {
    let cliques: Vec<_> =
        scaled.iter().flat_map(|gang| &gang.groups).map(|group| group.clique.as_str()).collect();
    let of_scaled =
        live.pods().filter(|pod| pod.pod_clique().is_some_and(|clique| cliques.contains(&clique)));
    none(of_scaled.filter(|pod| pod.gates().contains(&names::GATE)).map(|pod| {
        let message = format!(
            "Pod {} of a scaled PodGang is still gated, although its base PodGang is bound",
            pod.name()
        );
        violation(STILL_GATED, message).shown_by_object("still gated", pod.0)
    }))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(START_05, || history.at(BOUND, |bound| bound_whole(history, &history.before(bound)))),
        finding(START_09, || {
            startup_wait::waits_are_reported(history, SET)?;
            history.reached(REPORTED).map(drop)
        }),
        finding(START_11, || {
            history.reached(REPORTED)?;
            history.at(RECYCLED, |_| {
                let all = replicas(history.submitted(SET)?);
                for replica in &all {
                    termination::times(history, replica, &replica.scope(), 1)?;
                }
                Ok(())
            })
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::gated;

    use super::*;

    fn ruling(bound: usize, held: usize) -> Ruling {
        let cliques = [ALL[0], ALL[0], ALL[1], ALL[3], ALL[2]];
        let pods = cliques.into_iter().enumerate().map(|(index, clique)| {
            let labels = json!({names::PART_OF: SET, names::POD_CLIQUE: clique});
            let node = (index < bound).then_some("n");
            let pod = json!({"kind": "Pod", "metadata": {"name": format!("p{index}"), "labels": labels},
                "spec": {"nodeName": node}});
            if index + held < cliques.len() { pod } else { gated(pod) }
        });
        let set = grove_yaml::documents(crate::manifest("start/bound-first")).unwrap().remove(0);
        let story = Story::flat().submitted(set).all_added(pods);
        check(&story.mark(SharedMark::WaitTimedOut, json!({})).end()).remove(0).ruling
    }

    #[rstest]
    #[case::scaled_gang_gated(4, 1, Some(AON_16))]
    #[case::scaled_gang_unbound(4, 0, Some(START_05))]
    #[case::base_gated(2, 3, Some(START_05))]
    #[case::all_bound(5, 0, None)]
    fn a_gated_scaled_gang_violates_the_clause_about_its_release(
        #[case] bound: usize,
        #[case] held: usize,
        #[case] violated: Option<&str>,
    ) {
        let found = match ruling(bound, held) {
            Err(Broken::Violated(_)) => Some(START_05),
            Err(Broken::Precondition { clause, .. }) => Some(clause),
            Err(Broken::NotReached(_)) => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(found, violated);
    }
}
