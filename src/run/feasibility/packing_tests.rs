use conformance_facts::quantity::ONE;

use super::*;

fn problem(nodes: &[Amount], kinds: &[Amount]) -> Problem {
    let kind = |amount: &Amount| Kind {
        demand: vec![amount * ONE],
        ports: Vec::new(),
        allowed: vec![true; nodes.len()],
    };
    // Racks of two nodes, and hosts.
    let racks = (0..nodes.len()).map(|node| Some(node / 2)).collect();
    let hosts = (0..nodes.len()).map(Some).collect();
    Problem {
        capacity: nodes.iter().map(|amount| vec![amount * ONE]).collect(),
        kinds: kinds.iter().map(kind).collect(),
        levels: vec![racks, hosts],
    }
}

fn pods(counts: &[usize]) -> Group {
    Group { pods: counts.iter().copied().enumerate().collect(), ..Group::default() }
}

fn in_one(level: usize, group: Group) -> Group {
    Group { level: Some(level), ..group }
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Fits,
    Sometimes,
    Never,
    Unknown,
}

fn found(packing: &Packing) -> Found {
    match packing {
        Packing::Fits(_) => Found::Fits,
        Packing::Sometimes(_) => Found::Sometimes,
        Packing::Never => Found::Never,
        Packing::Unknown => Found::Unknown,
    }
}

#[rstest::rstest]
#[case::exactly_full(&[8, 8], &[8], &[2], Found::Fits)]
#[case::one_too_many(&[8, 8], &[8], &[3], Found::Never)]
#[case::total_is_enough_but_no_node_is(&[8, 8], &[5], &[3], Found::Never)]
#[case::two_per_node(&[8, 8], &[4], &[4], Found::Fits)]
#[case::small_pods_may_take_both_nodes(&[8, 8], &[8, 4], &[1, 2], Found::Sometimes)]
#[case::room_despite_small_pods(&[8, 8, 8], &[8, 4], &[1, 2], Found::Fits)]
#[case::nodes_of_two_sizes(&[8, 4], &[8, 4], &[1, 1], Found::Sometimes)]
#[case::larger_pod_than_any_node(&[4, 4], &[8], &[1], Found::Never)]
// 6 + 4 and 5 + 5 are the only pairs of 10.
#[case::one_pairing(&[10, 10], &[6, 5, 4], &[1, 2, 1], Found::Sometimes)]
#[case::no_pairing(&[10, 10], &[9, 6, 3, 2], &[1, 1, 1, 1], Found::Never)]
#[case::nothing(&[8], &[8], &[0], Found::Fits)]
fn pods_fit_together(
    #[case] nodes: &[Amount],
    #[case] kinds: &[Amount],
    #[case] counts: &[usize],
    #[case] wanted: Found,
) {
    assert_eq!(found(&problem(nodes, kinds).pack(&[pods(counts)])), wanted);
}

#[rstest::rstest]
#[case::in_one_rack(&[8, 8, 8, 8], vec![in_one(0, pods(&[2]))], Found::Fits)]
#[case::larger_than_a_rack(&[8, 8, 8, 8], vec![in_one(0, pods(&[3]))], Found::Never)]
#[case::without_constraint(&[8, 8, 8, 8], vec![pods(&[3])], Found::Fits)]
#[case::a_rack_each(&[8, 8, 8, 8], vec![in_one(0, pods(&[2])), in_one(0, pods(&[2]))], Found::Fits)]
#[case::a_rack_too_few(
    &[8, 8, 8, 8], vec![in_one(0, pods(&[2])), in_one(0, pods(&[2])), in_one(0, pods(&[1]))], Found::Never
)]
#[case::room_only_in_the_second_rack(&[8, 4, 8, 8], vec![in_one(0, pods(&[2]))], Found::Fits)]
#[case::in_one_host(&[8, 16], vec![in_one(1, pods(&[2]))], Found::Fits)]
#[case::larger_than_a_host(&[8, 8], vec![in_one(1, pods(&[2]))], Found::Never)]
#[case::host_inside_a_rack(
    &[8, 8, 8, 16],
    vec![in_one(0, Group { groups: vec![in_one(1, pods(&[2])), pods(&[1])], ..Group::default() })],
    // A scheduler that fills nodes may put the single pod on the larger host.
    Found::Sometimes
)]
#[case::host_inside_a_rack_too_small(
    &[8, 8, 8, 16],
    vec![in_one(0, Group { groups: vec![in_one(1, pods(&[2])), pods(&[2])], ..Group::default() })],
    Found::Never
)]
fn groups_fit_their_domains(#[case] nodes: &[Amount], #[case] groups: Vec<Group>, #[case] wanted: Found) {
    assert_eq!(found(&problem(nodes, &[8]).pack(&groups)), wanted);
}

#[test]
fn a_node_outside_every_rack_holds_no_constrained_pod() {
    let mut problem = problem(&[8, 8], &[8]);
    problem.levels[0] = vec![Some(0), None];
    assert_eq!(found(&problem.pack(&[in_one(0, pods(&[2]))])), Found::Never);
    assert_eq!(found(&problem.pack(&[pods(&[2])])), Found::Fits);
}

#[rstest::rstest]
#[case::same_port(None, None, 80, Found::Never)]
#[case::two_addresses(Some("10.0.0.1"), Some("10.0.0.2"), 80, Found::Fits)]
#[case::every_address(Some("10.0.0.1"), None, 80, Found::Never)]
#[case::another_port(None, None, 81, Found::Fits)]
fn host_ports_conflict(
    #[case] first: Option<&str>,
    #[case] second: Option<&str>,
    #[case] second_port: u64,
    #[case] wanted: Found,
) {
    let port = |address: Option<&str>, port| {
        vec![Port { address: address.map(str::to_owned), protocol: "TCP".into(), port }]
    };
    let mut problem = problem(&[8], &[1, 1]);
    problem.kinds[0].ports = port(first, 80);
    problem.kinds[1].ports = port(second, second_port);
    assert_eq!(found(&problem.pack(&[pods(&[1, 1])])), wanted);
}

#[test]
fn a_placement_respects_the_allowed_nodes() {
    let mut problem = problem(&[8, 8, 8], &[4]);
    problem.kinds[0].allowed = vec![false, true, false];
    assert_eq!(problem.pack(&[pods(&[2])]), Packing::Fits(vec![0, 2, 0]));
    assert_eq!(problem.pack(&[pods(&[3])]), Packing::Never);
}

#[test]
fn large_uniform_workloads_are_decided() {
    let nodes = vec![8; 200];
    assert_eq!(found(&problem(&nodes, &[8]).pack(&[pods(&[200])])), Found::Fits);
    assert_eq!(found(&problem(&nodes, &[8]).pack(&[pods(&[201])])), Found::Never);
}
