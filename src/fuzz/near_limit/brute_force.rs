//! Tests pairs by brute force: from the texts of the manifest and the nodes alone, they try every placement.
//! They share no code with the drawing of pairs, nor with the suite's own check.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names::{BLOCK, HOST, RACK};
use serde_json::Value;

use super::{Pair, Shape, pair};

/// Thousandths of a resource, by its name.
type Amounts = BTreeMap<String, u64>;

fn thousandths(quantity: &Value) -> u64 {
    let text = quantity.as_str().expect("a quantity is text");
    let units =
        [("m", 1), ("Ki", 1024 * 1000), ("Mi", 1024 * 1024 * 1000), ("Gi", 1024 * 1024 * 1024 * 1000)];
    for (unit, thousandths) in units {
        if let Some(number) = text.strip_suffix(unit) {
            return number.parse::<u64>().unwrap() * thousandths;
        }
    }
    text.parse::<u64>().unwrap() * 1000
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn of_container(container: &Value) -> Amounts {
    let mut found = Amounts::new();
    // A request replaces the limit.
    for part in ["limits", "requests"] {
        for (name, quantity) in container["resources"][part].as_object().unwrap() {
            found.insert(name.clone(), thousandths(quantity));
        }
    }
    found
}

fn sum(left: &Amounts, right: &Amounts) -> Amounts {
    let mut sum = left.clone();
    for (name, amount) in right {
        *sum.entry(name.clone()).or_default() += amount;
    }
    sum
}

fn larger(left: &Amounts, right: &Amounts) -> Amounts {
    let mut larger = left.clone();
    for (name, amount) in right {
        let known = larger.entry(name.clone()).or_default();
        *known = (*known).max(*amount);
    }
    larger
}

/// The maximum that a pod requests at any time from its start to its end.
fn of_pod(pod: &Value) -> Amounts {
    let (mut running, mut worst) = (Amounts::new(), Amounts::new());
    for container in elements(&pod["initContainers"]) {
        let with_this = sum(&running, &of_container(container));
        worst = larger(&worst, &with_this);
        if container["restartPolicy"] == "Always" {
            running = with_this;
        }
    }
    for container in elements(&pod["containers"]) {
        running = sum(&running, &of_container(container));
    }
    let one = Amounts::from([("pods".to_owned(), 1000)]);
    sum(&larger(&worst, &running), &one)
}

fn of_node(node: &Value) -> Amounts {
    // The capacity of a simulated node whose Node does not list these resources.
    let mut amounts = Amounts::from([
        ("cpu".to_owned(), 32_000),
        ("memory".to_owned(), 256 * 1024 * 1024 * 1024 * 1000),
        ("pods".to_owned(), 110_000),
    ]);
    for (name, quantity) in node["status"]["allocatable"].as_object().unwrap() {
        amounts.insert(name.clone(), thousandths(quantity));
    }
    amounts
}

fn is_allowed(pod: &Value, node: &Value) -> bool {
    let label = |key: &str| node["metadata"]["labels"][key].as_str();
    let selector = pod["nodeSelector"].as_object();
    let is_selected =
        selector.is_none_or(|selector| selector.iter().all(|(key, value)| label(key) == value.as_str()));
    let affinity = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let meets = |expression: &Value| {
        let found = label(expression["key"].as_str().unwrap());
        let values: Vec<_> = elements(&expression["values"]).iter().filter_map(Value::as_str).collect();
        let number = |text: &str| text.parse::<i64>().unwrap();
        match expression["operator"].as_str().unwrap() {
            "In" => found.is_some_and(|found| values.contains(&found)),
            "NotIn" => found.is_none_or(|found| !values.contains(&found)),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            "Gt" => found.is_some_and(|found| number(found) > number(values[0])),
            "Lt" => found.is_some_and(|found| number(found) < number(values[0])),
            other => panic!("{other}"),
        }
    };
    let is_required = affinity.is_null()
        || elements(&affinity["nodeSelectorTerms"])
            .iter()
            .any(|term| elements(&term["matchExpressions"]).iter().all(&meets));
    let tolerates = |taint: &Value| {
        elements(&pod["tolerations"]).iter().any(|toleration| {
            toleration["key"] == taint["key"]
                && (toleration["operator"] == "Exists" || toleration["value"] == taint["value"])
                && (toleration["effect"].is_null() || toleration["effect"] == taint["effect"])
        })
    };
    let keeps_out = |taint: &Value| taint["effect"] != "PreferNoSchedule" && !tolerates(taint);
    is_selected && is_required && !elements(&node["spec"]["taints"]).iter().any(keeps_out)
}

struct Problem {
    requests: Vec<Amounts>,
    allowed: Vec<Vec<bool>>,
    counts: Vec<usize>,
    nodes: Vec<Amounts>,
    /// The domain of each node; one must hold all pods. Without a constraint, all nodes have the same one.
    domains: Vec<String>,
}

impl Problem {
    fn of(pair: &Pair) -> Self {
        let documents = grove_yaml::documents(&pair.manifest).unwrap();
        let [set] = documents.as_slice() else { panic!("one PodCliqueSet") };
        let nodes = grove_yaml::documents(&pair.nodes).unwrap();
        let template = &set["spec"]["template"];
        let cliques = elements(&template["cliques"]);
        let pods: Vec<_> = cliques.iter().map(|clique| &clique["spec"]["podSpec"]).collect();
        let groups = elements(&template["podCliqueScalingGroups"]);
        let count = |clique: &Value| {
            let group = groups.iter().find(|group| elements(&group["cliqueNames"]).contains(&clique["name"]));
            let copies = group.map_or(1, |group| group["replicas"].as_u64().unwrap());
            (set["spec"]["replicas"].as_u64().unwrap()
                * copies
                * clique["spec"]["replicas"].as_u64().unwrap()) as usize
        };
        let domain = |(index, node): (usize, &Value)| {
            let key = match template["topologyConstraint"]["pack"]["required"].as_str() {
                None => return "everywhere".to_owned(),
                Some("block") => BLOCK,
                Some("rack") => RACK,
                Some("host") => HOST,
                Some(other) => panic!("{other}"),
            };
            let label = node["metadata"]["labels"][key].as_str();
            label.map_or_else(|| format!("node {index}"), str::to_owned)
        };
        Self {
            requests: pods.iter().map(|pod| of_pod(pod)).collect(),
            allowed: pods
                .iter()
                .map(|pod| nodes.iter().map(|node| is_allowed(pod, node)).collect())
                .collect(),
            counts: cliques.iter().map(count).collect(),
            nodes: nodes.iter().map(of_node).collect(),
            domains: nodes.iter().enumerate().map(domain).collect(),
        }
    }

    fn fits(&self, counts: &[usize]) -> bool {
        let domains: BTreeSet<&String> = self.domains.iter().collect();
        domains.into_iter().any(|domain| {
            let mut free = self.nodes.clone();
            self.places(counts.to_vec(), 0, domain, &mut free)
        })
    }

    /// Tries every placement. Each pod goes to the node of its clique's previous pod, or to a later one.
    fn places(&self, left: Vec<usize>, first: usize, domain: &str, free: &mut [Amounts]) -> bool {
        let Some(clique) = left.iter().position(|count| *count > 0) else { return true };
        let mut then = left;
        then[clique] -= 1;
        for node in first..free.len() {
            let has = |name: &String| free[node].get(name).copied().unwrap_or(0);
            let requests = &self.requests[clique];
            let is_inside = self.domains[node] == domain && self.allowed[clique][node];
            if !is_inside || requests.iter().any(|(name, amount)| has(name) < *amount) {
                continue;
            }
            let before = free[node].clone();
            for (name, amount) in requests {
                if let Some(free) = free[node].get_mut(name) {
                    *free -= amount;
                }
            }
            let next = if then[clique] > 0 { node } else { 0 };
            if self.places(then.clone(), next, domain, free) {
                return true;
            }
            free[node] = before;
        }
        false
    }
}

#[test]
fn one_pod_more_or_less_changes_whether_a_pair_fits() {
    for number in 0..12 * Shape::ALL.len() as u32 {
        let pair = pair(7, number);
        let problem = Problem::of(&pair);
        let changed = |clique: usize, by: isize| {
            let mut counts = problem.counts.clone();
            counts[clique] = counts[clique].checked_add_signed(by).unwrap();
            problem.fits(&counts)
        };
        let mut cliques = 0..problem.counts.len();
        let text = || format!("pair {number}, {}:\n{}---\n{}", pair.shape, pair.manifest, pair.nodes);
        assert_eq!(problem.fits(&problem.counts), pair.fits, "{}", text());
        if pair.fits {
            assert!(!cliques.any(|clique| changed(clique, 1)), "one more pod fits too: {}", text());
        } else {
            assert!(
                cliques.any(|clique| changed(clique, -1)),
                "one pod less does not fit either: {}",
                text()
            );
        }
    }
}

#[test]
fn a_seed_and_a_number_always_give_the_same_pair() {
    assert_eq!(pair(1, 5), pair(1, 5));
    assert_ne!(pair(1, 5), pair(2, 5));
    assert_ne!(pair(1, 5), pair(1, 5 + 2 * Shape::ALL.len() as u32));
}

#[test]
fn every_shape_is_drawn_to_fit_and_not_to_fit() {
    let pairs = (0..2 * Shape::ALL.len() as u32).map(|number| pair(1, number));
    let drawn: BTreeSet<_> = pairs.map(|pair| (pair.shape, pair.fits)).collect();
    for shape in Shape::ALL {
        assert!(drawn.contains(&(shape, true)) && drawn.contains(&(shape, false)), "{shape}");
    }
}
