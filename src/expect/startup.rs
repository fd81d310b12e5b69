use std::collections::BTreeMap;

use conformance_history::{count, list, text};
use serde_json::Value;

/// A PodClique that another one waits for, and how many of its pods must be Ready.
pub type Parent = (String, usize);

#[derive(Clone, Copy)]
struct CliqueInstance<'a> {
    replica: usize,
    group: Option<(&'a Value, usize)>,
}

impl CliqueInstance<'_> {
    fn name(self, set: &str, clique: &str) -> String {
        match self.group {
            None => format!("{set}-{}-{clique}", self.replica),
            Some((group, j)) => format!("{set}-{}-{}-{j}-{clique}", self.replica, text(&group["name"])),
        }
    }
}

pub fn parents(pcs: &Value) -> BTreeMap<String, Vec<Parent>> {
    let template = &pcs["spec"]["template"];
    let (set, cliques) = (text(&pcs["metadata"]["name"]), list(&template["cliques"]));
    let group_of = |clique: &Value| {
        let mut groups = list(&template["podCliqueScalingGroups"]).iter();
        groups.find(|group| list(&group["cliqueNames"]).contains(&clique["name"]))
    };
    let mut found = BTreeMap::new();
    for replica in 0..count(&pcs["spec"]["replicas"]).unwrap_or(0) {
        for clique in cliques {
            let places: Vec<_> = match group_of(clique) {
                None => vec![CliqueInstance { replica, group: None }],
                Some(group) => (0..count(&group["replicas"]).unwrap_or(1))
                    .map(|j| CliqueInstance { replica, group: Some((group, j)) })
                    .collect(),
            };
            for place in places {
                let all = parents_in_template(template, clique).into_iter().flat_map(|parent| {
                    let replicas = count(&parent["spec"]["replicas"]).unwrap_or(1);
                    let ready = count(&parent["spec"]["minAvailable"]).unwrap_or(replicas);
                    let awaited = awaited_by(place, group_of(parent));
                    awaited.into_iter().map(move |at| (at.name(set, text(&parent["name"])), ready))
                });
                let mut all: Vec<Parent> = all.collect();
                all.sort();
                found.insert(place.name(set, text(&clique["name"])), all);
            }
        }
    }
    found
}

fn parents_in_template<'a>(template: &'a Value, clique: &Value) -> Vec<&'a Value> {
    let cliques = list(&template["cliques"]);
    match text(&template["cliqueStartupType"]) {
        "CliqueStartupTypeInOrder" => {
            let place = cliques.iter().position(|other| other["name"] == clique["name"]);
            place.and_then(|place| place.checked_sub(1)).map(|parent| &cliques[parent]).into_iter().collect()
        }
        "CliqueStartupTypeExplicit" => {
            let named = list(&clique["spec"]["startsAfter"]);
            cliques.iter().filter(|other| named.contains(&other["name"])).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the awaited instances of a parent clique, which is in the scaling group `parent`. Cliques of the
/// base wait for all instances in the base, cliques of a scaled replica only for those in their replica.
fn awaited_by<'a>(place: CliqueInstance<'a>, parent: Option<&'a Value>) -> Vec<CliqueInstance<'a>> {
    let minimum = |group: &Value| count(&group["minAvailable"]).unwrap_or(1);
    let scaled = place.group.filter(|(group, j)| *j >= minimum(group));
    match (scaled, parent) {
        (Some((own, _)), Some(group)) if own["name"] == group["name"] => vec![place],
        (Some(_), _) => Vec::new(),
        (None, None) => vec![CliqueInstance { group: None, ..place }],
        (None, Some(group)) => {
            (0..minimum(group)).map(|j| CliqueInstance { group: Some((group, j)), ..place }).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(order: &str) -> Vec<String> {
        let clique = |name: &str, min: usize, after: &[&str]| json!({"name": name, "spec": {"replicas": 4, "minAvailable": min, "startsAfter": after}});
        let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliqueStartupType": order,
            "cliques": [clique("a", 1, &[]), clique("b", 2, &["a"]), clique("a-b", 3, &["b", "a"])],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "minAvailable": 1, "cliqueNames": ["b", "a-b"]}],
        }}});
        let line = |(name, parents): (String, Vec<Parent>)| {
            let parents: Vec<_> =
                parents.into_iter().map(|(name, ready)| format!("{name}:{ready}")).collect();
            format!("{name} {}", parents.join(" "))
        };
        parents(&pcs).into_iter().map(line).collect()
    }

    #[test]
    fn each_startup_type_has_its_parents() {
        let none = ["w-0-a ", "w-0-sg-0-a-b ", "w-0-sg-0-b ", "w-0-sg-1-a-b ", "w-0-sg-1-b "];
        assert_eq!(lines("CliqueStartupTypeAnyOrder"), none);
        let in_order = [
            "w-0-a ",
            "w-0-sg-0-a-b w-0-sg-0-b:2",
            "w-0-sg-0-b w-0-a:1",
            "w-0-sg-1-a-b w-0-sg-1-b:2",
            "w-0-sg-1-b ",
        ];
        assert_eq!(lines("CliqueStartupTypeInOrder"), in_order);
        let explicit = [
            "w-0-a ",
            "w-0-sg-0-a-b w-0-a:1 w-0-sg-0-b:2",
            "w-0-sg-0-b w-0-a:1",
            "w-0-sg-1-a-b w-0-sg-1-b:2",
            "w-0-sg-1-b ",
        ];
        assert_eq!(lines("CliqueStartupTypeExplicit"), explicit);
    }
}
