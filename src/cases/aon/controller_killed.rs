//! 1 node without GPUs. A PodCliqueSet of two replicas, each a clique of 2 pods (minimum 1) and a scaling
//! group of 2 replicas of 2 pods (minimum 1).
//!
//! A control PodCliqueSet runs through all steps undisturbed: created, first group scaled out, a pod lost,
//! scaled in, updated, and deleted during another update. A fault proxy counts the operator's writes in each
//! step. For two further PodCliqueSets, the controller is killed after its n-th write in each step, before it
//! receives the response, and a new controller starts. The run's id chooses n; a run can also ask for every
//! n.

use std::collections::BTreeSet;

use conformance_check::end_state;
use conformance_facts::updates::is_of_revision;
use conformance_history::text;
use conformance_install::part::Part;
use conformance_proxy::ProxyHandle;

use crate::before_put_back::before_put_back;
use crate::crash_points::{Death, crash_points, writes_of};
use crate::prelude::*;

marks! {
    /// The writes after which the controller is to be killed, per PodCliqueSet and step.
    POINTS = "crash points";
    /// A PodCliqueSet has finished a step, and whether the controller was killed during it.
    ENDED = "step ended";
}

/// The control PodCliqueSet. The comparison replaces its name in all texts, so no other text may contain it.
const CONTROL: &str = "undisturbed";

pub(crate) const CASE: Case =
    case!("Killing the controller after any write does not change the end state", restored)
        .clauses(&[AON_13, UPD_17])
        .nodes(&[nodes(1).pods(60)])
        .isolation(Isolation::Dedicated);

/// The steps of a PodCliqueSet's lifecycle, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Made,
    ScaledOut,
    PodLost,
    ScaledIn,
    Updated,
    /// During another update.
    Deleted,
}

const STEPS: [Step; 6] =
    [Step::Made, Step::ScaledOut, Step::PodLost, Step::ScaledIn, Step::Updated, Step::Deleted];

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::ScaledOut => "scaled out",
            Self::PodLost => "pod lost",
            Self::ScaledIn => "scaled in",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        }
    }

    fn clause(self) -> &'static str {
        match self {
            Self::Made | Self::ScaledOut | Self::PodLost | Self::ScaledIn => AON_13,
            Self::Updated | Self::Deleted => UPD_17,
        }
    }

    async fn begin(self, test: &mut TestContext, set: &str) -> Result<(), Stop> {
        let group = format!("{set}-0-model");
        match self {
            Self::Made => {
                let mut pcs = test.manifest(CONTROL)?;
                pcs["metadata"]["name"] = set.into();
                test.submit_value(pcs).await.map(drop)
            }
            Self::ScaledOut => test.scale("PodCliqueScalingGroup", &group, 3).await,
            Self::PodLost => {
                let pods = test.pods_of(&format!("{set}-0-router"));
                test.lose_pod(pods.first().map_or("", String::as_str)).await?;
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

    /// Waits for the end of the step, from any intermediate state.
    async fn end(self, test: &TestContext, set: &str) -> Result<(), Stop> {
        let there =
            |live: &Live| live.get("PodCliqueSet", set).filter(|pcs| !Pod(pcs).is_terminating()).cloned();
        let is_updated = test.look(there).is_some_and(|pcs| !is_asked_for(&pcs, "1"));
        match self {
            Self::Updated if is_updated => {
                test.until_updated(set, UPD_17).await?;
                // The pod counts in the status may follow after the update is reported as finished.
                test.until_converged(set).await
            }
            Self::PodLost => {
                test.until_converged(set).await?;
                // The counts before the loss is noticed equal those after recovery. Only a quiet period tells
                // the two apart.
                test.until_settled(|_| false).await;
                Ok(())
            }
            Self::Made | Self::ScaledOut | Self::ScaledIn | Self::Updated => test.until_converged(set).await,
            Self::Deleted => {
                if is_updated {
                    let begun = Awaited::demanded_by(
                        UPD_17,
                        format!("the next update of PodCliqueSet {set} started"),
                    );
                    test.until(begun, limits::SCHEDULING, |live| {
                        live.pods()
                            .any(|pod| pod.label(names::PART_OF) == Some(set) && is_of_revision(pod, "3"))
                    })
                    .await?;
                }
                if test.look(there).is_some() {
                    test.delete("PodCliqueSet", set).await?;
                }
                let gone = |live: &_| end_state::size(live, set) == 0;
                test.until("all objects of the deleted PodCliqueSet deleted", limits::CLEANUP, gone).await
            }
        }
    }
}

fn is_asked_for(pcs: &Value, revision: &str) -> bool {
    let spec = &pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"];
    is_of_revision(Pod(&json!({ "spec": spec })), revision)
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let (proxy, ()) = test.proxy(Part::Controller, |_| Ok(())).await?;
    let mut writes = Vec::new();
    for step in STEPS {
        let before = proxy.count(&writes_of(test));
        step.begin(test, CONTROL).await?;
        step.end(test, CONTROL).await?;
        writes.push(proxy.count(&writes_of(test)) - before);
        test.mark(ENDED, json!({"name": CONTROL, "step": step.name(), "killed": false}));
    }
    let lives = crash_points(test, &writes);
    test.mark(POINTS, json!(lives));
    for (number, points) in lives.iter().enumerate() {
        for (step, point) in STEPS.into_iter().zip(points) {
            let is_killed = disturbed(test, &proxy, step, &life(number), *point).await?;
            test.mark(ENDED, json!({"name": life(number), "step": step.name(), "killed": is_killed}));
        }
    }
    Ok(())
}

/// Runs a step and kills the controller after its n-th write, if the step has that many. A timeout at the end
/// means that the operator is stuck.
async fn disturbed(
    test: &mut TestContext,
    proxy: &ProxyHandle,
    step: Step,
    set: &str,
    point: Option<u64>,
) -> Result<bool, Stop> {
    let stuck = |stop: Stop| stop.owed_by(step.clause());
    let Some(n) = point else {
        step.begin(test, set).await?;
        return step.end(test, set).await.map(|()| false).map_err(stuck);
    };
    let death = Death::after(test, proxy, n, &format!("step \"{}\"", step.name()))?;
    step.begin(test, set).await?;
    let is_killed = death.comes_before(step.end(test, set)).await.map_err(stuck)?;
    if is_killed {
        death.another_goes_on(test).await?;
        step.end(test, set).await.map_err(stuck)?;
    }
    Ok(is_killed)
}

fn life(number: usize) -> String {
    format!("killed-{number}")
}

fn judge(history: &History) -> Vec<Finding> {
    let history = &before_put_back(history);
    vec![
        finding(AON_13, || {
            let in_peace = ends(history).find(|end| end.name == CONTROL && end.step == Step::Made.name());
            if let Some(end) = in_peace {
                binding::whole(&history.before(end.place), &history.units(CONTROL)?)?;
            }
            end_as_in_peace(history, AON_13)?;
            are_all_reached(history)
        }),
        finding(UPD_17, || {
            updates::are_admitted(history)?;
            end_as_in_peace(history, UPD_17)?;
            let names: BTreeSet<_> = ends(history).map(|end| end.name).collect();
            for set in names {
                // Deleting the PodCliqueSet removes everything.
                let deleted = history.marks(SharedMark::Deleted).find(|(_, mark)| mark.detail["name"] == set);
                let life = history.upto(deleted.map_or(history.entries.len(), |(place, _)| place));
                all([
                    updates::one_turn_at_a_time(&life, set),
                    updates::only_old_is_taken(&life, set),
                    updates::nothing_is_made_twice(&life, set),
                ])?;
            }
            are_all_reached(history)
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

fn end_as_in_peace(history: &History, clause: &str) -> Ruling {
    let steps = STEPS.into_iter().filter(|step| step.clause() == clause).map(Step::name);
    steps.into_iter().try_for_each(|step| {
        let of_step = || ends(history).filter(move |end| end.step == step);
        let Some(peace) = of_step().find(|end| end.name == CONTROL) else { return Ok(()) };
        let mut others = of_step().filter(|end| end.name != CONTROL);
        others.try_for_each(|end| end_state::same(history, (peace.place, CONTROL), (end.place, end.name)))
    })
}

fn are_all_reached(history: &History) -> Ruling {
    let (_, points) = history.reached(POINTS)?;
    let lives = points.detail.as_array().map_or(0, Vec::len);
    ensure_reached(
        ends(history).count() == (lives + 1) * STEPS.len(),
        &format!("the last step of all {lives} PodCliqueSets"),
    )?;
    let wanted = points.detail.as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
    let wanted = wanted.filter(|point| !point.is_null()).count();
    let killed = ends(history).filter(|end| end.is_killed).count();
    // On a busy machine the operator merges several writes into one, so some later crash points may not be
    // reached.
    ensure_reached(
        killed >= wanted.div_ceil(2).max(1),
        &format!("half of {wanted} crash points (reached: {killed})"),
    )
}

fn ensure_reached(reached: bool, what: &str) -> Ruling {
    if reached { Ok(()) } else { Err(Broken::NotReached(format!("the case did not reach {what}"))) }
}
