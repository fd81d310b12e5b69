//! Startup order: pods wait for pods of other cliques (START).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scopes::Scope;
use conformance_expect::startup::{Parent, parents};
use conformance_facts::generations::recycles;
use conformance_facts::health::is_ready;
use conformance_facts::startup::{INIT_CONTAINER, has_started, last_init, token_of};
use conformance_history::{Change, History, Mark, Version, list, text};
use serde_json::{Value, json};

use crate::{Shown, none, violation};

/// The prefix of the arguments of the waiting init container, one for each parent clique.
const PARENT: &str = "--podcliques=";

const WAITS_OTHERWISE: Code = Code::new("init-container-otherwise");
const WAITS_FOR_OTHERS: Code = Code::new("waits-for-others");
const ORDER_IN_HASH: Code = Code::new("order-changes-the-hash");
const STARTED_EARLY: Code = Code::new("started-early");
const STARTED_FOR_OTHERS: Code = Code::new("started-for-others");
const TOKEN_ELSEWHERE: Code = Code::new("token-in-another-container");
const OTHER_RIGHTS: Code = Code::new("other-rights-than-needed");

/// The pods of a PodCliqueSet as created, each with its parents.
fn created<'a>(history: &'a History, set: &str) -> Result<Vec<(Version<'a>, Vec<Parent>)>, Broken> {
    let all = parents(history.submitted(set)?);
    let mut seen = BTreeSet::new();
    let of_set = history.pods().filter(|version| version.label(names::PART_OF) == Some(set));
    let first = of_set.filter(|version| version.change != Change::Deleted && seen.insert(version.uid()));
    let known = first.filter_map(|version| Some((version, all.get(version.pod().pod_clique()?)?.clone())));
    Ok(known.collect())
}

fn arguments(container: &Value) -> Vec<&str> {
    ["command", "args"].into_iter().flat_map(|of| list(&container[of])).map(text).collect()
}

/// The parents in the arguments of a container.
fn waited_for(container: &Value) -> Vec<Parent> {
    let said = arguments(container).into_iter().filter_map(|argument| argument.strip_prefix(PARENT));
    let mut all: Vec<Parent> = said
        .filter_map(|said| said.rsplit_once(':'))
        .filter_map(|(name, ready)| Some((name.to_owned(), ready.parse().ok()?)))
        .collect();
    all.sort();
    all
}

/// In cliques with parents, the waiting init container is the last one and has one argument per parent. Pods
/// of other cliques do not have it (START-01). An invariant checks that the rest of the template is
/// unchanged.
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
        Some(violation(WAITS_OTHERWISE, message).shown_by("created", version))
    }))
}

/// Pods wait for the right parents, each with its minimum (START-02).
pub fn for_the_right_ones(history: &History, set: &str) -> Ruling {
    none(created(history, set)?.into_iter().filter_map(|(version, wanted)| {
        let found = last_init(version.object).map(waited_for).unwrap_or_default();
        (found != wanted).then(|| {
            let message = format!("Pod {} waits for {found:?}, want {wanted:?}", version.name());
            violation(WAITS_FOR_OTHERS, message).shown_by("created", version)
        })
    }))
}

/// Two PodCliqueSets that differ only in their startup order have PodCliques with the same template hashes
/// (START-10).
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

/// No container of a waiting pod starts too early (START-04, START-07). After the pod was created, all its
/// parents must have had enough Ready pods of its own generation at the same time. Only pods created within
/// `made` are checked.
pub fn parents_first(history: &History, set: &str, made: Range<usize>) -> Ruling {
    let waiting = created(history, set)?.into_iter();
    let waiting = waiting.filter(|(pod, parents)| !parents.is_empty() && made.contains(&pod.index));
    none(waiting.filter_map(|(pod, parents)| {
        let mut its = history.named("Pod", pod.name()).filter(|version| version.uid() == pod.uid());
        let started = its.find(|version| has_started(version.pod()))?;
        let begun = generation_begun(history, set, pod);
        (!were_ready(history, begun, pod.index..started.index, &parents)).then(|| {
            let message =
                format!("Pod {} started before {parents:?} were all Ready at the same time", pod.name());
            violation(STARTED_EARLY, message).shown_by("started", started)
        })
    }))
}

/// The entry at which the termination began that led to this pod, if any.
fn generation_begun(history: &History, set: &str, pod: Version<'_>) -> Option<usize> {
    let index = pod.label(names::REPLICA_INDEX)?.parse().ok()?;
    let recycles = recycles(history, &Scope::Replica { set: set.into(), index });
    recycles.iter().map(|recycle| recycle.begun.index).filter(|begun| *begun < pod.index).max()
}

/// Whether all parents had enough Ready pods, created after `begun`, at the same time at some event `within`
/// these entries.
fn were_ready(history: &History, begun: Option<usize>, within: Range<usize>, parents: &[Parent]) -> bool {
    let (mut made, mut ready) = (BTreeMap::new(), BTreeMap::new());
    for version in history.pods().take_while(|version| version.index < within.end) {
        let made = *made.entry(version.uid()).or_insert(version.index);
        let clique = version.pod().pod_clique().filter(|_| {
            version.change != Change::Deleted
                && is_ready(version.pod())
                && begun.is_none_or(|begun| made > begun)
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

/// No container of the clique's pods starts between the entries `from` and `to` (START-06). Nothing is
/// checked without `from`; without `to`, the range is open.
pub fn none_starts(history: &History, clique: &str, from: Option<usize>, to: Option<usize>) -> Ruling {
    let within = from.unwrap_or(usize::MAX)..to.unwrap_or(usize::MAX);
    let mut seen = BTreeSet::new();
    let started = history.pods().filter(|version| {
        let is_its = version.pod().pod_clique() == Some(clique) && has_started(version.pod());
        is_its && within.contains(&version.index) && seen.insert(version.uid())
    });
    none(started.map(|version| {
        let message = format!("Pod {} started because of Ready pods of another workload", version.name());
        violation(STARTED_FOR_OTHERS, message).shown_by("started", version)
    }))
}

/// No other container has the token (START-03).
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

/// An account may only see pods in its own namespace, in addition to what Kubernetes grants to every account.
/// The mark `{"account", "rules", "elsewhere", "ofAll"}` has the rules that the API server reports for its
/// own and another namespace.
pub fn least_rights(mark: &Mark) -> Ruling {
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
    let surplus =
        surplus.map(|rule| format!("{} on {} of {}", rule["verbs"], rule["resources"], rule["apiGroups"]));
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
    let elsewhere = elsewhere.map(|rule| format!("{} on pods of other namespaces", rule["verbs"]));
    let missing = ["get", "list", "watch"]
        .into_iter()
        .filter(|verb| !may(verb))
        .map(|verb| format!("no {verb} on pods"));
    none(surplus.chain(elsewhere).chain(missing).map(|fault| {
        violation(OTHER_RIGHTS, format!("ServiceAccount {} has {fault}", text(&mark.detail["account"])))
    }))
}

/// Whether one rule grants everything that another does.
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
mod tests {
    use conformance_history::testing::{Story, object};
    use rstest::rstest;

    use super::*;
    use crate::message;

    /// Clique `b` starts after `a`, of which 2 are needed.
    fn pcs(name: &str, order: &str) -> Value {
        let clique = |name: &str| json!({"name": name, "spec": {"replicas": 3, "minAvailable": 2}});
        json!({"kind": "PodCliqueSet", "metadata": {"name": name}, "spec": {"replicas": 1, "template": {
            "cliqueStartupType": order, "cliques": [clique("a"), clique("b")],
        }}})
    }

    fn pod(clique: &str, inits: Value) -> Value {
        let mut pod = object("Pod", clique);
        pod["metadata"]["labels"] = json!({names::PART_OF: "w", names::POD_CLIQUE: clique});
        pod["spec"] = json!({"containers": [{"name": "main"}], "initContainers": inits});
        pod
    }

    fn waiting(args: &[&str]) -> Value {
        json!({"name": INIT_CONTAINER, "args": args, "volumeMounts": [{"name": "t"}]})
    }

    fn story(pods: Vec<Value>) -> History {
        Story::flat().submitted(pcs("w", "CliqueStartupTypeInOrder")).all_added(pods).end()
    }

    #[rstest]
    #[case::right(json!([{"name": "own"}, waiting(&["--podcliques=w-0-a:2"])]), true, true)]
    #[case::not_last(json!([waiting(&["--podcliques=w-0-a:2"]), {"name": "own"}]), false, false)]
    #[case::none(json!([]), false, false)]
    #[case::twice(json!([waiting(&[]), waiting(&["--podcliques=w-0-a:2"])]), false, true)]
    #[case::another_count(json!([waiting(&["--podcliques=w-0-a:3"])]), true, false)]
    #[case::another_clique(json!([waiting(&["--podcliques=w-0-b:2"])]), true, false)]
    #[case::one_too_many(json!([waiting(&["--podcliques=w-0-a:2", "--podcliques=w-0-b:2"])]), false, false)]
    fn a_pod_that_waits(#[case] inits: Value, #[case] shape: bool, #[case] parents: bool) {
        let history = story(vec![pod("w-0-a", Value::Null), pod("w-0-b", inits)]);
        assert_eq!(pods_wait(&history, "w").is_ok(), shape, "{:?}", pods_wait(&history, "w"));
        let ruling = for_the_right_ones(&history, "w");
        assert_eq!(ruling.is_ok(), parents, "{ruling:?}");
    }

    #[test]
    fn one_that_waits_for_nobody_has_no_such_container() {
        let history = story(vec![pod("w-0-a", json!([waiting(&["--podcliques=w-0-b:2"])]))]);
        assert!(message(pods_wait(&history, "w")).contains("although it waits for no clique"));
    }

    #[test]
    fn hashes() {
        let pclq = |name: &str, set: &str, hash: &str| {
            let mut pclq = object("PodClique", name);
            pclq["metadata"]["labels"] = json!({names::PART_OF: set, names::POD_TEMPLATE_HASH: hash});
            pclq
        };
        let judged = |hash: &str| {
            let story = Story::flat().added(pclq("w-0-a", "w", "h")).added(pclq("v-0-a", "v", hash)).end();
            same_hashes(&story, "w", "v")
        };
        assert_eq!(judged("h"), Ok(()));
        assert!(message(judged("g")).contains("without a startup order"));
    }

    /// A pod of a clique of `w-0` on a node; Ready, or with started containers.
    fn bound(name: &str, clique: &str, ready: bool, started: bool) -> Value {
        let mut pod = object("Pod", name);
        let labels = json!({names::PART_OF: "w", names::REPLICA_INDEX: "0", names::POD_CLIQUE: clique});
        pod["metadata"]["labels"] = labels;
        pod["spec"]["nodeName"] = json!("n");
        let state = if started { json!({"running": {}}) } else { json!({"waiting": {}}) };
        let ready = if ready { "True" } else { "False" };
        pod["status"] = json!({"conditions": [{"type": "Ready", "status": ready}],
                               "containerStatuses": [{"name": "main", "state": state}]});
        pod
    }

    /// Two parents and a waiting pod, all created and bound.
    fn made() -> Story {
        let story = Story::flat().submitted(pcs("w", "CliqueStartupTypeInOrder"));
        let parents = ["p", "q"].map(|name| bound(name, "w-0-a", false, true));
        story.all_added(parents).added(bound("c", "w-0-b", false, false))
    }

    #[test]
    fn parents_are_ready_at_once() {
        let ready = |name: &str| bound(name, "w-0-a", true, true);
        let judged = |story: Story| {
            parents_first(&story.modified(bound("c", "w-0-b", false, true)).end(), "w", 0..usize::MAX)
        };
        assert_eq!(judged(made().modified(ready("p")).modified(ready("q"))), Ok(()));
        let one = made().modified(ready("p"));
        assert!(message(judged(one)).starts_with("Pod c started before"));
        let in_turn =
            made().modified(ready("p")).modified(bound("p", "w-0-a", false, true)).modified(ready("q"));
        assert!(judged(in_turn).is_err(), "never at once");
        let namesake = made().modified(ready("p")).added(bound("r", "w-0-a-b", true, true));
        assert!(judged(namesake).is_err());
    }

    #[test]
    fn a_new_generation_waits_for_its_own() {
        let of_old = || {
            let ready = |name: &str| bound(name, "w-0-a", true, true);
            made().modified(ready("p")).modified(ready("q")).modified(bound("c", "w-0-b", false, true))
        };
        let going = |name: &str, clique: &str| {
            let mut pod = bound(name, clique, true, true);
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            pod
        };
        let recycled = || {
            let cliques = [("c", "w-0-b"), ("p", "w-0-a"), ("q", "w-0-a")];
            let gone = cliques
                .into_iter()
                .fold(of_old(), |story, (name, clique)| story.modified(going(name, clique)));
            let parents = ["r", "s"].map(|name| bound(name, "w-0-a", false, true));
            gone.added(bound("d", "w-0-b", false, false)).all_added(parents)
        };
        let judged = |story: Story| {
            parents_first(&story.modified(bound("d", "w-0-b", false, true)).end(), "w", 0..usize::MAX)
        };
        assert!(message(judged(recycled())).starts_with("Pod d started before"), "for those of old");
        let ready = ["r", "s"].map(|name| bound(name, "w-0-a", true, true));
        let anew = ready.into_iter().fold(recycled(), Story::modified);
        assert_eq!(judged(anew), Ok(()));
    }

    #[test]
    fn what_starts_for_others() {
        let started = || made().modified(bound("c", "w-0-b", false, true)).end();
        assert!(none_starts(&started(), "w-0-b", Some(0), None).is_err());
        assert_eq!(none_starts(&started(), "w-0-b", None, None), Ok(()));
        assert_eq!(none_starts(&started(), "w-0-a", Some(usize::MAX - 1), None), Ok(()));
    }

    #[test]
    fn the_token_is_in_one_container() {
        let with = |mounts: Value| {
            let mut pod = pod("w-0-b", json!([waiting(&["--podcliques=w-0-a:2"])]));
            pod["spec"]["volumes"] = json!([{"name": "t", "secret": {"secretName": "w-token"}}]);
            pod["spec"]["containers"][0]["volumeMounts"] = mounts;
            token_in_one_container(&story(vec![pod]), "w")
        };
        assert_eq!(with(json!([])), Ok(()));
        assert!(message(with(json!([{"name": "t"}]))).contains("has the token w-token"));
    }

    #[rstest]
    #[case::least(json!([{"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "list", "watch"]}]), None)]
    #[case::to_delete(json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "delete"]}]), Some("delete"))]
    #[case::secrets(json!([{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["list", "watch"]}]), Some("secrets"))]
    #[case::all(json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]), Some("*"))]
    #[case::nothing(json!([]), Some("no get on pods"))]
    #[case::more_than_all_may(
        json!([
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["certificates.k8s.io"], "resources": ["clustertrustbundles"], "verbs": ["get", "delete"]},
        ]),
        Some("clustertrustbundles")
    )]
    fn rights(#[case] rules: Value, #[case] fault: Option<&str>) {
        let everybodys = json!({"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectrulesreviews"], "verbs": ["create"]});
        let bundles = json!({"apiGroups": ["certificates.k8s.io"], "resources": ["clustertrustbundles"], "verbs": ["get", "list", "watch"]});
        let of_all = [everybodys, bundles];
        let rules: Vec<_> = list(&rules).iter().chain(&of_all).cloned().collect();
        let detail = json!({"account": "w", "rules": rules, "ofAll": of_all});
        let mark = Mark { name: "rights".into(), detail };
        match fault {
            None => assert_eq!(least_rights(&mark), Ok(())),
            Some(fault) => assert!(message(least_rights(&mark)).contains(fault)),
        }
    }

    #[test]
    fn pods_of_other_namespaces_are_none_of_its_business() {
        let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]);
        let leases =
            json!([{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}]);
        let judged = |elsewhere: &Value| {
            let detail = json!({"account": "w", "rules": pods, "elsewhere": elsewhere});
            least_rights(&Mark { name: "rights".into(), detail })
        };
        assert_eq!(judged(&leases), Ok(()));
        assert!(message(judged(&pods)).contains("on pods of other namespaces"));
    }
}
