//! Checks of a generated workload. After each operation the PodCliqueSet matches the calculation, and other
//! objects are unchanged. Invariants are checked in every case anyway.

use conformance_check::{binding, cleanup, ensure, gang_resources, gangs, placement, violation};
use conformance_contract::names::RACK;
use conformance_contract::ruling::{Broken, Finding, Ruling, finding};
use conformance_contract::violation::Code;
use conformance_expect::{Gang, scaling};
use conformance_history::{History, Live, Mark, SharedMark, text};

use crate::course::Course;
use crate::drive::{OPERATION, WORKLOAD};
use crate::plan::{Constrained, How, Operation, Plan};

const WHOLE_WITHOUT_ROOM: Code = Code::new("whole-without-room");

/// The clauses that a workload shows. Clauses that nothing in it concerns are excluded.
pub(crate) fn clauses(plan: &Plan) -> Vec<&'static str> {
    let mut course = Course::of_set(&plan.set);
    let mut has_scaled = course.gangs().iter().any(|gang| !gang.is_base);
    for operation in &plan.operations {
        course.take(operation);
        has_scaled |= course.gangs().iter().any(|gang| !gang.is_base);
    }
    let any = |is: fn(&Operation) -> bool| plan.operations.iter().any(is);
    let shown = [
        ("GANG-01", true),
        ("GANG-02", true),
        ("GANG-03", has_scaled),
        ("GANG-20", true),
        ("GANG-08", true),
        ("GANG-23", true),
        ("GANG-10", any(|operation| matches!(operation, Operation::Scale { .. }))),
        ("GANG-24", any(|operation| matches!(operation, Operation::Scale { .. }))),
        ("GANG-12", any(|operation| matches!(operation, Operation::DeleteGangResource { .. }))),
        ("AON-01", true),
        ("AON-02", plan.begins_short),
        ("AON-03", plan.begins_short),
        ("AON-11", any(|operation| matches!(operation, Operation::LosePod { by, .. } if *by != How::Failed))),
        ("AON-17", any(|operation| matches!(operation, Operation::LosePod { .. }))),
        ("AON-20", any(|operation| matches!(operation, Operation::LosePod { by: How::Failed, .. }))),
        ("TOPO-01", plan.constrained() == Constrained::Set),
        ("TOPO-05", plan.constrained() == Constrained::Group),
        ("TOPO-06", plan.constrained() == Constrained::Clique),
        ("TOPO-10", plan.constrained() == Constrained::Set && has_scaled),
        ("DEL-01", true),
    ];
    shown.into_iter().filter(|(_, is_shown)| *is_shown).map(|(clause, _)| clause).collect()
}

pub(crate) fn judge(history: &History) -> Vec<Finding> {
    let workload = history.marks(WORKLOAD).next();
    let plan = workload.and_then(|(_, mark)| Plan::read(mark.detail.as_str()?).ok());
    let Some(plan) = plan else { return Vec::new() };
    let set = plan.name();
    let told = Told { history, set };
    // The run left out what the target does not declare.
    let asked = clauses(&plan.clone().on(history.header.target));
    let ruling = |clause: &'static str| match asked.contains(&clause) {
        true => told.ruling(clause),
        false => Err(Broken::NotAsked("the target does not declare a needed feature".into())),
    };
    clauses(&plan).into_iter().map(|clause| finding(clause, || ruling(clause))).collect()
}

struct Told<'a> {
    history: &'a History,
    set: &'a str,
}

impl Told<'_> {
    fn ruling(&self, clause: &str) -> Ruling {
        let history = self.history;
        match clause {
            "GANG-01" => self.at_each_rest(|_, live, all| gangs::base(live, self.set, all)),
            "GANG-02" => self.in_the_first_life(|part, _, all| gangs::podgroups(part, all)),
            "GANG-03" => self.in_the_first_life(gangs::scaled),
            "GANG-20" => self.at_each_rest(|_, live, all| gangs::references_are_the_pods(live, all)),
            "GANG-08" => self.at_each_rest(|_, live, all| {
                gang_resources::exist(history, live, all)?;
                gang_resources::as_the_pod_gangs_say(history, live, all)
            }),
            "GANG-23" => self.at_each_rest(|_, live, _| gang_resources::controlled(live)),
            "GANG-10" => self.after_each(SharedMark::Scaled, |scaled, _, until| {
                conformance_check::scaling::followed(history, self.set, scaled, until)
            }),
            "GANG-24" => self.after_each(SharedMark::Scaled, |scaled, _, until| {
                conformance_check::scaling::others_untouched(history, self.set, scaled, until)
            }),
            "GANG-12" => self.after_each(SharedMark::Deleted, |deleted, mark, until| {
                let (kind, name) = (text(&mark.detail["kind"]), text(&mark.detail["name"]));
                if kind == "PodCliqueSet" {
                    return Ok(());
                }
                let part = history.upto(until);
                gang_resources::restored(&part, deleted, kind, name)?;
                binding::others_untouched(&part, deleted, &[])
            }),
            "AON-01" | "AON-03" => self.at_each_rest(|_, live, all| binding::all(live, all)),
            "AON-02" => self.was_short(),
            "AON-11" | "AON-20" => self.after_each(SharedMark::PodLost, |lost, mark, until| {
                let is_failure = mark.detail["by"] == How::Failed.loss().name();
                if is_failure != (clause == "AON-20") {
                    return Ok(());
                }
                binding::replaced(&history.upto(until), lost, text(&mark.detail["name"]))
            }),
            "AON-17" => self.after_each(SharedMark::PodLost, |lost, _, until| {
                let begin =
                    history.marks(OPERATION).map(|(index, _)| index).take_while(|index| *index < lost).last();
                // A drain loses several pods.
                let of_step = history.marks(SharedMark::PodLost);
                let of_step = of_step.filter(|(index, _)| Some(*index) > begin && *index < until);
                let names: Vec<_> = of_step.map(|(_, mark)| text(&mark.detail["name"])).collect();
                binding::others_untouched(&history.upto(until), lost, &names)
            }),
            "TOPO-01" => self.gangs_are_together(|gang| gang.is_base),
            "TOPO-10" => self.gangs_are_together(|gang| !gang.is_base),
            "TOPO-05" => self.groups_are_together(|constrained, gang| {
                let of = |index: &(String, usize)| index.0.ends_with(&format!("-{constrained}"));
                let mut replicas: Vec<_> =
                    gang.groups.iter().filter_map(|group| group.scaling_group.clone().filter(of)).collect();
                replicas.dedup();
                let cliques = |replica: &(String, usize)| {
                    let own =
                        gang.groups.iter().filter(|group| group.scaling_group.as_ref() == Some(replica));
                    own.map(|group| group.clique.clone()).collect()
                };
                replicas.iter().map(cliques).collect()
            }),
            "TOPO-06" => self.groups_are_together(|constrained, gang| {
                let own = gang.groups.iter().filter(|group| group.template == constrained);
                own.map(|group| vec![group.clique.clone()]).collect()
            }),
            "DEL-01" => {
                history.reached(SharedMark::LeftOver)?;
                cleanup::nothing_left(history)
            }
            other => Err(Broken::NotReached(format!("clause {other} has no check here"))),
        }
    }

    /// The end of each step: idle, or the last timeout. The ruling reports a missing step.
    fn rests(&self) -> (Vec<usize>, Ruling) {
        let mut ends: Vec<_> = self.history.marks(SharedMark::AtRest).map(|(index, _)| index).collect();
        let steps = self.history.marks(OPERATION).count() + 1;
        if ends.len() >= steps {
            return (ends, Ok(()));
        }
        ends.extend(self.history.marks(SharedMark::WaitRanOut).map(|(index, _)| index).last());
        let missing =
            format!("the PodCliqueSet became idle {} times, want {} (once per step)", ends.len(), steps);
        (ends, Err(Broken::NotReached(missing)))
    }

    /// Applies a check to the PodCliqueSet at each point where it should be complete.
    fn at_each_rest(&self, sentence: impl Fn(&History, &Live, &[Gang]) -> Ruling) -> Ruling {
        self.at_rests(|_| true, sentence)
    }

    /// The same until the PodCliqueSet is deleted. Afterwards the same names belong to other objects.
    fn in_the_first_life(&self, sentence: impl Fn(&History, &Live, &[Gang]) -> Ruling) -> Ruling {
        let is_set = |mark: &Mark| mark.detail["kind"] == "PodCliqueSet";
        let deleted = self.history.marks(SharedMark::Deleted).find(|(_, mark)| is_set(mark));
        self.at_rests(|end| deleted.is_none_or(|(index, _)| end < index), sentence)
    }

    fn at_rests(
        &self,
        is_meant: impl Fn(usize) -> bool,
        sentence: impl Fn(&History, &Live, &[Gang]) -> Ruling,
    ) -> Ruling {
        let pcs = self.history.submitted(self.set)?;
        let (ends, all) = self.rests();
        for end in ends.into_iter().filter(|end| is_meant(*end)) {
            let gangs = scaling::gangs(self.history, pcs, end);
            sentence(&self.history.upto(end), &self.history.before(end), &gangs)?;
        }
        all
    }

    /// Applies a check to each of these marks and the end of its step.
    fn after_each(&self, name: SharedMark, sentence: impl Fn(usize, &Mark, usize) -> Ruling) -> Ruling {
        let (ends, all) = self.rests();
        for (index, mark) in self.history.marks(name) {
            let Some(end) = ends.iter().copied().find(|end| *end > index) else { continue };
            sentence(index, mark, end)?;
        }
        all
    }

    /// After the scheduler's pass at least one unit is incomplete. Invariants check what was bound.
    fn was_short(&self) -> Ruling {
        let (barrier, _) = self.history.reached(SharedMark::SchedulerPassed)?;
        let gangs = scaling::gangs(self.history, self.history.submitted(self.set)?, barrier);
        let units: Vec<_> = gangs.iter().flat_map(|gang| gang.units(self.history.header.target)).collect();
        ensure(binding::whole(&self.history.before(barrier), &units).is_err(), || {
            let message = "every unit is bound, want one pending: the nodes lack room for one pod";
            violation(WHOLE_WITHOUT_ROOM, message)
        })
    }

    fn gangs_are_together(&self, is_meant: impl Fn(&Gang) -> bool) -> Ruling {
        self.at_each_rest(|part, _, gangs| {
            gangs.iter().filter(|gang| is_meant(gang)).try_for_each(|gang| {
                let of_gang = |pod: conformance_history::Pod<'_>| pod.pod_gang() == Some(&gang.name);
                placement::together(part, part.entries.len(), RACK, &gang.name, of_gang)
            })
        })
    }

    /// Checks that the cliques of each part are in one rack. `parts` returns the parts of a PodGang that come
    /// from the constrained template.
    fn groups_are_together(&self, parts: impl Fn(&str, &Gang) -> Vec<Vec<String>>) -> Ruling {
        let template = &self.history.submitted(self.set)?["spec"]["template"];
        let all = ["podCliqueScalingGroups", "cliques"].into_iter();
        let mut all = all.flat_map(|key| conformance_history::list(&template[key]));
        let constrained = all.find(|part| part["topologyConstraint"].is_object());
        let constrained = constrained.map(|part| text(&part["name"])).unwrap_or_default();
        self.at_each_rest(|part, _, gangs| {
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
mod tests {
    use conformance_check::codes;
    use conformance_contract::clauses::clause;
    use conformance_history::testing::{Story, one_clique};
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_workload_that_is_one_pod_short_is_not_bound_whole() {
        let ruling = |bound: usize| {
            let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, bound);
            let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
            Told { history: &history, set: "w" }.ruling("AON-02")
        };
        assert_eq!(ruling(1), Ok(()));
        assert_eq!(codes(ruling(2)), ["whole-without-room"]);
    }

    #[test]
    fn every_clause_that_is_shown_is_judged() {
        for plan in (0..200).map(Plan::of_seed) {
            for id in clauses(&plan) {
                assert!(clause(id).is_some(), "{id}");
                let story = Story::flat().submitted(plan.set.clone());
                let history = story.mark(WORKLOAD, plan.text().into()).end();
                let found = judge(&history).into_iter().find(|finding| finding.clause == id);
                assert!(
                    matches!(found.map(|found| found.ruling), Some(Err(_))),
                    "{id} is not violated although no object was created"
                );
            }
        }
    }
}
