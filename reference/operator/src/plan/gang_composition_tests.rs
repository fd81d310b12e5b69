//! Composes the PodGangs of the workloads in upstream's own end-to-end suite.

use std::fmt::Write;

use serde_json::{Value, json};

use super::*;
use crate::plan::topology_translation::unknown_domains;

/// pc-a is standalone, and sg-x contains pc-b and pc-c. `minimums` are those of a, b, c and the group.
fn workload(minimums: [i32; 4], constraints: [Value; 3]) -> PodCliqueSet {
    let [a, b, c, group] = minimums;
    let [on_pcs, on_group, on_clique] = constraints;
    let clique = |name: &str, replicas, min, constraint: Value| {
        json!({"name": name, "topologyConstraint": constraint,
               "spec": {"podSpec": {}, "replicas": replicas, "minAvailable": min}})
    };
    let template = json!({
        "cliques": [clique("pc-a", 2, a, json!(null)), clique("pc-b", 1, b, json!(null)), clique("pc-c", 3, c, on_clique)],
        "podCliqueScalingGroups": [{
            "name": "sg-x", "cliqueNames": ["pc-b", "pc-c"], "replicas": 2, "minAvailable": group,
            "topologyConstraint": on_group,
        }],
        "topologyConstraint": on_pcs,
    });
    let pcs =
        json!({"metadata": {"name": "wl", "namespace": "ns"}, "spec": {"replicas": 2, "template": template}});
    serde_json::from_value(pcs).unwrap()
}

fn levels() -> Vec<TopologyLevel> {
    let level = |domain: &str| TopologyLevel { domain: domain.into(), key: format!("key/{domain}") };
    vec![level("block"), level("rack"), level("host")]
}

fn pack(required: &str) -> Value {
    json!({"topologyName": "t", "pack": {"required": required}})
}

fn text(shapes: &[GangShape]) -> String {
    let key = |constraint: &Option<PodGangTopologyConstraint>| {
        let pack = constraint.as_ref().and_then(|constraint| constraint.pack_constraint.clone());
        pack.and_then(|pack| pack.required).map(|key| format!(" @{key}")).unwrap_or_default()
    };
    shapes.iter().fold(String::new(), |mut text, shape| {
        writeln!(text, "{}{}", shape.name, key(&shape.spec.topology_constraint)).unwrap();
        for podgroup in &shape.spec.podgroups {
            let (name, min) = (&podgroup.name, podgroup.min_replicas);
            writeln!(text, "  {name} min {min}{}", key(&podgroup.topology_constraint)).unwrap();
        }
        for idle in &shape.idle {
            writeln!(text, "  idle at {}: {}", idle.index, idle.podgroup.name).unwrap();
        }
        for config in &shape.spec.topology_constraint_group_configs {
            let (name, members) = (&config.name, config.pod_group_names.join(" "));
            writeln!(text, "  group {name}: {members}{}", key(&config.topology_constraint)).unwrap();
        }
        text
    })
}

#[test]
fn further_replicas_become_scaled_gangs() {
    let pcs = workload([2, 1, 3, 1], [json!(null), json!(null), json!(null)]);
    insta::assert_snapshot!(text(&pod_gangs(&pcs, 1, &[], PodGangNames::ByIndex, |_| 3, |_| false)), @r"
    wl-1
      wl-1-pc-a min 2
      wl-1-sg-x-0-pc-b min 1
      wl-1-sg-x-0-pc-c min 3
    wl-1-sg-x-0
      wl-1-sg-x-1-pc-b min 1
      wl-1-sg-x-1-pc-c min 3
    wl-1-sg-x-1
      wl-1-sg-x-2-pc-b min 1
      wl-1-sg-x-2-pc-c min 3
    ");
}

#[test]
fn replicas_within_the_minimum_are_in_the_base_gang() {
    let pcs = workload([1, 1, 1, 2], [json!(null), json!(null), json!(null)]);
    insta::assert_snapshot!(text(&pod_gangs(&pcs, 0, &[], PodGangNames::ByIndex, |_| 2, |_| false)), @r"
    wl-0
      wl-0-pc-a min 1
      wl-0-sg-x-0-pc-b min 1
      wl-0-sg-x-0-pc-c min 1
      wl-0-sg-x-1-pc-b min 1
      wl-0-sg-x-1-pc-c min 1
    ");
}

#[test]
fn constraints_of_every_level_are_translated() {
    let pcs = workload([2, 1, 3, 1], [pack("block"), pack("rack"), pack("host")]);
    insta::assert_snapshot!(text(&pod_gangs(&pcs, 0, &levels(), PodGangNames::ByIndex, |_| 2, |_| false)), @r"
    wl-0 @key/block
      wl-0-pc-a min 2
      wl-0-sg-x-0-pc-b min 1
      wl-0-sg-x-0-pc-c min 3 @key/host
      group wl-0-sg-x-0: wl-0-sg-x-0-pc-b wl-0-sg-x-0-pc-c @key/rack
    wl-0-sg-x-0 @key/rack
      wl-0-sg-x-1-pc-b min 1
      wl-0-sg-x-1-pc-c min 3 @key/host
    ");
}

#[test]
fn a_scaled_gang_falls_back_to_the_constraint_of_the_pod_clique_set() {
    let pcs = workload([2, 1, 3, 1], [pack("block"), json!(null), json!(null)]);
    let scaled = &pod_gangs(&pcs, 0, &levels(), PodGangNames::ByIndex, |_| 2, |_| false)[1];
    assert_eq!(text(std::slice::from_ref(scaled)).lines().next(), Some("wl-0-sg-x-0 @key/block"));
}

#[test]
fn an_unknown_domain_is_dropped() {
    let pcs = workload([2, 1, 3, 1], [pack("zone"), pack("zone"), json!(null)]);
    let gangs = pod_gangs(&pcs, 0, &levels(), PodGangNames::ByIndex, |_| 2, |_| false);
    assert!(gangs.iter().all(|gang| !gang.is_constrained()));
    assert_eq!(gangs[0].spec.topology_constraint_group_configs.len(), 1, "upstream keeps the group entry");
    assert_eq!(unknown_domains(&pcs.spec.template, &levels()), ["zone"]);
}

#[test]
fn scaling_below_the_minimum_does_not_change_the_base_gang() {
    let pcs = workload([2, 1, 3, 1], [json!(null), json!(null), json!(null)]);
    assert_eq!(
        pod_gangs(&pcs, 0, &[], PodGangNames::ByIndex, |_| 0, |_| false),
        pod_gangs(&pcs, 0, &[], PodGangNames::ByIndex, |_| 1, |_| false)
    );
}

#[test]
fn idle_podgroups_are_not_in_the_base_gang() {
    let pcs = workload([2, 1, 3, 1], [json!(null), pack("rack"), json!(null)]);
    let idle = |idle: &str, replicas| {
        let is_idle = |unit: ScaledUnit<'_>| matches!(unit, ScaledUnit::Clique(name) | ScaledUnit::Group(name) if name == idle);
        text(&pod_gangs(&pcs, 0, &levels(), PodGangNames::ByIndex, |_| replicas, is_idle))
    };
    insta::assert_snapshot!(idle("wl-0-pc-a", 1), @r"
    wl-0
      wl-0-sg-x-0-pc-b min 1
      wl-0-sg-x-0-pc-c min 3
      idle at 0: wl-0-pc-a
      group wl-0-sg-x-0: wl-0-sg-x-0-pc-b wl-0-sg-x-0-pc-c @key/rack
    ");
    insta::assert_snapshot!(idle("wl-0-sg-x", 0), @r"
    wl-0
      wl-0-pc-a min 2
      idle at 1: wl-0-sg-x-0-pc-b
      idle at 2: wl-0-sg-x-0-pc-c
    ");
}
