//! 1 node without GPUs. A PodCliqueSet of two replicas, each a clique of 2 pods of which it needs 1 and a scaling group of 2
//! replicas of 2 pods of which it needs 1, lives in peace: it is made, its first group scaled out, a pod of it lost, scaled in
//! and deleted, while a fault proxy counts the writes that each of these steps takes. Then others like it live, and in each
//! step the controller is killed after its n-th write in the namespace, of which it hears no answer, and another controller
//! goes on. Two lives are lived so, with n chosen by the run's id, unless a run is asked for every n.

use std::collections::BTreeMap;

use conformance_cluster::local::Part;
use conformance_contract::names::POD_CLIQUE;
use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, Isolation, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{binding, end_state, finding};
use conformance_proxy::{Action, Match, ProxyHandle, Rule};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::before_put_back::before_put_back;

/// Mark: the writes after which the controller is to be killed, by life and step.
const POINTS: MarkName = MarkName::of_case("crash points");
/// Mark: a PodCliqueSet has come to the end of a step, and whether the controller was killed on the way.
const ENDED: MarkName = MarkName::of_case("step ended");

/// The PodCliqueSet that nobody disturbs.
const CALM: &str = "calm";
/// How many are disturbed where not every crash point is tried.
const LIVES: usize = 2;

/// AON-13.
pub(crate) const CASE: Case = Case::new(
    "The controller is killed after its n-th write, for every n: the end state is the one without it",
    |test| Box::pin(restored(test, |test| Box::pin(drive(test)))),
    judge,
)
.clauses(&["AON-13"])
.nodes(&[nodes(1).pods(60)])
.isolation(Isolation::Dedicated);

/// What happens to a PodCliqueSet, one after the other.
#[derive(Debug, Clone, Copy)]
enum Step {
    Made,
    ScaledOut,
    PodLost,
    ScaledIn,
    Deleted,
}

const STEPS: [Step; 5] = [Step::Made, Step::ScaledOut, Step::PodLost, Step::ScaledIn, Step::Deleted];

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::ScaledOut => "scaled out",
            Self::PodLost => "pod lost",
            Self::ScaledIn => "scaled in",
            Self::Deleted => "deleted",
        }
    }

    async fn begin(self, test: &mut TestContext, set: &str) -> Result<(), Stop> {
        let group = format!("{set}-0-model");
        match self {
            Self::Made => {
                let mut pcs = test.manifest(CALM)?;
                pcs["metadata"]["name"] = set.into();
                test.submit_value(pcs).await.map(drop)
            }
            Self::ScaledOut => test.scale("PodCliqueScalingGroup", &group, 3).await,
            Self::PodLost => {
                let clique = format!("{set}-0-router");
                let pod = test.look(|live| {
                    let mut of_clique = live.pods().filter(|pod| pod.label(POD_CLIQUE) == Some(&clique));
                    of_clique.next().map(|pod| pod.name().to_owned())
                });
                test.lose_pod(&pod.unwrap_or_default()).await?;
                test.caught_up().await
            }
            Self::ScaledIn => {
                test.scale("PodCliqueScalingGroup", &group, 2).await?;
                test.scale("PodCliqueSet", set, 1).await
            }
            Self::Deleted => test.delete("PodCliqueSet", set).await,
        }
    }

    async fn end(self, test: &TestContext, set: &str) -> Result<(), Stop> {
        match self {
            Self::Deleted => {
                let gone = |live: &_| end_state::size(live, set) == 0;
                test.until("everything of the deleted PodCliqueSet gone", limits::CLEANUP, gone).await
            }
            Self::Made | Self::ScaledOut | Self::PodLost | Self::ScaledIn => test.until_converged(set).await,
        }
    }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let (proxy, ()) = test.proxy(Part::Controller, |_| Ok(())).await?;
    let mut writes = Vec::new();
    for step in STEPS {
        let before = proxy.count(&writes_of(test));
        step.begin(test, CALM).await?;
        step.end(test, CALM).await?;
        writes.push(proxy.count(&writes_of(test)) - before);
        test.mark(ENDED, json!({"name": CALM, "step": step.name(), "killed": false}));
    }
    let lives = match test.test_cluster.thorough.every_crash_point {
        true => every(&writes),
        false => chosen(&writes, &test.test_cluster.run),
    };
    test.mark(POINTS, json!(lives));
    for (number, points) in lives.iter().enumerate() {
        for (step, point) in STEPS.into_iter().zip(points) {
            let is_killed = disturbed(test, &proxy, step, &life(number), *point).await?;
            test.mark(ENDED, json!({"name": life(number), "step": step.name(), "killed": is_killed}));
        }
    }
    Ok(())
}

/// Goes through a step in which the controller is killed after its n-th write, if it comes to so many; whatever is lacking
/// at the end is a state that got stuck.
async fn disturbed(
    test: &mut TestContext,
    proxy: &ProxyHandle,
    step: Step,
    set: &str,
    point: Option<u64>,
) -> Result<bool, Stop> {
    let stuck = |stop: Stop| stop.owed_by("AON-13");
    let Some(n) = point else {
        step.begin(test, set).await?;
        return step.end(test, set).await.map(|()| false).map_err(stuck);
    };
    let rule =
        Rule::new(format!("killed after write {n} when {}", step.name()), writes_of(test), Action::Halt);
    let halt = proxy.add(rule.nth(n))?;
    step.begin(test, set).await?;
    let is_killed = tokio::select! {
        biased;
        () = proxy.until_applied(halt, 1) => true,
        ended = step.end(test, set) => ended.map(|()| false).map_err(stuck)?,
    };
    if is_killed {
        test.take_away(Part::Controller).await?;
        proxy.release(halt);
        test.start_ready(Part::Controller).await?;
        step.end(test, set).await.map_err(stuck)?;
    } else {
        // It took fewer writes than in peace.
        proxy.abandon(halt);
    }
    Ok(is_killed)
}

fn writes_of(test: &TestContext) -> Match {
    Match::writes().in_namespace(&test.namespace)
}

fn life(number: usize) -> String {
    format!("life-{number}")
}

/// For each life and step the write after which the controller is killed: the first, the second, ..., as many lives as the
/// step of the most writes takes.
fn every(writes: &[u64]) -> Vec<Vec<Option<u64>>> {
    let lives = writes.iter().max().copied().unwrap_or(0);
    (1..=lives).map(|n| writes.iter().map(|count| (n <= *count).then_some(n)).collect()).collect()
}

/// As many lives as a run has time for, with points that its id chooses.
fn chosen(writes: &[u64], seed: &str) -> Vec<Vec<Option<u64>>> {
    let mut lives = vec![Vec::new(); LIVES];
    for (step, count) in writes.iter().enumerate() {
        let mut points: Vec<u64> = (1..=*count).collect();
        points.sort_by_key(|n| Sha256::digest(format!("{seed}/{step}/{n}")));
        let mut points = points.into_iter();
        lives.iter_mut().for_each(|life| life.push(points.next()));
    }
    lives
}

fn judge(history: &History) -> Vec<Finding> {
    let history = &before_put_back(history);
    vec![finding("AON-13", || {
        let ended: Vec<_> = history.marks(ENDED).map(|(place, mark)| (place, &mark.detail)).collect();
        let in_peace: BTreeMap<_, _> = ended
            .iter()
            .filter(|(_, detail)| detail["name"] == CALM)
            .map(|(place, detail)| (detail["step"].as_str(), *place))
            .collect();
        if let Some(place) = in_peace.get(&Some(Step::Made.name())) {
            binding::whole(&history.before(*place), &history.units(CALM)?)?;
        }
        for (place, detail) in ended.iter().filter(|(_, detail)| detail["name"] != CALM) {
            let (name, step) = (detail["name"].as_str().unwrap_or_default(), detail["step"].as_str());
            let Some(peace) = in_peace.get(&step) else { continue };
            end_state::same(history, (*peace, CALM), (*place, name))?;
        }
        let (_, points) = history.reached(POINTS)?;
        let lives = points.detail.as_array().map_or(0, Vec::len);
        ensure_reached(
            ended.len() == (lives + 1) * STEPS.len(),
            &format!("the end of all of {lives} lives"),
        )?;
        let wanted = points.detail.as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
        let wanted = wanted.filter(|point| !point.is_null()).count();
        let killed = ended.iter().filter(|(_, detail)| detail["killed"] == true).count();
        // On a busy machine an operator makes of several writes one, so the later points may not be reached every time.
        ensure_reached(killed >= wanted.div_ceil(2).max(1), &format!("{wanted} crash points, but {killed}"))
    })]
}

fn ensure_reached(reached: bool, what: &str) -> Ruling {
    if reached { Ok(()) } else { Err(Broken::NotReached(format!("the case did not reach {what}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_crash_points() {
        let writes = [30, 1, 0];
        let lives = chosen(&writes, "r");
        assert_eq!(lives.len(), LIVES);
        assert_eq!(lives, chosen(&writes, "r"), "the same in the same run");
        assert_ne!(lives, chosen(&writes, "s"));
        assert!(
            lives
                .iter()
                .all(|points| points[0].is_some_and(|n| (1..=30).contains(&n)) && points[2].is_none())
        );
        assert_eq!((lives[0][1], lives[1][1]), (Some(1), None));
        assert_ne!(lives[0][0], lives[1][0]);
    }

    #[test]
    fn every_crash_point() {
        assert_eq!(every(&[2, 0, 1]), [[Some(1), None, Some(1)], [Some(2), None, None]]);
    }
}
