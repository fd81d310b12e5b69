//! 1 node without GPUs. A PodCliqueSet of two replicas, each a clique of 2 pods (minimum 1) and a scaling
//! group of 2 replicas of 2 pods (minimum 1).
//!
//! A control PodCliqueSet goes through all steps without a kill, and a proxy counts the operator's writes in
//! each step. For two other PodCliqueSets, the case kills the operator after its n-th write in a step, before
//! the operator receives the response. The run's seed chooses n; with `--depth full`, a run tries every n.

use conformance_check::end_state;
use conformance_proxy::ProxyHandle;

use crate::crash_points::{Crash, crash_points, writes_of};
use crate::prelude::*;

marks! {
    POINTS = "crash points";
    ENDED = "step ended";
}

/// The comparison replaces this name in all texts, so it must be unique.
const CONTROL: &str = "undisturbed";

pub(crate) const CASE: Case =
    case!("Killing the controller after any write does not change the end state", restored)
        .clauses(&[AON_13, UPD_17])
        .nodes(&[nodes(1).pods(60)])
        .isolation(Isolation::Dedicated);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Created,
    ScaledOut,
    PodLost,
    ScaledIn,
    Updated,
    Deleted,
}

const STEPS: [Step; 6] =
    [Step::Created, Step::ScaledOut, Step::PodLost, Step::ScaledIn, Step::Updated, Step::Deleted];

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Created => "made",
            Self::ScaledOut => "scaled out",
            Self::PodLost => "pod lost",
            Self::ScaledIn => "scaled in",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        }
    }

    fn clause(self) -> &'static str {
        match self {
            Self::Created | Self::ScaledOut | Self::PodLost | Self::ScaledIn => AON_13,
            Self::Updated | Self::Deleted => UPD_17,
        }
    }

    async fn start(self, test: &mut TestContext, set: &str) -> Result<(), Stop> {
        let group = format!("{set}-0-model");
        match self {
            Self::Created => {
                let mut pcs = test.manifest(CONTROL)?;
                pcs["metadata"]["name"] = set.into();
                test.submit_value(pcs).await.map(drop)
            }
            Self::ScaledOut => test.scale("PodCliqueScalingGroup", &group, 3).await,
            Self::PodLost => {
                let pods = test.pods_of(&format!("{set}-0-router"));
                test.force_delete_pod(pods.first().map_or("", String::as_str)).await?;
                test.caught_up().await
            }
            Self::ScaledIn => {
                test.scale("PodCliqueScalingGroup", &group, 2).await?;
                test.scale("PodCliqueSet", set, 1).await
            }
            Self::Updated => test.revise(set, "2").await.map(drop),
            Self::Deleted => test.revise(set, "3").await.map(drop),
        }
    }

    async fn end(self, test: &TestContext, set: &str) -> Result<(), Stop> {
        let existing =
            |live: &Live| live.get("PodCliqueSet", set).filter(|pcs| !Pod(pcs).is_terminating()).cloned();
        let is_updated = test.look(existing).is_some_and(|pcs| !is_at_revision(&pcs, "1"));
        match self {
            Self::Updated if is_updated => {
                test.until_updated(set, UPD_02).await?;
                // The status may report that the update has finished before its pod counts are correct.
                test.until_converged(set).await
            }
            Self::PodLost => {
                test.until_converged(set).await?;
                // The status has the same counts before the operator notices the loss and after it replaces
                // the pod. Only a quiet period distinguishes the two.
                test.until_settled(|_| false).await;
                Ok(())
            }
            Self::Created | Self::ScaledOut | Self::ScaledIn | Self::Updated => {
                test.until_converged(set).await
            }
            Self::Deleted => {
                if is_updated {
                    test.until_revision_appears(UPD_01, "3").await?;
                }
                if test.look(existing).is_some() {
                    test.delete("PodCliqueSet", set).await?;
                }
                let is_deleted = |live: &_| end_state::size(live, set) == 0;
                let deleted =
                    Awaited::demanded_by(DEL_01, format!("all objects of PodCliqueSet {set} deleted"));
                test.until(deleted, limits::CLEANUP, is_deleted).await
            }
        }
    }
}

fn is_at_revision(pcs: &Value, revision: &str) -> bool {
    let spec = &pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"];
    is_of_revision(Pod(&json!({ "spec": spec })), revision)
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let (proxy, ()) = test.proxy(Part::Controller, |_| Ok(())).await?;
    let mut writes = Vec::new();
    for step in STEPS {
        let before = proxy.count(&writes_of(test));
        step.start(test, CONTROL).await?;
        step.end(test, CONTROL).await?;
        writes.push(proxy.count(&writes_of(test)) - before);
        test.mark(ENDED, json!({"name": CONTROL, "step": step.name(), "killed": false}));
    }
    let points_per_set = crash_points(test, &writes);
    test.mark(POINTS, json!(points_per_set));
    for (number, points) in points_per_set.iter().enumerate() {
        for (step, point) in STEPS.into_iter().zip(points) {
            let is_killed = run_step(test, &proxy, step, &set_name(number), *point).await?;
            test.mark(ENDED, json!({"name": set_name(number), "step": step.name(), "killed": is_killed}));
        }
    }
    Ok(())
}

/// Runs one step and returns whether the operator was killed. A step with fewer than n writes ends without a
/// kill. If the step times out after the kill, the clause of the step fails.
async fn run_step(
    test: &mut TestContext,
    proxy: &ProxyHandle,
    step: Step,
    set: &str,
    point: Option<u64>,
) -> Result<bool, Stop> {
    let owed = |stop: Stop| stop.owed_by(step.clause());
    let Some(n) = point else {
        step.start(test, set).await?;
        return step.end(test, set).await.map(|()| false).map_err(owed);
    };
    let crash = Crash::after(test, proxy, n, &format!("step \"{}\"", step.name()))?;
    step.start(test, set).await?;
    let is_killed = crash.is_reached_before(step.end(test, set)).await.map_err(owed)?;
    if is_killed {
        crash.replace_controller(test).await?;
        step.end(test, set).await.map_err(owed)?;
    }
    Ok(is_killed)
}

fn set_name(number: usize) -> String {
    format!("crashed-{number}")
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![
        finding(AON_13, || {
            ends_as_control(history, AON_13)?;
            all_steps_reached(history)
        }),
        update_finding(history, UPD_17, || {
            // A PodCliqueSet that differed before its update also differs after it.
            precondition(AON_13, ends_as_control(history, AON_13))?;
            ends_as_control(history, UPD_17)?;
            let updating =
                ends(history).filter(|end| end.name != CONTROL && end.step == Step::ScaledIn.name());
            for End { place, name: set, .. } in updating {
                // The deletion of the PodCliqueSet deletes new pods too.
                let deleted = history.marks(SharedMark::Deleted).find(|(_, mark)| mark.detail["name"] == set);
                let lifetime = history.upto(deleted.map_or(history.entries.len(), |(place, _)| place));
                updates::updater_deletes_only_old_since(&lifetime, set, place)?;
            }
            all_steps_reached(history)
        }),
    ]
}

struct End<'a> {
    place: usize,
    name: &'a str,
    step: &'a str,
    is_killed: bool,
}

fn ends(history: &History) -> impl Iterator<Item = End<'_>> {
    history.marks(ENDED).map(|(place, mark)| End {
        place,
        name: text(&mark.detail["name"]),
        step: text(&mark.detail["step"]),
        is_killed: mark.detail["killed"] == true,
    })
}

fn ends_as_control(history: &History, clause: &str) -> Ruling {
    let steps = STEPS.into_iter().filter(|step| step.clause() == clause).map(Step::name);
    steps.into_iter().try_for_each(|step| {
        let of_step = || ends(history).filter(move |end| end.step == step);
        let Some(control) = of_step().find(|end| end.name == CONTROL) else { return Ok(()) };
        let mut others = of_step().filter(|end| end.name != CONTROL);
        others.try_for_each(|end| end_state::same(history, (control.place, CONTROL), (end.place, end.name)))
    })
}

fn all_steps_reached(history: &History) -> Ruling {
    let (_, points) = history.reached(POINTS)?;
    let sets = points.detail.as_array().map_or(0, Vec::len);
    ensure_reached(
        ends(history).count() == (sets + 1) * STEPS.len(),
        &format!("the last step of all {sets} PodCliqueSets"),
    )?;
    let wanted = points.detail.as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
    let wanted = wanted.filter(|point| !point.is_null()).count();
    let killed = ends(history).filter(|end| end.is_killed).count();
    // On a busy machine the operator merges writes, so some later crash points may not be reached.
    ensure_reached(
        killed >= wanted.div_ceil(2).max(1),
        &format!("half of {wanted} crash points (reached: {killed})"),
    )
}

fn ensure_reached(reached: bool, what: &str) -> Ruling {
    if reached { Ok(()) } else { Err(Broken::NotReached(format!("the case did not reach {what}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_after(step: Step) -> Vec<Finding> {
        let ended = |story: Story, set: &str| {
            story.mark(ENDED, json!({"name": set, "step": step.name(), "killed": set != CONTROL}))
        };
        let control = ended(Story::flat().added(object("PodClique", "undisturbed-0-router")), CONTROL);
        check(&ended(control, "crashed-0").end())
    }

    #[test]
    fn a_difference_before_the_update_leaves_the_update_undecided() {
        let found = check_after(Step::Created);
        assert!(matches!(found[0].ruling, Err(Broken::Violated(_))), "{found:?}");
        assert!(matches!(found[1].ruling, Err(Broken::Precondition { clause: AON_13, .. })), "{found:?}");
        let found = check_after(Step::Updated);
        assert!(matches!(found[0].ruling, Err(Broken::NotReached(_))), "{found:?}");
        assert!(matches!(found[1].ruling, Err(Broken::Violated(_))), "{found:?}");
    }
}
