//! The checks of a generated workload. After each operation, the PodCliqueSet must match the calculated
//! state, and the operation must have changed no other objects. The runner checks invariants in every case.

use std::collections::BTreeMap;

use conformance_check::lifecycle::{autoscalers, updates};
use conformance_check::{binding, cleanup, ensure, gang_resources, gangs, placement, services, violation};
use conformance_contract::names::RACK;
use conformance_contract::ruling::{Broken, Finding, Ruling, finding};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_expect::refusals::{Refusal, has_several_priorities, refused_name, system_priority};
use conformance_expect::{Gang, scaling};
use conformance_history::{History, Live, Mark, MarkName, SharedMark, text};
use serde_json::Value;

use crate::contention;
use crate::drive::{OPERATION, PENDING_OPERATION, WORKLOAD};
use crate::expected_state::ExpectedState;
use crate::operate::EDITED;
use crate::surroundings::QUEUES;
use crate::surroundings_checks::{OF_ADMISSION, admission, answer, neighbors_are_bound, queue};
use crate::workload::{ConstrainedPart, GeneratedWorkload, LossCause, Moment, Operation};

const WHOLE_WITHOUT_ROOM: Code = Code::new("bound-without-capacity");
const EDIT_STAYED: Code = Code::new("edit-stayed");

/// The clauses that a workload can decide. If admission must refuse it, only those about the answer remain.
pub(crate) fn clauses(workload: &GeneratedWorkload) -> Vec<&'static str> {
    match refused_name(&workload.pcs) {
        Some(Refusal::SameName(_)) => return vec!["ADM-15", "ADM-24"],
        Some(_) => return vec!["ADM-15"],
        None => {}
    }
    let mut state = ExpectedState::at_start(workload);
    let mut has_scaled = state.gangs().iter().any(|gang| !gang.is_base);
    for operation in &workload.operations {
        state.apply(operation);
        has_scaled |= state.gangs().iter().any(|gang| !gang.is_base);
    }
    let any = |matches: fn(&Operation) -> bool| workload.operations.iter().any(matches);
    let at_any_moment = |matches: fn(&Operation) -> bool| {
        workload.operations.iter().any(|operation| matches(operation.inner()))
    };
    let undisturbed = |matches: fn(&Operation) -> bool| {
        let mut undisturbed = workload.operations.iter().filter(|operation| operation.is_undisturbed());
        undisturbed.any(|operation| matches(operation.inner()))
    };
    let is_scaled = at_any_moment(|operation| matches!(operation, Operation::Scale { .. }))
        || any(|operation| operation.moment() == Moment::AtZero);
    let has_queue = QUEUES.iter().any(|(_, place, key)| workload.pcs["metadata"][*place][*key].is_string());
    let shown = [
        ("GANG-01", true),
        ("GANG-02", true),
        ("GANG-03", has_scaled),
        ("GANG-20", true),
        ("GANG-08", true),
        ("GANG-23", true),
        ("GANG-28", true),
        ("GANG-10", is_scaled),
        ("GANG-24", any(|operation| matches!(operation, Operation::Scale { .. }))),
        (
            "GANG-12",
            undisturbed(|operation| {
                matches!(operation, Operation::DeleteGangResource { .. } | Operation::EditGangResource { .. })
            }),
        ),
        ("AON-01", true),
        ("AON-02", workload.begins_short),
        ("AON-03", workload.begins_short),
        (
            "AON-11",
            undisturbed(
                |operation| matches!(operation, Operation::LosePod { by, .. } if *by != LossCause::Failed),
            ),
        ),
        ("AON-13", at_any_moment(|operation| matches!(operation, Operation::RestartOperator))),
        ("AON-17", undisturbed(|operation| matches!(operation, Operation::LosePod { .. }))),
        (
            "AON-20",
            undisturbed(|operation| matches!(operation, Operation::LosePod { by: LossCause::Failed, .. })),
        ),
        ("UPD-01", any(Operation::updates)),
        ("AUTO-01", at_any_moment(|operation| matches!(operation, Operation::ChangeScaleConfig { .. }))),
        ("TOPO-01", workload.constrained_part() == ConstrainedPart::PodCliqueSet),
        ("TOPO-05", workload.constrained_part() == ConstrainedPart::ScalingGroup),
        ("TOPO-06", workload.constrained_part() == ConstrainedPart::Clique),
        ("TOPO-10", workload.constrained_part() == ConstrainedPart::PodCliqueSet && has_scaled),
        ("DEL-01", true),
        ("KUBE-22", has_several_priorities(&workload.pcs)),
        ("KUBE-23", has_only_system_priority(&workload.pcs)),
        ("VOL-03", has_queue),
        ("KAI-04", has_queue),
    ];
    let of_preemption = contention::CLAUSES.map(|clause| (clause, workload.preempts()));
    let shown = shown.into_iter().chain(of_preemption);
    shown.filter(|(_, is_shown)| *is_shown).map(|(clause, _)| clause).collect()
}

/// With several priorities, a refusal may be due to them, so it does not decide KUBE-23.
fn has_only_system_priority(pcs: &Value) -> bool {
    system_priority(pcs).is_some() && !has_several_priorities(pcs)
}

pub(crate) fn check(history: &History) -> Vec<Finding> {
    let mark = history.marks(WORKLOAD).next();
    let workload = mark.and_then(|(_, mark)| GeneratedWorkload::read(mark.detail.as_str()?).ok());
    let Some(workload) = workload else { return Vec::new() };
    let pcs = workload.name();
    let checks = Checks { history, pcs };
    // The driver omitted the operations and constraints that the target does not declare.
    let decided = clauses(&workload.clone().restricted_to(history.header.target));
    let is_refused = answer(history).is_some_and(|reply| reply.is_refused());
    let ruling = |clause: &'static str| {
        if OF_ADMISSION.contains(&clause) {
            admission(history, &workload.pcs, clause)
        } else if is_refused {
            Err(Broken::NotAsked("admission refused the PodCliqueSet".into()))
        } else if decided.contains(&clause) {
            checks.ruling(clause)
        } else {
            Err(Broken::NotAsked("the target does not declare a needed feature".into()))
        }
    };
    clauses(&workload).into_iter().map(|clause| finding(clause, || ruling(clause))).collect()
}

fn operation_of(mark: &Mark) -> Option<Operation> {
    serde_json::from_value(mark.detail["operation"].clone()).ok()
}

fn operations(history: &History) -> Vec<(usize, Operation)> {
    let marks = history.marks(PENDING_OPERATION).chain(history.marks(OPERATION));
    marks.filter_map(|(index, mark)| Some((index, operation_of(mark)?))).collect()
}

fn operation_before(history: &History, index: usize) -> Option<Operation> {
    let mut started = operations(history);
    started.retain(|(start, _)| *start < index);
    started.pop().map(|(_, operation)| operation)
}

fn is_undisturbed(history: &History, index: usize) -> bool {
    operation_before(history, index).is_none_or(|operation| operation.is_undisturbed())
}

fn is_above_gang_resources(kind: &Value) -> bool {
    kind == "PodCliqueSet" || kind == "PodGang"
}

/// At the end of a history, the edited field has its former value, and no pod was deleted or moved.
fn edit_is_reverted(history: &History, edited: usize, mark: &Mark) -> Ruling {
    let [kind, name, pointer] = ["kind", "name", "pointer"].map(|field| text(&mark.detail[field]));
    let (live, before) = (history.end(), &mark.detail["before"]);
    let found = live.get(kind, name).and_then(|object| object.pointer(pointer));
    ensure(found == Some(before), || {
        let found = found.map_or_else(|| "absent".to_owned(), ToString::to_string);
        let message = format!("{pointer} of {kind} {name} is {found} after an edit, want {before}");
        violation(EDIT_STAYED, message)
    })?;
    binding::others_untouched(history, edited, &[])
}

struct Checks<'a> {
    history: &'a History,
    pcs: &'a str,
}

impl Checks<'_> {
    fn ruling(&self, clause: &str) -> Ruling {
        let history = self.history;
        match clause {
            "GANG-01" => self.at_each_convergence(|_, live, all| gangs::base(live, self.pcs, all)),
            "VOL-03" | "KAI-04" => self.in_queue(clause),
            "GANG-02" => self.before_deletion(|part, _, all| gangs::podgroups(part, all)),
            "GANG-03" => self.before_deletion(gangs::scaled),
            "GANG-20" => self.at_each_convergence(|_, live, all| gangs::references_are_the_pods(live, all)),
            "GANG-08" => self.at_each_convergence(|_, live, all| {
                gang_resources::exist(history, live, all)?;
                gang_resources::match_pod_gangs(history, live, all)
            }),
            "GANG-23" => self.at_each_convergence(|_, live, _| gang_resources::have_owners(live)),
            "GANG-28" => self.before_deletion(|_, live, _| services::select_their_pods(live, self.pcs)),
            "GANG-10" => self.after_each(SharedMark::Scaled, |scaled, _, until| {
                // If an operation scales twice, only the second scaling is checked.
                let mut others = history.marks(SharedMark::Scaled);
                if others.any(|(other, _)| other > scaled && other < until) {
                    return Ok(());
                }
                conformance_check::scaling::followed(history, self.pcs, scaled, until)
            }),
            "GANG-24" => self.after_each(SharedMark::Scaled, |scaled, _, until| {
                let operation = operation_before(history, scaled);
                if operation.is_some_and(|operation| !matches!(operation, Operation::Scale { .. })) {
                    return Ok(());
                }
                conformance_check::scaling::others_untouched(history, self.pcs, scaled, until)
            }),
            "GANG-12" => {
                self.after_each(SharedMark::Deleted, |deleted, mark, until| {
                    let (kind, name) = (text(&mark.detail["kind"]), text(&mark.detail["name"]));
                    if is_above_gang_resources(&mark.detail["kind"]) || !is_undisturbed(history, deleted) {
                        return Ok(());
                    }
                    let part = history.upto(until);
                    gang_resources::restored(&part, deleted, kind, name)?;
                    binding::others_untouched(&part, deleted, &[])
                })?;
                self.after_each(EDITED, |edited, mark, until| {
                    edit_is_reverted(&history.upto(until), edited, mark)
                })?;
                let mut deleted = history.marks(SharedMark::Deleted);
                let is_deleted = deleted.any(|(_, mark)| !is_above_gang_resources(&mark.detail["kind"]));
                if is_deleted || history.marks(EDITED).next().is_some() {
                    return Ok(());
                }
                Err(Broken::NotAsked("the gang resources lack the part to edit".into()))
            }
            "AON-01" | "AON-03" => self.at_each_convergence(|_, live, all| {
                binding::all(live, all)?;
                neighbors_are_bound(history, live, self.pcs)
            }),
            "AON-02" => self.one_pod_short(),
            "AON-11" | "AON-20" => self.after_each(SharedMark::PodLost, |lost, mark, until| {
                let is_failure = mark.detail["by"] == LossCause::Failed.loss().name();
                if is_failure != (clause == "AON-20") || !is_undisturbed(history, lost) {
                    return Ok(());
                }
                binding::replaced(&history.upto(until), lost, text(&mark.detail["name"]))
            }),
            "AON-13" => {
                for name in [OPERATION, PENDING_OPERATION] {
                    self.after_each(name, |begin, mark, until| match operation_of(mark) {
                        Some(operation)
                            if *operation.inner() == Operation::RestartOperator
                                && operation.is_undisturbed() =>
                        {
                            binding::others_untouched(&history.upto(until), begin, &[])
                        }
                        _ => Ok(()),
                    })?;
                }
                self.at_each_convergence(|_, live, all| binding::all(live, all))
            }
            "UPD-01" => {
                updates::are_admitted(history)?;
                self.at_each_convergence(|_, live, _| updates::pods_are_complete(live, self.pcs))
            }
            "AUTO-01" => {
                let pcs = history.submitted(self.pcs)?;
                self.at_each_convergence(|part, live, _| {
                    let mut state = ExpectedState::of_pcs(pcs);
                    operations(part).iter().for_each(|(_, operation)| state.perform(operation));
                    autoscalers::as_configured(live, &state.expected_pcs(), &[])
                })
            }
            "AON-17" => self.after_each(SharedMark::PodLost, |lost, _, until| {
                if !is_undisturbed(history, lost) {
                    return Ok(());
                }
                let begin =
                    history.marks(OPERATION).map(|(index, _)| index).take_while(|index| *index < lost).last();
                // A drain evicts several pods, so one step may have several of these marks.
                let of_step = history.marks(SharedMark::PodLost);
                let of_step = of_step.filter(|(index, _)| Some(*index) > begin && *index < until);
                let names: Vec<_> = of_step.map(|(_, mark)| text(&mark.detail["name"])).collect();
                binding::others_untouched(&history.upto(until), lost, &names)
            }),
            "TOPO-01" => self.gangs_share_rack(|gang| gang.is_base),
            "TOPO-10" => self.gangs_share_rack(|gang| !gang.is_base),
            "TOPO-05" => self.parts_share_rack(|constrained, gang| {
                let mut cliques: BTreeMap<&(String, usize), Vec<String>> = BTreeMap::new();
                for group in &gang.groups {
                    let is_constrained =
                        |(name, _): &&(String, usize)| scaling::template_name(self.pcs, name) == constrained;
                    if let Some(replica) = group.scaling_group.as_ref().filter(is_constrained) {
                        cliques.entry(replica).or_default().push(group.clique.clone());
                    }
                }
                cliques.into_values().collect()
            }),
            "TOPO-06" => self.parts_share_rack(|constrained, gang| {
                let groups = gang.groups.iter().filter(|group| group.template == constrained);
                groups.map(|group| vec![group.clique.clone()]).collect()
            }),
            "DEL-01" => {
                history.reached(SharedMark::LeftOver)?;
                cleanup::nothing_left(history)
            }
            _ if contention::CLAUSES.contains(&clause) => self.preempted(clause),
            other => Err(Broken::NotReached(format!("clause {other} has no check here"))),
        }
    }

    fn preempted(&self, clause: &str) -> Ruling {
        self.history.reached(contention::ARRIVED)?;
        self.after_each(contention::ARRIVED, |since, _, until| {
            contention::ruling(self.history, self.pcs, clause, since, until)
        })
    }

    /// Where each step ended: the operator became idle, or a wait timed out. Fails if a step did not end.
    fn convergences(&self) -> (Vec<usize>, Ruling) {
        let mut ends: Vec<_> = self.history.marks(SharedMark::OperatorIdle).map(|(index, _)| index).collect();
        let steps = self.history.marks(OPERATION).count() + 1;
        if ends.len() >= steps {
            return (ends, Ok(()));
        }
        ends.extend(self.history.marks(SharedMark::WaitTimedOut).map(|(index, _)| index).last());
        let missing =
            format!("the PodCliqueSet became idle {} times, want {} (once per step)", ends.len(), steps);
        (ends, Err(Broken::NotReached(missing)))
    }

    fn at_each_convergence(&self, check: impl Fn(&History, &Live, &[Gang]) -> Ruling) -> Ruling {
        self.where_converged(|_| true, check)
    }

    /// Applies a check only before the deletion: later objects of the same names are of a new PodCliqueSet.
    fn before_deletion(&self, check: impl Fn(&History, &Live, &[Gang]) -> Ruling) -> Ruling {
        let is_pcs = |mark: &Mark| mark.detail["kind"] == "PodCliqueSet" && mark.detail["name"] == self.pcs;
        let deleted = self.history.marks(SharedMark::Deleted).find(|(_, mark)| is_pcs(mark));
        self.where_converged(|end| deleted.is_none_or(|(index, _)| end < index), check)
    }

    fn where_converged(
        &self,
        is_selected: impl Fn(usize) -> bool,
        check: impl Fn(&History, &Live, &[Gang]) -> Ruling,
    ) -> Ruling {
        let pcs = self.history.submitted(self.pcs)?;
        let (ends, all) = self.convergences();
        for end in ends.into_iter().filter(|end| is_selected(*end)) {
            let gangs = scaling::gangs(self.history, pcs, end);
            check(&self.history.upto(end), &self.history.before(end), &gangs)?;
        }
        all
    }

    /// Applies a check to each mark of this name, with the point at which the mark's step ended.
    fn after_each(&self, name: impl Into<MarkName>, check: impl Fn(usize, &Mark, usize) -> Ruling) -> Ruling {
        let (ends, all) = self.convergences();
        for (index, mark) in self.history.marks(name) {
            let Some(end) = ends.iter().copied().find(|end| *end > index) else { continue };
            check(index, mark, end)?;
        }
        all
    }

    fn in_queue(&self, clause: &str) -> Ruling {
        let names_queue = if clause == "VOL-03" { Target::VOLCANO } else { Target::KAI };
        if self.history.header.target.scheduler() != names_queue.scheduler() {
            return Err(Broken::NotAsked("the clause is about another scheduler".into()));
        }
        let pcs = self.history.submitted(self.pcs)?;
        self.at_each_convergence(|_, live, all| queue(self.history, live, pcs, all))
    }

    fn one_pod_short(&self) -> Ruling {
        let (barrier, _) = self.history.reached(SharedMark::SchedulerPassed)?;
        let gangs = scaling::gangs(self.history, self.history.submitted(self.pcs)?, barrier);
        let units: Vec<_> = gangs.iter().flat_map(|gang| gang.units(self.history.header.target)).collect();
        ensure(binding::whole(&self.history.before(barrier), &units).is_err(), || {
            let message = "every unit is bound, want one pending: the nodes lack room for one pod";
            violation(WHOLE_WITHOUT_ROOM, message)
        })
    }

    fn gangs_share_rack(&self, is_selected: impl Fn(&Gang) -> bool) -> Ruling {
        self.at_each_convergence(|part, _, gangs| {
            gangs.iter().filter(|gang| is_selected(gang)).try_for_each(|gang| {
                let of_gang = |pod: conformance_history::Pod<'_>| pod.pod_gang() == Some(&gang.name);
                placement::together(part, part.entries.len(), RACK, &gang.name, of_gang)
            })
        })
    }

    /// `parts` returns the parts of a PodGang that come from the constrained template.
    fn parts_share_rack(&self, parts: impl Fn(&str, &Gang) -> Vec<Vec<String>>) -> Ruling {
        let template = &self.history.submitted(self.pcs)?["spec"]["template"];
        let all = ["podCliqueScalingGroups", "cliques"].into_iter();
        let mut all = all.flat_map(|key| conformance_history::list(&template[key]));
        let constrained = all.find(|part| part["topologyConstraint"].is_object());
        let constrained = constrained.map(|part| text(&part["name"])).unwrap_or_default();
        self.at_each_convergence(|part, _, gangs| {
            gangs.iter().flat_map(|gang| parts(constrained, gang)).try_for_each(|cliques| {
                let of_part = |pod: conformance_history::Pod<'_>| {
                    cliques.iter().any(|clique| pod.pod_clique() == Some(clique))
                };
                placement::together(part, part.entries.len(), RACK, &cliques.join(", "), of_part)
            })
        })
    }
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
