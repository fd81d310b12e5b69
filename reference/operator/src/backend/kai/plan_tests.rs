use super::*;

fn pod_gang() -> PodGang {
    let podgroup = |name: &str, min: i32| json!({"name": name, "podReferences": [], "minReplicas": min});
    serde_json::from_value(json!({
        "metadata": {
            "name": "wl-0", "namespace": "ns", "uid": "u1",
            "labels": {"app.kubernetes.io/part-of": "wl", "team": "a", "kai.scheduler/queue": "q"},
            "annotations": {"kai.scheduler/skip-podgrouper": "true", "note": "n"},
        },
        "spec": {
            "priorityClassName": "high",
            "podgroups": [
                podgroup("wl-0-a", 1), podgroup("wl-0-g-0-b", 2), podgroup("wl-0-g-0-c", 3), podgroup("wl-0-g-1-b", 2),
            ],
        },
    }))
    .unwrap()
}

fn packed(pack: &Value) -> Option<PodGangTopologyConstraint> {
    serde_json::from_value(json!({"packConstraint": pack})).unwrap()
}

fn config(name: &str, podgroups: &[&str], pack: &Value) -> TopologyConstraintGroupConfig {
    let pod_group_names = podgroups.iter().map(|&name| name.to_owned()).collect();
    TopologyConstraintGroupConfig {
        name: name.to_owned(),
        pod_group_names,
        topology_constraint: packed(pack),
    }
}

fn constrained() -> PodGang {
    let mut pod_gang = pod_gang();
    let spec = &mut pod_gang.spec;
    spec.topology_constraint = packed(&json!({"required": "zone", "preferred": "block"}));
    spec.topology_constraint_group_configs = vec![
        config("wl-0-g-0", &["wl-0-g-0-b", "wl-0-g-0-c"], &json!({"required": "rack"})),
        config("none", &[], &json!({})),
    ];
    spec.podgroups[1].topology_constraint = packed(&json!({"preferred": "host"}));
    pod_gang
}

/// The spec without nulls, which only mark absent fields.
fn spec(pod_gang: &PodGang, existing: Option<&DynamicObject>) -> Value {
    fn without_nulls(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter().filter(|(_, value)| !value.is_null());
                Value::Object(fields.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
            }
            Value::Array(entries) => Value::Array(entries.iter().map(without_nulls).collect()),
            other => other.clone(),
        }
    }
    without_nulls(&plan(pod_gang, Some("topo"), existing).unwrap().data["spec"])
}

fn refusal(pod_gang: &PodGang, topology: Option<&str>) -> String {
    match plan(pod_gang, topology, None) {
        Err(BackendError::Refused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_pod_group_with_a_leaf_per_podgroup() {
    let planned = plan(&pod_gang(), None, None).unwrap();
    assert_eq!(planned.metadata.name.as_deref(), Some("wl-0"));
    assert_eq!(planned.metadata.namespace.as_deref(), Some("ns"));
    assert_eq!(planned.owner_references()[0].uid, "u1");
    assert_eq!(planned.labels()["team"], "a");
    assert_eq!(planned.annotations()["note"], "n");
    assert_eq!(planned.annotations()["kai.scheduler/skip-podgrouper"], "true");
    let leaf = |name: &str, min: i32| json!({"name": name, "minMember": min, "topologyConstraint": {}});
    let expected = json!({
        "queue": "q", "minMember": 8, "priorityClassName": "high", "topologyConstraint": {},
        "stalenessGracePeriod": "-1s",
        "subGroups": [leaf("wl-0-a", 1), leaf("wl-0-g-0-b", 2), leaf("wl-0-g-0-c", 3), leaf("wl-0-g-1-b", 2)],
    });
    assert_eq!(spec(&pod_gang(), None), expected);
}

#[test]
fn staleness_is_not_written_again_if_the_release_drops_it() {
    let mut existing = plan(&pod_gang(), None, None).unwrap();
    assert_eq!(spec(&pod_gang(), Some(&existing))["stalenessGracePeriod"], "-1s");
    existing.data["spec"].as_object_mut().unwrap().remove("stalenessGracePeriod");
    assert_eq!(spec(&pod_gang(), Some(&existing)).get("stalenessGracePeriod"), None);
}

#[test]
fn constraints_are_planned_at_all_three_levels() {
    let on = |required: Option<&str>, preferred: Option<&str>| {
        let mut constraint = json!({"topology": "topo"});
        for (key, level) in [("requiredTopologyLevel", required), ("preferredTopologyLevel", preferred)] {
            if let Some(level) = level {
                constraint[key] = json!(level);
            }
        }
        constraint
    };
    let found = spec(&constrained(), None);
    assert_eq!(found["topologyConstraint"], on(Some("zone"), Some("block")));
    let sub_groups = json!([
        {"name": "wl-0-g-0", "minSubGroup": 2, "topologyConstraint": on(Some("rack"), None)},
        {"name": "wl-0-a", "minMember": 1, "topologyConstraint": {}},
        {"name": "wl-0-g-0-b", "parent": "wl-0-g-0", "minMember": 2, "topologyConstraint": on(None, Some("host"))},
        {"name": "wl-0-g-0-c", "parent": "wl-0-g-0", "minMember": 3, "topologyConstraint": {}},
        {"name": "wl-0-g-1-b", "minMember": 2, "topologyConstraint": {}},
    ]);
    assert_eq!(found["subGroups"], sub_groups);
}

#[rstest::rstest]
#[case::of_the_gang(|g: &mut PodGang| g.spec.topology_constraint = packed(&json!({"required": "rack"})))]
#[case::of_a_group(|g: &mut PodGang| {
    g.spec.topology_constraint_group_configs = vec![config("wl-0-g-0", &["wl-0-g-0-b"], &json!({"required": "rack"}))];
})]
#[case::of_a_podgroup(|g: &mut PodGang| {
    g.spec.podgroups[0].topology_constraint = packed(&json!({"preferred": "rack"}));
})]
fn a_constraint_without_a_topology_is_refused(#[case] edit: fn(&mut PodGang)) {
    let mut pod_gang = pod_gang();
    edit(&mut pod_gang);
    assert!(is_constrained(&pod_gang));
    assert_eq!(refusal(&pod_gang, None), "PodGang wl-0: no topologyName is known for the topology key rack");
}

#[test]
fn an_empty_constraint_counts_as_none() {
    let mut pod_gang = pod_gang();
    pod_gang.spec.topology_constraint = packed(&json!({}));
    assert!(!is_constrained(&pod_gang));
    assert!(plan(&pod_gang, None, None).is_ok());
}

#[test]
fn what_kai_cannot_express_is_refused() {
    let edited = |edit: fn(&mut PodGang)| {
        let mut pod_gang = pod_gang();
        edit(&mut pod_gang);
        refusal(&pod_gang, Some("topo"))
    };
    let refusals = [
        edited(|g| drop(g.labels_mut().remove(KEY_QUEUE))),
        edited(|g| g.spec.podgroups.clear()),
        edited(|g| g.spec.topology_constraint_group_configs = vec![config("c", &["gone"], &json!({}))]),
        edited(|g| {
            let c = |name| config(name, &["wl-0-a"], &json!({}));
            g.spec.topology_constraint_group_configs = vec![c("c"), c("d")];
        }),
        edited(|g| {
            g.spec.topology_constraint_group_configs = vec![config("wl-0-a", &["wl-0-a"], &json!({}))]
        }),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    PodGang wl-0: no label or annotation kai.scheduler/queue names a queue
    PodGang wl-0: minReplicas add up to 0: a gang needs at least one pod
    PodGang wl-0: topology group c names podgroup gone, which does not exist
    PodGang wl-0: podgroup wl-0-a is in topology groups c and d
    PodGang wl-0: two subgroups would have the name "wl-0-a"
    "#);
}

#[test]
fn fields_that_kai_owns_are_not_planned() {
    let mut existing = plan(&pod_gang(), None, None).unwrap();
    existing.data["spec"]["queue"] = json!("moved");
    existing.labels_mut().insert(KEY_QUEUE.into(), "moved".into());
    existing.labels_mut().insert(LABEL_NODE_POOL.into(), "pool".into());
    let mut pod_gang = pod_gang();
    pod_gang.labels_mut().insert(LABEL_NODE_POOL.into(), "other".into());
    let planned = plan(&pod_gang, None, Some(&existing)).unwrap();
    assert_eq!(planned.data["spec"]["queue"], "moved");
    for key in [KEY_QUEUE, LABEL_NODE_POOL] {
        assert!(!planned.labels().contains_key(key), "{key} is not ours any more");
    }
    for field in ["markUnschedulable", "schedulingBackoff"] {
        assert!(planned.data["spec"].get(field).is_none(), "{field} is KAI's");
    }
}

#[test]
fn after_creation_only_keys_of_grove_and_kai_are_synchronised() {
    let existing = plan(&pod_gang(), None, None).unwrap();
    let mut pod_gang = pod_gang();
    pod_gang.annotations_mut().insert("example.com/note".into(), "new".into());
    let planned = plan(&pod_gang, None, Some(&existing)).unwrap();
    let annotations: Vec<_> = planned.annotations().keys().map(String::as_str).collect();
    assert_eq!(annotations, ["kai.scheduler/skip-podgrouper"]);
}

#[test]
fn a_shortened_subgroup_name_is_the_same_for_leaf_and_pod() {
    let mut pod_gang = pod_gang();
    pod_gang.spec.podgroups[0].name = "w.l-0-a".into();
    let name = leaf("w.l-0-a");
    assert!(names::is_dns_label(&name), "{name}");
    assert_eq!(spec(&pod_gang, None)["subGroups"][0]["name"], name);
}
