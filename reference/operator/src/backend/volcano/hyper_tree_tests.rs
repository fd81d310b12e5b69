use super::*;

fn levels(domains: &[&str]) -> Vec<TopologyLevel> {
    let level =
        |domain: &&str| TopologyLevel { domain: (*domain).to_owned(), key: format!("example.com/{domain}") };
    domains.iter().map(level).collect()
}

/// Nodes written as `name domain=value ...`.
fn nodes(nodes: &[&str]) -> Vec<Node> {
    let node = |text: &&str| {
        let mut words = text.split(' ');
        let mut node = Node::default();
        node.metadata.name = words.next().map(str::to_owned);
        let labels = words.filter_map(|word| word.split_once('='));
        let labels = labels.map(|(domain, value)| (format!("example.com/{domain}"), value.to_owned()));
        node.metadata.labels = Some(labels.collect());
        node
    };
    nodes.iter().map(node).collect()
}

/// `tier domain name: members`, without the hashes at the end of names.
fn text(tree: &[HyperNode]) -> String {
    let plain = |name: &str| name.rsplit_once('-').unwrap().0.to_owned();
    let line = |hyper_node: &HyperNode| {
        let members = hyper_node.members.iter().map(|member| match member {
            Member::HyperNode(name) => format!("[{}]", plain(name)),
            Member::Node(name) => name.clone(),
        });
        let members = members.collect::<Vec<_>>().join(" ");
        format!("{} {} {}: {members}", hyper_node.tier, hyper_node.domain, plain(&hyper_node.name))
    };
    tree.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn racks_are_members_of_blocks() {
    let nodes =
        nodes(&["n3 block=b1 rack=r0", "n0 block=b0 rack=r0", "n1 block=b0 rack=r0", "n2 block=b0 rack=r1"]);
    insta::assert_snapshot!(text(&tree("t", &levels(&["block", "rack"]), &nodes)), @"
    1 rack t-b0-r0: n0 n1
    1 rack t-b0-r1: n2
    1 rack t-b1-r0: n3
    2 block t-b0: [t-b0-r0] [t-b0-r1]
    2 block t-b1: [t-b1-r0]
    ");
}

#[test]
fn a_node_without_a_label_is_in_the_wider_domains() {
    let nodes = nodes(&[
        "all zone=z block=b rack=r",
        "no-rack zone=z block=b",
        "no-block zone=z rack=r",
        "only-rack rack=r",
        "only-zone zone=z",
        "none",
        "empty zone= block= rack=",
    ]);
    insta::assert_snapshot!(text(&tree("t", &levels(&["zone", "block", "rack"]), &nodes)), @"
    1 rack t-r: only-rack
    1 rack t-z-b-r: all
    1 rack t-z-r: no-block
    2 block t-z-b: [t-z-b-r] no-rack
    3 zone t-z: [t-z-b] [t-z-r] only-zone
    ");
}

#[test]
fn every_node_is_a_domain_of_the_host_level() {
    let levels = levels(&["rack", "host"]);
    let nodes = nodes(&["n0 rack=r host=n0", "n1 rack=r host=n1"]);
    insta::assert_snapshot!(text(&tree("t", &levels, &nodes)), @"
    1 host t-r-n0: n0
    1 host t-r-n1: n1
    2 rack t-r: [t-r-n0] [t-r-n1]
    ");
}

#[test]
fn without_nodes_there_is_no_tree() {
    assert_eq!(tree("t", &levels(&["rack"]), &nodes(&[])), []);
    assert_eq!(tree("t", &levels(&["rack"]), &nodes(&["n"])), []);
}

#[test]
fn every_domain_has_a_unique_name() {
    let levels = levels(&["block", "rack"]);
    let nodes = nodes(&[
        "n0 block=a-b rack=c",
        "n1 block=a rack=b-c",
        "n2 block=A rack=B-C",
        "n3 block=a_b rack=c",
        "n4 rack=c",
        "n5 block=c",
    ]);
    let tree = tree("t", &levels, &nodes);
    let names: BTreeSet<_> = tree.iter().map(|hyper_node| &hyper_node.name).collect();
    assert_eq!((tree.len(), names.len()), (10, 10));
    assert!(names.iter().all(|name| names::is_dns_label(name)), "{names:?}");
}

#[test]
fn a_long_name_is_shortened() {
    let value = "v".repeat(63);
    let nodes = nodes(&[&format!("n0 zone={value} block={value} rack={value} host={value}")]);
    let tree = tree("t", &levels(&["zone", "block", "rack", "host"]), &nodes);
    assert_eq!(tree.iter().map(|hyper_node| hyper_node.name.len()).collect::<Vec<_>>(), [253, 202, 138, 74]);
}

#[test]
fn a_taken_name_is_left_out_and_so_are_empty_parents() {
    let levels = levels(&["block", "rack"]);
    let nodes = nodes(&["n0 block=b0 rack=r0", "n1 block=b0 rack=r1", "n2 block=b1 rack=r0"]);
    let whole = tree("t", &levels, &nodes);
    let is_taken = |name: &str| name.starts_with("t-b0-r0-") || name.starts_with("t-b1-r0-");
    insta::assert_snapshot!(text(&without_taken(whole.clone(), is_taken)), @"
    1 rack t-b0-r1: n1
    2 block t-b0: [t-b0-r1]
    ");
    assert_eq!(without_taken(whole.clone(), |_| false), whole);
}

#[test]
fn the_object_of_a_domain() {
    let mut binding = ClusterTopologyBinding::default();
    binding.metadata.name = Some("t".to_owned());
    binding.metadata.uid = Some("uid".to_owned());
    let tree = tree("t", &levels(&["rack"]), &nodes(&["n0 rack=R0", "n1 rack=R0"]));
    let member = |node: &str| json!({"type": "Node", "selector": {"exactMatch": {"name": node}}});
    let owner = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "name": "t", "uid": "uid",
        "controller": true,
    });
    let wanted = json!({
        "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode",
        "metadata": {"name": "t-r0-b9d31502", "ownerReferences": [owner], "labels": {
            "app.kubernetes.io/managed-by": "grove-operator",
            "grove.io/topology-name": "t", "grove.io/topology-tier": "1",
        }},
        "spec": {"tier": 1, "tierName": "rack", "members": [member("n0"), member("n1")]},
    });
    assert_eq!(json!(tree[0].object(&binding)), wanted);
}
