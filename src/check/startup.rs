use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scopes::Scope;
use conformance_expect::startup::{Parent, parents};
use conformance_facts::generations::terminations;
use conformance_facts::health::is_ready;
use conformance_facts::startup::{INIT_CONTAINER, has_started, last_init, token_of};
use conformance_history::{Change, History, Mark, Version, list, text};
use serde_json::{Value, json};

use crate::{Shown, none, violation};

/// The prefix of the arguments of the waiting init container. Each parent clique has one argument.
const PARENT: &str = "--podcliques=";

const WRONG_INIT_CONTAINER: Code = Code::new("wrong-init-container");
const WAITS_FOR_OTHERS: Code = Code::new("waits-for-others");
const ORDER_IN_HASH: Code = Code::new("order-changes-the-hash");
const STARTED_EARLY: Code = Code::new("started-early");
const STARTED_FOR_OTHERS: Code = Code::new("started-for-others");
const TOKEN_ELSEWHERE: Code = Code::new("token-in-another-container");
const WRONG_PERMISSIONS: Code = Code::new("wrong-permissions");

fn created<'a>(history: &'a History, set: &str) -> Result<Vec<(Version<'a>, Vec<Parent>)>, Broken> {
    let all = parents(history.submitted(set)?);
    let mut seen = BTreeSet::new();
    let of_set = history.pods().filter(|version| version.label(names::PART_OF) == Some(set));
    let first = of_set.filter(|version| version.change != Change::Deleted && seen.insert(version.uid()));
    let known = first.filter_map(|version| Some((version, all.get(version.pod().pod_clique()?)?.clone())));
    Ok(known.collect())
}

fn arguments(container: &Value) -> Vec<&str> {
    ["command", "args"].into_iter().flat_map(|field| list(&container[field])).map(text).collect()
}

fn waited_for(container: &Value) -> Vec<Parent> {
    let given = arguments(container).into_iter().filter_map(|argument| argument.strip_prefix(PARENT));
    let mut all: Vec<Parent> = given
        .filter_map(|parent| parent.rsplit_once(':'))
        .filter_map(|(name, ready)| Some((name.to_owned(), ready.parse().ok()?)))
        .collect();
    all.sort();
    all
}

/// Requires the init container that waits for parent cliques (START-01). An invariant checks the rest.
pub fn pods_wait(history: &History, set: &str) -> Ruling {
    none(created(history, set)?.into_iter().filter_map(|(version, wanted)| {
        let containers = list(&version.object["spec"]["initContainers"]);
        let times = containers.iter().filter(|container| container["name"] == INIT_CONTAINER).count();
        let fault = match (last_init(version.object), wanted.len()) {
            (None, 0) if times == 0 => return None,
            (_, 0) => format!("has {INIT_CONTAINER} although it waits for no clique"),
            (None, _) => format!("does not have {INIT_CONTAINER} as its last init container"),
            (Some(_), _) if times > 1 => format!("has {INIT_CONTAINER} {times} times, want once"),
            (Some(last), wanted) if waited_for(last).len() != wanted => {
                format!(
                    "has arguments {:?}, want one for each of the {wanted} cliques that it waits for",
                    arguments(last)
                )
            }
            (Some(_), _) => return None,
        };
        let message = format!("Pod {} {fault}", version.name());
        Some(violation(WRONG_INIT_CONTAINER, message).shown_by("created", version))
    }))
}

pub fn wait_for_right_cliques(history: &History, set: &str) -> Ruling {
    none(created(history, set)?.into_iter().filter_map(|(version, wanted)| {
        let found = last_init(version.object).map(waited_for).unwrap_or_default();
        (found != wanted).then(|| {
            let message = format!("Pod {} waits for {found:?}, want {wanted:?}", version.name());
            violation(WAITS_FOR_OTHERS, message).shown_by("created", version)
        })
    }))
}

pub fn same_hashes(history: &History, set: &str, without_order: &str) -> Ruling {
    let hashes = |set: &str| -> BTreeMap<String, (Value, Version<'_>)> {
        let of_set = history.of("PodClique").filter(|version| version.label(names::PART_OF) == Some(set));
        let hash =
            |version: &Version<'_>| version.object["metadata"]["labels"][names::POD_TEMPLATE_HASH].clone();
        let rest = |version: &Version<'_>| version.name().strip_prefix(set).map(str::to_owned);
        of_set.filter_map(|version| Some((rest(&version)?, (hash(&version), version)))).collect()
    };
    let plain = hashes(without_order);
    none(hashes(set).into_iter().filter_map(|(name, (hash, version))| {
        let (other, _) = plain.get(&name)?;
        (hash != *other).then(|| {
            let message = format!(
                "PodClique {} has hash {hash}, want {other}, the hash without a startup order",
                version.name()
            );
            violation(ORDER_IN_HASH, message).shown_by("its hash", version)
        })
    }))
}

/// Requires that enough pods of the parent cliques, all of the pod's generation, were Ready at one time
/// before a pod started (START-04, START-07).
pub fn parents_first(history: &History, set: &str, created_within: Range<usize>) -> Ruling {
    let waiting = created(history, set)?.into_iter();
    let waiting = waiting.filter(|(pod, parents)| !parents.is_empty() && created_within.contains(&pod.index));
    none(waiting.filter_map(|(pod, parents)| {
        let mut its = history.named("Pod", pod.name()).filter(|version| version.uid() == pod.uid());
        let started = its.find(|version| has_started(version.pod()))?;
        let start = generation_start(history, set, pod);
        (!were_ready(history, start, pod.index..started.index, &parents)).then(|| {
            let message =
                format!("Pod {} started before {parents:?} were all Ready at the same time", pod.name());
            violation(STARTED_EARLY, message).shown_by("started", started)
        })
    }))
}

/// Returns the entry of the first deletion of the last termination before this pod was created.
fn generation_start(history: &History, set: &str, pod: Version<'_>) -> Option<usize> {
    let index = pod.label(names::REPLICA_INDEX)?.parse().ok()?;
    let terminations = terminations(history, &Scope::Replica { set: set.into(), index });
    terminations.iter().map(|termination| termination.started.index).filter(|start| *start < pod.index).max()
}

/// Whether the parents were ready at an event `within` these entries. Pods from before `start` do not count.
fn were_ready(history: &History, start: Option<usize>, within: Range<usize>, parents: &[Parent]) -> bool {
    let (mut created, mut ready) = (BTreeMap::new(), BTreeMap::new());
    for version in history.pods().take_while(|version| version.index < within.end) {
        let created = *created.entry(version.uid()).or_insert(version.index);
        let clique = version.pod().pod_clique().filter(|_| {
            version.change != Change::Deleted
                && is_ready(version.pod())
                && start.is_none_or(|start| created > start)
        });
        match clique {
            Some(clique) => ready.insert(version.uid(), clique),
            None => ready.remove(version.uid()),
        };
        let count = |name: &String| ready.values().filter(|clique| *clique == name).count();
        if version.index >= within.start && parents.iter().all(|(name, wanted)| count(name) >= *wanted) {
            return true;
        }
    }
    false
}

/// Requires that no pod of the clique starts between the entries (START-06). Without `from`, nothing is
/// checked; without `to`, the range is open.
pub fn none_starts(history: &History, clique: &str, from: Option<usize>, to: Option<usize>) -> Ruling {
    let within = from.unwrap_or(usize::MAX)..to.unwrap_or(usize::MAX);
    let mut seen = BTreeSet::new();
    let started = history.pods().filter(|version| {
        let is_started_pod = version.pod().pod_clique() == Some(clique) && has_started(version.pod());
        is_started_pod && within.contains(&version.index) && seen.insert(version.uid())
    });
    none(started.map(|version| {
        let message = format!("Pod {} started because of Ready pods of another workload", version.name());
        violation(STARTED_FOR_OTHERS, message).shown_by("started", version)
    }))
}

pub fn token_in_one_container(history: &History, set: &str) -> Ruling {
    none(created(history, set)?.into_iter().filter_map(|(version, _)| {
        let pod = version.object;
        let token = token_of(pod)?;
        let volumes = list(&pod["spec"]["volumes"]).iter();
        let names: Vec<_> = volumes
            .filter(|volume| volume["secret"]["secretName"] == token)
            .map(|volume| &volume["name"])
            .collect();
        let has = |container: &&Value| {
            list(&container["volumeMounts"]).iter().any(|mount| names.contains(&&mount["name"]))
        };
        let others = ["containers", "initContainers"].into_iter().flat_map(|all| list(&pod["spec"][all]));
        let other = others.filter(|container| container["name"] != INIT_CONTAINER).find(has)?;
        let message = format!(
            "container {} of Pod {} has the token {token}, want it only in the init container",
            other["name"],
            version.name()
        );
        Some(violation(TOKEN_ELSEWHERE, message).shown_by("created", version))
    }))
}

/// Requires that the service account may only read pods of its own namespace, apart from what Kubernetes
/// grants to every account. The mark is `{"account", "rules", "elsewhere", "ofAll"}`.
pub fn minimal_permissions(mark: &Mark) -> Ruling {
    let rules = list(&mark.detail["rules"]);
    let of_all = list(&mark.detail["ofAll"]);
    let own: Vec<_> = rules.iter().filter(|rule| !of_all.iter().any(|wider| covers(wider, rule))).collect();
    let is_to_see_pods = |rule: &&&Value| {
        let within = |field: &str, allowed: &[&str]| {
            list(&rule[field]).iter().all(|value| allowed.iter().any(|allowed| *value == *allowed))
        };
        within("apiGroups", &[""])
            && within("resources", &["pods", "pods/status"])
            && within("verbs", &["get", "list", "watch"])
    };
    let surplus = own.iter().filter(|rule| !is_to_see_pods(rule));
    let surplus = surplus.map(|rule| {
        format!(
            "may {} {} of API groups {}, want only to get, list and watch pods",
            rule["verbs"], rule["resources"], rule["apiGroups"]
        )
    });
    let may = |verb: &str| {
        own.iter().any(|rule| {
            list(&rule["verbs"]).contains(&json!(verb)) && list(&rule["resources"]).contains(&json!("pods"))
        })
    };
    let has = |rule: &Value, field: &str, wanted: &str| {
        list(&rule[field]).iter().any(|value| *value == wanted || *value == "*")
    };
    let elsewhere = list(&mark.detail["elsewhere"]).iter();
    let elsewhere = elsewhere.filter(|rule| has(rule, "apiGroups", "") && has(rule, "resources", "pods"));
    let elsewhere = elsewhere.map(|rule| format!("may {} pods of other namespaces", rule["verbs"]));
    let missing = ["get", "list", "watch"]
        .into_iter()
        .filter(|verb| !may(verb))
        .map(|verb| format!("may not {verb} pods"));
    none(surplus.chain(elsewhere).chain(missing).map(|fault| {
        violation(WRONG_PERMISSIONS, format!("ServiceAccount {} {fault}", text(&mark.detail["account"])))
    }))
}

fn covers(wider: &Value, rule: &Value) -> bool {
    let has_all = |field: &str| {
        let wider = list(&wider[field]);
        list(&rule[field]).iter().all(|value| wider.contains(value) || wider.iter().any(|all| *all == "*"))
    };
    let names = list(&wider["resourceNames"]);
    let named = list(&rule["resourceNames"]);
    let has_names = names.is_empty() || (!named.is_empty() && named.iter().all(|name| names.contains(name)));
    ["verbs", "apiGroups", "resources"].into_iter().all(has_all) && has_names
}

#[cfg(test)]
#[path = "startup_tests.rs"]
mod tests;
