//! Derives the pods of a PodCliqueSet, one shape per clique template, and checks them against nodes.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names::GPU;
use conformance_expect::Gang;
use conformance_facts::quantity::{Amount, ONE, amount};
use conformance_facts::requests::{self, add};
use conformance_history::{list, text};
use serde_json::Value;

use super::Misfit;
use super::node_rules::Node;
use super::packing::Port;

/// The smallest amount of CPU that kube-scheduler counts.
const MILLI: Amount = ONE / 1000;

#[derive(Debug)]
pub(super) struct Shape<'a> {
    pub(super) clique: String,
    pub(super) index: usize,
    pub(super) template: &'a str,
    pub(super) path: String,
    /// The pod spec, with the requests that the API server adds.
    pub(super) spec: Value,
    written: &'a Value,
    pub(super) requests: BTreeMap<String, Amount>,
    pub(super) ports: Vec<Port>,
}

pub(super) fn shapes<'a>(pcs: &'a Value, gangs: &[Gang]) -> Vec<Shape<'a>> {
    let cliques = list(&pcs["spec"]["template"]["cliques"]).iter().enumerate();
    let groups = || gangs.iter().flat_map(|gang| &gang.groups);
    let shape = |(index, clique): (usize, &'a Value)| {
        let template = text(&clique["name"]);
        let first = groups().find(|group| group.template == template)?;
        let written = &clique["spec"]["podSpec"];
        let spec = requests::defaulted(written);
        let counted = requests::of_running(&spec).into_iter().filter(|(_, amount)| *amount > 0);
        let requests = counted.map(|(name, amount)| (name.to_owned(), rounded(name, amount))).collect();
        let path = format!("spec.template.cliques[{index}].spec.podSpec");
        let ports = ports(written);
        Some(Shape { clique: first.clique.clone(), index, template, path, spec, written, requests, ports })
    };
    cliques.filter_map(shape).collect()
}

/// kube-scheduler counts thousandths of CPU and whole units of everything else, and rounds up.
fn rounded(resource: &str, amount: Amount) -> Amount {
    let unit = if resource == "cpu" { MILLI } else { ONE };
    amount.saturating_add(unit - 1) / unit * unit
}

/// With `hostNetwork`, every container port is a host port.
fn ports(spec: &Value) -> Vec<Port> {
    let is_on_host = spec["hostNetwork"] == true;
    let sidecars =
        list(&spec["initContainers"]).iter().filter(|container| container["restartPolicy"] == "Always");
    let containers = list(&spec["containers"]).iter().chain(sidecars);
    let ports = containers.flat_map(|container| list(&container["ports"]));
    let port = |port: &Value| {
        let of_container = || port["containerPort"].as_u64().filter(|_| is_on_host);
        let number = port["hostPort"].as_u64().filter(|number| *number > 0).or_else(of_container)?;
        let address = port["hostIP"].as_str().filter(|address| !["", "0.0.0.0", "::"].contains(address));
        let protocol = port["protocol"].as_str().unwrap_or("TCP").to_owned();
        Some(Port { address: address.map(str::to_owned), protocol, port: number })
    };
    ports.filter_map(port).collect()
}

impl Shape<'_> {
    /// Removes requests that devices satisfy, which only a scheduler can allocate. Returns a reason for each.
    pub(super) fn without_resources_of_devices(
        &mut self,
        nodes: &[Node<'_>],
        provided: &BTreeSet<String>,
    ) -> Vec<String> {
        let lacks = |node: &Node<'_>, name: &str| !node.allocatable.contains_key(name);
        let of_devices =
            |name: &String| provided.contains(name) && nodes.iter().any(|node| lacks(node, name));
        let names: Vec<String> = self.requests.keys().filter(|name| of_devices(name)).cloned().collect();
        self.requests.retain(|name, _| !names.contains(name));
        names.into_iter().map(|name| format!("{}: devices provide {name}", self.path)).collect()
    }

    pub(super) fn misfit(&self, nodes: &[Node<'_>], allowed: &[bool]) -> Option<Misfit> {
        let allowed =
            || nodes.iter().zip(allowed).filter(|(_, is_allowed)| **is_allowed).map(|(node, _)| node);
        let has = |node: &Node<'_>, resource: &str| node.allocatable.get(resource).copied().unwrap_or(0);
        for (resource, requested) in &self.requests {
            let most = allowed().map(|node| has(node, resource)).max().unwrap_or(0);
            if *requested > most {
                return Some(self.lacks(resource, *requested, most));
            }
        }
        let fits =
            |node: &Node<'_>| self.requests.iter().all(|(name, requested)| *requested <= has(node, name));
        if allowed().any(fits) {
            return None;
        }
        let all = self.requests.iter().filter(|(name, _)| *name != "pods");
        let all: Vec<_> = all.map(|(name, amount)| format!("{} {name}", shown(name, *amount))).collect();
        Some(Misfit {
            path: self.path.clone(),
            asks: format!("each pod of PodClique {} requests {}", self.clique, all.join(", ")),
            has: "no single node has all of it".into(),
            remedy: "lower the requests, or pass --nodes with larger nodes".into(),
        })
    }

    fn lacks(&self, resource: &str, requested: Amount, most: Amount) -> Misfit {
        let needed = shown(resource, requested);
        let (has, remedy) = match (most, resource) {
            (_, GPU) => (
                format!("the largest node has {}", shown(resource, most)),
                format!("pass --nodes with at least {needed} GPUs per node"),
            ),
            (0, _) => {
                (format!("no node has {resource}"), "remove the request, or pass --nodes FILE with it".into())
            }
            (..) => {
                let most = shown(resource, most);
                let remedy = format!("request at most {most}, or pass --nodes FILE with larger nodes");
                (format!("the largest node has {most}"), remedy)
            }
        };
        let asks = format!("each pod of PodClique {} requests {needed} {resource}", self.clique);
        Misfit { path: self.path_of(resource), asks, has, remedy }
    }

    fn path_of(&self, resource: &str) -> String {
        let field = |of: &Value| {
            let is_written = !of["resources"]["requests"][resource].is_null();
            if is_written { "requests" } else { "limits" }
        };
        let of_pod = &self.written["resources"];
        if ["requests", "limits"].iter().any(|field| !of_pod[*field][resource].is_null()) {
            return format!("{}.resources.{}[{resource:?}]", self.path, field(self.written));
        }
        let containers = ["containers", "initContainers"].into_iter().flat_map(|kind| {
            let all = list(&self.spec[kind]).iter().enumerate();
            all.filter_map(move |(index, container)| {
                let requested = amount(&container["resources"]["requests"][resource])?;
                Some((requested, kind, index))
            })
        });
        // If several containers request the most, name the first.
        let largest = containers.reduce(|best, next| if next.0 > best.0 { next } else { best });
        match largest {
            Some((_, kind, index)) => {
                let field = field(&self.written[kind][index]);
                format!("{}.{kind}[{index}].resources.{field}[{resource:?}]", self.path)
            }
            None => format!("{}.overhead[{resource:?}]", self.path),
        }
    }
}

pub(super) fn total<'a>(
    requests: impl Iterator<Item = (&'a BTreeMap<String, Amount>, usize)>,
) -> BTreeMap<&'a str, Amount> {
    let mut sums = BTreeMap::new();
    for (of_pod, count) in requests {
        let count = Amount::try_from(count).unwrap_or(Amount::MAX);
        let of_pods = of_pod.iter().map(|(name, amount)| (name.as_str(), amount.saturating_mul(count)));
        add(&mut sums, &of_pods.collect());
    }
    sums
}

pub(super) fn shown(resource: &str, amount: Amount) -> String {
    let is_bytes = ["memory", "ephemeral-storage"].contains(&resource) || resource.starts_with("hugepages-");
    let whole = amount / ONE;
    if is_bytes {
        let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
        let unit = units.into_iter().find(|(_, shift)| whole > 0 && (whole >> shift) << shift == whole);
        return unit.map_or_else(|| whole.to_string(), |(unit, shift)| format!("{}{unit}", whole >> shift));
    }
    match amount % ONE / MILLI {
        0 => whole.to_string(),
        thousandths => format!("{whole}.{thousandths:03}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
