//! Checks of topology domains, which are values of a level's node label. Every binding in the history counts.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_contract::violation::Violation;
use conformance_expect::Gang;
use conformance_history::{History, Pod, Version};

use super::binding::bindings;
use super::{Shown, none, violation};

const SEVERAL_DOMAINS: Code = Code::new("several-domains");
const WRONG_DOMAIN: Code = Code::new("wrong-domain");
const UNLABELLED_NODE: Code = Code::new("unlabelled-node");
pub const EMPTY_LABEL: Code = Code::new("empty-label");

struct Placement<'a> {
    pod: Version<'a>,
    domain: Option<&'a str>,
}

/// A node's domain from its last labels before the entry `until`, because a node may move to another domain.
pub(super) fn domain<'a>(history: &'a History, until: usize, node: &str, key: &str) -> Option<&'a str> {
    let mut all = history.of("Node").filter(|version| version.name() == node);
    let first = all.next()?;
    all.take_while(|version| version.index < until).last().unwrap_or(first).label(key)
}

/// Returns the placements of the chosen pods, or `NotReached` if there are none.
fn placements<'a>(
    history: &'a History,
    key: &str,
    whose: &str,
    chosen: impl Fn(Pod<'a>) -> bool,
) -> Result<Vec<Placement<'a>>, Broken> {
    let found: Vec<_> = bindings(history)
        .filter(|version| chosen(version.pod()))
        .map(|pod| {
            let node = pod.pod().node().unwrap_or_default();
            Placement { pod, domain: domain(history, pod.index, node, key) }
        })
        .collect();
    if found.is_empty() {
        Err(Broken::NotReached(format!("no pod of {whose} was ever bound")))
    } else {
        Ok(found)
    }
}

/// Requires that all chosen pods were bound in one domain. `NotReached` if none was ever bound.
pub fn in_one_domain<'a>(
    history: &'a History,
    key: &str,
    whose: &str,
    chosen: impl Fn(Pod<'a>) -> bool,
) -> Ruling {
    let placements = placements(history, key, whose, chosen)?;
    let domains: BTreeSet<_> = placements.iter().map(|placement| placement.domain).collect();
    if domains.len() == 1 && !domains.contains(&None) {
        return Ok(());
    }
    let names: Vec<_> = domains.into_iter().map(|domain| domain.unwrap_or("none")).collect();
    let message = format!(
        "the pods of {whose} were bound in {} domains of {key} ({}), want 1",
        names.len(),
        names.join(", ")
    );
    Err(placements.iter().fold(violation(SEVERAL_DOMAINS, message), shown).into())
}

fn shown(violation: Violation, placement: &Placement<'_>) -> Violation {
    let node = placement.pod.pod().node().unwrap_or_default();
    violation.shown_by(
        format!("bound to Node {node}, domain {}", placement.domain.unwrap_or("none")),
        placement.pod,
    )
}

pub fn gang_in_one_domain(history: &History, gang: &str, key: &str) -> Ruling {
    in_one_domain(history, key, gang, |pod| pod.pod_gang() == Some(gang))
}

pub fn clique_in_one_domain(history: &History, clique: &str, key: &str) -> Ruling {
    in_one_domain(history, key, clique, |pod| pod.pod_clique() == Some(clique))
}

/// Requires that each scaling-group replica is in one domain, its own or a shared one (TOPO-05).
pub fn replicas_in_one_domain(history: &History, gangs: &[Gang], key: &str) -> Ruling {
    let mut replicas: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for group in gangs.iter().flat_map(|gang| &gang.groups) {
        if let Some((name, index)) = &group.scaling_group {
            replicas
                .entry(format!("replica {index} of scaling group {name}"))
                .or_default()
                .push(&group.clique);
        }
    }
    if replicas.is_empty() {
        return Err(Broken::NotReached("no PodCliqueSet of the case has a scaling group".into()));
    }
    replicas.iter().try_for_each(|(whose, cliques)| {
        in_one_domain(history, key, whose, |pod| {
            pod.pod_clique().is_some_and(|clique| cliques.contains(&clique))
        })
    })
}

/// Requires that each PodCliqueSet replica, with its base and scaled PodGangs, is in one domain (TOPO-12).
pub fn set_replicas_in_one_domain(history: &History, gangs: &[Gang], key: &str) -> Ruling {
    let mut replicas: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for gang in gangs {
        replicas.entry(gang.replica_name()).or_default().push(&gang.name);
    }
    replicas.iter().try_for_each(|(whose, gangs)| {
        in_one_domain(history, key, whose, |pod| pod.pod_gang().is_some_and(|gang| gangs.contains(&gang)))
    })
}

/// Requires one domain at the entry `until` only, because a PodGang may be recreated elsewhere.
pub fn together(
    history: &History,
    until: usize,
    key: &str,
    whose: &str,
    chosen: impl Fn(Pod<'_>) -> bool,
) -> Ruling {
    let live = history.before(until);
    let bound: Vec<_> = live.pods().filter(|pod| pod.node().is_some() && chosen(*pod)).collect();
    let domain_of =
        |pod: &Pod<'_>| domain(history, until, pod.node().unwrap_or_default(), key).unwrap_or("none");
    let domains: BTreeSet<_> = bound.iter().map(domain_of).collect();
    match domains.len() {
        0 => Err(Broken::NotReached(format!("no pod of {whose} is bound"))),
        1 if !domains.contains("none") => Ok(()),
        count => {
            let names: Vec<_> = domains.into_iter().collect();
            let message =
                format!("the pods of {whose} are in {count} domains of {key} ({}), want 1", names.join(", "));
            let found = violation(SEVERAL_DOMAINS, message);
            let shown = |found: Violation, pod: &Pod<'_>| {
                found.shown_by_object(format!("on Node {}", pod.node().unwrap_or_default()), pod.0)
            };
            Err(bound.iter().fold(found, shown).into())
        }
    }
}

/// Returns the domain's full name, with which `TestContext::domain` of `conformance_driver` labels nodes.
pub fn domain_named(history: &History, short: &str) -> String {
    format!("{}-{short}", history.header.namespace)
}

pub fn gang_in(history: &History, gang: &str, key: &str, wanted: &str) -> Ruling {
    let placements = placements(history, key, gang, |pod| pod.pod_gang() == Some(gang))?;
    let elsewhere = placements.iter().filter(|placement| placement.domain != Some(wanted));
    none(elsewhere.map(|placement| {
        let found = violation(
            WRONG_DOMAIN,
            format!("Pod {} is not in domain {wanted}, the only one with room", placement.pod.name()),
        );
        shown(found, placement)
    }))
}

/// Requires that no pod was bound to a node without the level's label (TOPO-11), if there is such a node.
pub fn never_unlabelled(history: &History, gang: &str, key: &str) -> Ruling {
    never_where(history, gang, &UNLABELLED_NODE, &format!("without the label {key}"), |node| {
        node.label(key).is_none()
    })
}

pub fn never_with_an_empty_label(history: &History, gang: &str, key: &str) -> Ruling {
    never_where(history, gang, &EMPTY_LABEL, &format!("whose label {key} is empty"), |node| {
        node.label(key) == Some("")
    })
}

fn never_where(
    history: &History,
    gang: &str,
    code: &Code,
    which: &str,
    is_matching: impl Fn(&Version<'_>) -> bool,
) -> Ruling {
    let matching: BTreeSet<_> =
        history.of("Node").filter(is_matching).map(|version| version.name()).collect();
    if matching.is_empty() {
        return Err(Broken::NotReached(format!("no node {which} exists")));
    }
    let of_gang = bindings(history).filter(|version| version.pod().pod_gang() == Some(gang));
    none(of_gang.filter(|version| version.pod().node().is_some_and(|node| matching.contains(node))).map(
        |version| {
            let message = format!("Pod {} of PodGang {gang} was bound to a node {which}", version.name());
            violation(code.clone(), message).shown_by("bound", version)
        },
    ))
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_expect::Group;
    use conformance_history::testing::Story;
    use serde_json::{Value, json};

    use super::*;
    use crate::message;

    const KEY: &str = names::RACK;

    fn node(name: &str, rack: Option<&str>) -> Value {
        json!({"kind": "Node", "metadata": {"name": name, "labels": {KEY: rack}}})
    }

    fn pod(name: &str, clique: &str, node: Option<&str>) -> Value {
        let labels = json!({names::POD_GANG: "g-0", names::POD_CLIQUE: clique});
        json!({"kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": {"nodeName": node}})
    }

    /// Nodes 1 and 2 are in rack a, node 3 in rack b, node 4 in none. Pods are bound as listed.
    fn history(bound: &[(&str, &str)]) -> History {
        let nodes =
            [node("1", Some("ns-a")), node("2", Some("ns-a")), node("3", Some("ns-b")), node("4", None)];
        let pods =
            bound.iter().enumerate().map(|(i, (clique, node))| pod(&format!("p{i}"), clique, Some(node)));
        let pending = pod("pending", "a", None);
        Story::flat().all_added(nodes).added(pending).all_added(pods).end()
    }

    #[test]
    fn pods_in_two_domains_or_in_none_are_a_violation() {
        let packed = history(&[("a", "1"), ("a", "2"), ("b", "3")]);
        assert_eq!(clique_in_one_domain(&packed, "a", KEY), Ok(()));
        insta::assert_snapshot!(
            message(gang_in_one_domain(&packed, "g-0", KEY)),
            @"the pods of g-0 were bound in 2 domains of topology.kubernetes.io/rack (ns-a, ns-b), want 1"
        );
        let nowhere = history(&[("a", "4")]);
        insta::assert_snapshot!(
            message(clique_in_one_domain(&nowhere, "a", KEY)),
            @"the pods of a were bound in 1 domains of topology.kubernetes.io/rack (none), want 1"
        );
        assert!(matches!(gang_in_one_domain(&history(&[]), "g-0", KEY), Err(Broken::NotReached(_))));
    }

    #[test]
    fn a_node_that_moved_is_in_its_last_domain() {
        let nodes = [node("1", Some("ns-a")), node("3", Some("ns-b"))];
        let bound = ["1", "3"].map(|name| pod(name, "a", Some(name)));
        let apart = Story::flat().all_added(nodes).all_added(bound);
        let before = apart.clone().end().entries.len();
        let moved = apart.modified(node("3", Some("ns-a"))).end();
        let ruling = |until| together(&moved, until, KEY, "g-0", |_| true);
        assert!(ruling(before).is_err());
        assert_eq!(ruling(moved.entries.len()), Ok(()));
    }

    #[test]
    fn an_earlier_placement_in_another_domain_counts() {
        let moved = Story::flat()
            .all_added([node("1", Some("ns-a")), node("3", Some("ns-b"))])
            .added(pod("p0", "a", Some("3")))
            .deleted(pod("p0", "a", Some("3")))
            .added(pod("p1", "a", Some("1")))
            .end();
        assert!(gang_in_one_domain(&moved, "g-0", KEY).is_err());
    }

    #[test]
    fn a_pod_outside_the_wanted_domain_is_a_violation() {
        let packed = history(&[("a", "1"), ("a", "2")]);
        assert_eq!(gang_in(&packed, "g-0", KEY, &domain_named(&packed, "a")), Ok(()));
        insta::assert_snapshot!(
            message(gang_in(&packed, "g-0", KEY, &domain_named(&packed, "b"))),
            @"Pod p0 is not in domain ns-b, the only one with room"
        );
    }

    #[test]
    fn each_replica_of_a_group_may_be_in_another_domain() {
        let group = |clique: &str, index| Group {
            clique: clique.into(),
            template: clique.into(),
            min: 1,
            replicas: 1,
            scaling_group: Some(("g-0-sg".into(), index)),
        };
        let gang = |groups| Gang { set: "g".into(), groups, ..Gang::named_only("g-0") };
        let apart = history(&[("a", "1"), ("a", "2"), ("b", "3")]);
        assert_eq!(replicas_in_one_domain(&apart, &[gang(vec![group("a", 0), group("b", 1)])], KEY), Ok(()));
        insta::assert_snapshot!(
            message(replicas_in_one_domain(&apart, &[gang(vec![group("a", 0), group("b", 0)])], KEY)),
            @"the pods of replica 0 of scaling group g-0-sg were bound in 2 domains of topology.kubernetes.io/rack (ns-a, ns-b), want 1"
        );
        assert!(matches!(
            replicas_in_one_domain(&apart, &[gang(Vec::new())], KEY),
            Err(Broken::NotReached(_))
        ));
    }

    #[test]
    fn gangs_of_a_pod_clique_set_replica_in_two_domains_are_a_violation() {
        let gang = |replica, is_base, name: &str| Gang {
            set: "g".into(),
            replica,
            is_base,
            ..Gang::named_only(name)
        };
        let gangs = [gang(0, true, "g-0"), gang(0, false, "g-0-sg-0"), gang(1, true, "g-1")];
        let of_gang = |gang: &str, node: &str| {
            let mut pod = pod(&format!("{gang}-x"), "a", Some(node));
            pod["metadata"]["labels"][names::POD_GANG] = gang.into();
            pod
        };
        let story = |scaled: &str| {
            let nodes = [node("1", Some("ns-a")), node("2", Some("ns-a")), node("3", Some("ns-b"))];
            let pods = [of_gang("g-0", "1"), of_gang("g-0-sg-0", scaled), of_gang("g-1", "3")];
            Story::flat().all_added(nodes).all_added(pods).end()
        };
        assert_eq!(set_replicas_in_one_domain(&story("2"), &gangs, KEY), Ok(()));
        insta::assert_snapshot!(
            message(set_replicas_in_one_domain(&story("3"), &gangs, KEY)),
            @"the pods of g-0 were bound in 2 domains of topology.kubernetes.io/rack (ns-a, ns-b), want 1"
        );
        let none = set_replicas_in_one_domain(&Story::flat().end(), &gangs, KEY);
        assert!(matches!(none, Err(Broken::NotReached(_))));
    }

    #[test]
    fn a_pod_on_an_unlabelled_node_is_a_violation() {
        assert_eq!(never_unlabelled(&history(&[("a", "1")]), "g-0", KEY), Ok(()));
        insta::assert_snapshot!(
            message(never_unlabelled(&history(&[("a", "1"), ("a", "4")]), "g-0", KEY)),
            @"Pod p1 of PodGang g-0 was bound to a node without the label topology.kubernetes.io/rack"
        );
        let labelled = Story::flat().added(node("1", Some("ns-a"))).end();
        assert!(matches!(never_unlabelled(&labelled, "g-0", KEY), Err(Broken::NotReached(_))));
    }

    #[test]
    fn a_pod_on_a_node_with_an_empty_label_is_a_violation() {
        let story = |node_of_p0: &str| {
            let nodes = [node("1", Some("ns-a")), node("2", Some(""))];
            Story::flat().all_added(nodes).added(pod("p0", "a", Some(node_of_p0))).end()
        };
        assert_eq!(never_with_an_empty_label(&story("1"), "g-0", KEY), Ok(()));
        assert!(matches!(never_with_an_empty_label(&story("2"), "g-0", KEY), Err(Broken::Violated(_))));
        assert_eq!(
            never_unlabelled(&story("2"), "g-0", KEY).map_err(|_| ()),
            Err(()),
            "every node has the label"
        );
    }
}
