//! Shrinks a failing workload: takes the first smaller one with the same failure, until there is none.

use conformance_history::{count, list, text};
use serde_json::Value;

use crate::course::Course;
use crate::plan::{How, Operation, Plan};

/// Largest reduction first: half of the operations, each operation, parts of the PodCliqueSet, then numbers.
pub(crate) fn candidates(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    fewer_operations(plan, &mut all);
    if plan.begins_short {
        all.push(Plan { begins_short: false, ..plan.clone() });
    }
    all.push(plan.clone().unconstrained());
    smaller_sets(plan, &mut all);
    simpler_operations(plan, &mut all);
    let mut sound: Vec<Plan> = Vec::new();
    for candidate in all.into_iter().filter_map(sound_one) {
        if candidate != *plan && !sound.contains(&candidate) {
            sound.push(candidate);
        }
    }
    sound
}

/// Removes invalid operations; a lost pod may become one of another clique. `None` if nothing is left.
fn sound_one(mut plan: Plan) -> Option<Plan> {
    let mut course = Course::of_set(&plan.set);
    if course.pods() == 0 {
        return None;
    }
    plan.begins_short &= course.minimum() > 1;
    let mut kept = Vec::new();
    for operation in &plan.operations {
        let instead = match operation {
            Operation::LosePod { by, .. } => of_first_clique(&course, *by),
            _ => None,
        };
        kept.extend([Some(operation.clone()), instead].into_iter().flatten().find(|one| course.take(one)));
    }
    plan.operations = kept;
    Some(plan)
}

fn of_first_clique(course: &Course<'_>, by: How) -> Option<Operation> {
    let first = course.gangs().into_iter().flat_map(|gang| gang.groups).next()?;
    Some(Operation::LosePod { clique: first.clique, number: 0, by })
}

fn fewer_operations(plan: &Plan, all: &mut Vec<Plan>) {
    let count = plan.operations.len();
    let mut without = |from: usize, until: usize| {
        let mut smaller = plan.clone();
        smaller.operations.drain(from..until);
        all.push(smaller);
    };
    if count > 1 {
        without(count / 2, count);
        without(0, count / 2);
    }
    (0..count).rev().for_each(|one| without(one, one + 1));
}

fn simpler_operations(plan: &Plan, all: &mut Vec<Plan>) {
    for (place, operation) in plan.operations.iter().enumerate() {
        let simpler: Vec<Operation> = match operation {
            Operation::Scale { kind, name, replicas } => (1..*replicas)
                .map(|replicas| Operation::Scale { kind: kind.clone(), name: name.clone(), replicas })
                .collect(),
            Operation::LosePod { clique, number, by } => {
                let lose = |number, by| Operation::LosePod { clique: clique.clone(), number, by };
                let own = [lose(0, How::DeletedAtOnce), lose(0, *by), lose(*number, How::DeletedAtOnce)];
                of_first_clique(&Course::of_set(&plan.set), *by).into_iter().chain(own).collect()
            }
            Operation::DeleteGangResource { number: 1.. } => {
                vec![Operation::DeleteGangResource { number: 0 }]
            }
            _ => Vec::new(),
        };
        for one in simpler {
            let mut smaller = plan.clone();
            smaller.operations[place] = one;
            all.push(smaller);
        }
    }
}

fn smaller_sets(plan: &Plan, all: &mut Vec<Plan>) {
    let mut with = |change: &dyn Fn(&mut Value)| {
        let mut smaller = plan.clone();
        change(&mut smaller.set["spec"]);
        all.push(smaller);
    };
    let template = &plan.set["spec"]["template"];
    let names = |key: &str| {
        list(&template[key]).iter().map(|part| text(&part["name"]).to_owned()).collect::<Vec<_>>()
    };
    with(&|spec| spec["replicas"] = 1.into());
    for group in names("podCliqueScalingGroups") {
        with(&|spec| {
            let members: Vec<_> = part(spec, "podCliqueScalingGroups", &group)
                .map(|group| list(&group["cliqueNames"]).to_vec())
                .unwrap_or_default();
            members.iter().for_each(|clique| without_clique(spec, text(clique)));
        });
        // Its cliques become standalone.
        with(&|spec| without(spec, "podCliqueScalingGroups", &group));
        for fields in [&["replicas", "minAvailable"][..], &["replicas"], &["minAvailable"]] {
            with(&|spec| lower(part(spec, "podCliqueScalingGroups", &group), fields));
        }
    }
    for clique in names("cliques").iter().rev() {
        with(&|spec| without_clique(spec, clique));
        for fields in [&["replicas", "minAvailable"][..], &["replicas"], &["minAvailable"]] {
            with(&|spec| lower(part(spec, "cliques", clique).map(|clique| &mut clique["spec"]), fields));
        }
    }
}

fn part<'a>(spec: &'a mut Value, key: &str, name: &str) -> Option<&'a mut Value> {
    spec["template"][key].as_array_mut()?.iter_mut().find(|part| part["name"] == name)
}

fn without(spec: &mut Value, key: &str, name: &str) {
    let template = &mut spec["template"];
    if let Some(parts) = template[key].as_array_mut() {
        parts.retain(|part| part["name"] != name);
    }
    if list(&template[key]).is_empty()
        && let Some(fields) = template.as_object_mut()
    {
        fields.remove(key);
    }
}

/// Removes a clique, and its scaling group if that has no other clique.
fn without_clique(spec: &mut Value, name: &str) {
    without(spec, "cliques", name);
    let groups = spec["template"]["podCliqueScalingGroups"].as_array_mut();
    let mut empty = Vec::new();
    for group in groups.into_iter().flatten() {
        if let Some(members) = group["cliqueNames"].as_array_mut() {
            members.retain(|member| member != name);
            empty.extend(members.is_empty().then(|| text(&group["name"]).to_owned()));
        }
    }
    empty.iter().for_each(|group| without(spec, "podCliqueScalingGroups", group));
}

/// Decrements each of these counts that is at least 2, and keeps the minimum at or below the replicas.
fn lower(part: Option<&mut Value>, fields: &[&str]) {
    let Some(part) = part else { return };
    for field in fields {
        if let Some(of @ 2..) = count(&part[*field]) {
            part[*field] = (of - 1).into();
        }
    }
    let (replicas, min) = (count(&part["replicas"]).unwrap_or(1), count(&part["minAvailable"]));
    if min.is_some_and(|min| min > replicas) {
        part["minAvailable"] = replicas.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any measure of a workload that each reduction decreases.
    fn size(plan: &Plan) -> usize {
        plan.text().len() * 1000 + Course::of(plan).most_pods() as usize
    }

    /// Shrinks a workload as long as `fails` is true for a candidate.
    fn shrunk(plan: Plan, fails: impl Fn(&Plan) -> bool) -> Plan {
        let mut now = plan;
        while let Some(next) = candidates(&now).into_iter().find(&fails) {
            now = next;
        }
        now
    }

    #[test]
    fn candidates_can_be_run() {
        for plan in (0..20).map(Plan::of_seed) {
            for candidate in candidates(&plan) {
                assert_eq!(Plan::read(&candidate.text()).map_err(|error| error.to_string()), Ok(candidate));
            }
        }
    }

    #[test]
    fn shrinking_ends_with_what_is_needed() {
        let is_failed =
            |operation: &Operation| matches!(operation, Operation::LosePod { by: How::Failed, .. });
        let fails = |plan: &Plan| plan.operations.iter().any(is_failed);
        let plans = (0..200).map(Plan::of_seed).filter(fails);
        for plan in plans.take(10) {
            let before = size(&plan);
            let shrunk = shrunk(plan, fails);
            assert_eq!(shrunk.operations.len(), 1, "{}", shrunk.text());
            assert_eq!(Course::of(&shrunk).most_pods(), 1, "{}", shrunk.text());
            assert!(!shrunk.begins_short && !shrunk.is_racked() && size(&shrunk) <= before);
        }
    }

    #[test]
    fn a_scaled_gang_is_kept_where_it_is_needed() {
        let fails = |plan: &Plan| Course::of_set(&plan.set).gangs().iter().any(|gang| !gang.is_base);
        let plan = (0..).map(Plan::of_seed).find(fails).unwrap();
        let shrunk = shrunk(plan, fails);
        assert!(shrunk.operations.is_empty());
        assert_eq!(Course::of(&shrunk).most_pods(), 2, "{}", shrunk.text());
    }
}
