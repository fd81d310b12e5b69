use serde_json::{Value, json};

use super::super::detection::Unavailable;
use super::super::workload_api::Version;
use super::*;

fn clique(name: &str) -> Value {
    json!({"name": name, "spec": {"podSpec": {}, "replicas": 2, "minAvailable": 2}})
}

fn pcs(template: Value) -> PodCliqueSet {
    let spec = json!({"replicas": 1, "template": template});
    serde_json::from_value(json!({"metadata": {"name": "wl", "namespace": "team"}, "spec": spec})).unwrap()
}

fn two_cliques() -> Value {
    json!({"cliques": [clique("a"), clique("b")]})
}

fn pack(required: Option<&str>, preferred: Option<&str>) -> Value {
    let mut pack = json!({});
    required.into_iter().for_each(|domain| pack["required"] = domain.into());
    preferred.into_iter().for_each(|domain| pack["preferred"] = domain.into());
    json!({"topologyName": "t", "pack": pack})
}

fn gangs_on(gang_scope: GangScope) -> DefaultSchedulerConfig {
    DefaultSchedulerConfig { gang_scheduling: true, gang_scope, ..DefaultSchedulerConfig::default() }
}

fn supported() -> Support {
    let composite = Err(Unavailable::Absent("CompositePodGroup is not served".into()));
    Support { gangs: Ok(Version::V1Alpha2), topology: Ok(()), composite }
}

fn with_trees() -> Support {
    Support { gangs: Ok(Version::V1Beta1), topology: Ok(()), composite: Ok(()) }
}

fn paths(config: &DefaultSchedulerConfig, pcs: &PodCliqueSet, support: &Support) -> Vec<String> {
    validate(config, pcs, None, support).errors.into_iter().map(|error| error.path).collect()
}

#[rstest::rstest]
#[case::eight((0..8).map(|i| clique(&format!("c{i}"))).collect(), json!([]), &[])]
#[case::nine((0..9).map(|i| clique(&format!("c{i}"))).collect(), json!([]), &["spec.template.cliques"])]
#[case::base_with_group(
    vec![clique("a"), clique("b"), clique("c")],
    json!([{"name": "g", "cliqueNames": ["b", "c"], "replicas": 4, "minAvailable": 4}]),
    &["spec.template.cliques"]
)]
#[case::surplus_replicas_do_not_count(
    vec![clique("a"), clique("b"), clique("c")],
    json!([{"name": "g", "cliqueNames": ["b", "c"], "replicas": 9, "minAvailable": 3}]),
    &[]
)]
#[case::scaled(
    (0..9).map(|i| clique(&format!("c{i}"))).collect(),
    json!([{"name": "g", "cliqueNames": (0..9).map(|i| format!("c{i}")).collect::<Vec<_>>()}]),
    &["spec.template.cliques", "spec.template.podCliqueScalingGroups[0].cliqueNames"]
)]
fn a_flat_pod_gang_has_at_most_eight_podgroups(
    #[case] cliques: Vec<Value>,
    #[case] groups: Value,
    #[case] refused: &[&str],
) {
    let pcs = pcs(json!({"cliques": cliques, "podCliqueScalingGroups": groups}));
    assert_eq!(paths(&gangs_on(GangScope::PodGroup), &pcs, &supported()), refused);
    assert!(
        paths(&gangs_on(GangScope::PodGang), &pcs, &supported()).is_empty(),
        "PodGang scope has no limit"
    );
}

#[rstest::rstest]
#[case::pcs_with_one_clique("/topologyConstraint", json!({"cliques": [clique("a")]}), true, true)]
#[case::pcs_with_two_cliques("/topologyConstraint", two_cliques(), false, true)]
#[case::clique("/cliques/1/topologyConstraint", two_cliques(), true, false)]
#[case::group(
    "/podCliqueScalingGroups/0/topologyConstraint",
    json!({"cliques": [clique("a")], "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["a"]}]}),
    false, false
)]
#[case::pcs_with_only_a_grouped_clique(
    "/topologyConstraint",
    json!({"cliques": [clique("a")], "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["a"], "replicas": 3}]}),
    true, true
)]
#[case::pcs_with_two_podgroups_in_base(
    "/topologyConstraint",
    json!({"cliques": [clique("a")],
           "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["a"], "replicas": 3, "minAvailable": 2}]}),
    false, true
)]
fn a_required_level_is_refused_where_it_cannot_be_honoured(
    #[case] place: &str,
    #[case] template: Value,
    #[case] flat: bool,
    #[case] whole: bool,
) {
    let (parent, field) = place.rsplit_once('/').unwrap();
    for (scope, honoured) in [(GangScope::PodGroup, flat), (GangScope::PodGang, whole)] {
        let validated = |constraint: Value| {
            let mut template = template.clone();
            template.pointer_mut(parent).unwrap()[field] = constraint;
            validate(&gangs_on(scope), &pcs(template), None, &supported())
        };
        let required = validated(pack(Some("rack"), None));
        assert_eq!(required.admits(), honoured, "{scope:?} {:?}", required.errors);
        let mut messages = required.errors.iter().map(ToString::to_string);
        assert!(messages.all(|message| message.ends_with("instead")), "no remedy: {:?}", required.errors);
        assert!(!validated(pack(None, Some("host"))).admits(), "preferred alone is never honoured");
        let both = validated(pack(Some("rack"), Some("host")));
        assert_eq!((both.admits(), both.warnings.len()), (honoured, usize::from(honoured)));
    }
}

#[test]
fn a_second_topology_key_for_a_pod_group_is_refused() {
    let mut template = json!({"cliques": [clique("a")], "topologyConstraint": pack(Some("rack"), None)});
    template["cliques"][0]["topologyConstraint"] = pack(Some("host"), None);
    let refused = paths(&gangs_on(GangScope::PodGroup), &pcs(template), &supported());
    assert_eq!(refused, ["spec.template.cliques[0].topologyConstraint"]);
}

#[test]
fn without_the_topology_gate_only_constraints_are_refused() {
    let support = Support { topology: Err("feature gate X is off".into()), ..supported() };
    let mut template = two_cliques();
    assert!(paths(&gangs_on(GangScope::PodGroup), &pcs(template.clone()), &support).is_empty());
    template["cliques"][0]["topologyConstraint"] = pack(Some("host"), None);
    let validated = validate(&gangs_on(GangScope::PodGroup), &pcs(template), None, &support);
    assert!(validated.errors[0].message.contains("feature gate X is off"));
}

#[test]
fn without_the_api_creates_are_refused_and_updates_are_not() {
    let support = Support {
        gangs: Err("API x is not served".into()),
        topology: Err(String::new()),
        composite: Err(Unavailable::Absent("API x is not served".into())),
    };
    let config = gangs_on(GangScope::PodGroup);
    let old = pcs(two_cliques());
    assert!(validate(&config, &old, None, &support).errors[0].message.contains("API x is not served"));
    let mut new = old.clone();
    new.spec.replicas = 0;
    assert!(validate(&config, &new, Some(&old), &support).admits());
    let pass_through = DefaultSchedulerConfig::default();
    assert!(validate(&pass_through, &old, None, &support).admits(), "KUBE-13 needs no API");
}

#[test]
fn an_unknown_or_changed_gang_scope_is_refused() {
    let config = gangs_on(GangScope::PodGroup);
    let plain = pcs(two_cliques());
    let with = |value: &str| {
        let mut pcs = plain.clone();
        pcs.annotations_mut().insert(ANNOTATION_GANG_SCOPE.into(), value.into());
        pcs
    };
    assert!(validate(&config, &with("PodGang"), None, &supported()).admits());
    assert!(!validate(&config, &with("Pod"), None, &supported()).admits());
    assert!(!validate(&config, &with("PodGang"), Some(&plain), &supported()).admits());
    assert!(!validate(&config, &plain, Some(&with("PodGang")), &supported()).admits());
    assert!(validate(&config, &with("PodGang"), Some(&with("PodGang")), &supported()).admits());
}

#[rstest::rstest]
#[case::both_cliques(true, &["a", "b"], true)]
#[case::one_clique(true, &["a"], false)]
#[case::without_gang_scheduling(false, &["a", "b"], false)]
fn preset_scheduling_groups_must_be_complete_and_immutable(
    #[case] gang_scheduling: bool,
    #[case] on: &[&str],
    #[case] admitted: bool,
) {
    let mut template = two_cliques();
    for clique in template["cliques"].as_array_mut().unwrap() {
        if on.contains(&clique["name"].as_str().unwrap()) {
            clique["spec"]["podSpec"]["schedulingGroup"] = json!({"podGroupName": "mine"});
        }
    }
    let config = DefaultSchedulerConfig { gang_scheduling, ..DefaultSchedulerConfig::default() };
    let (old, new) = (pcs(two_cliques()), pcs(template));
    assert_eq!(validate(&config, &new, None, &supported()).admits(), admitted);
    assert!(!validate(&config, &new, Some(&old), &supported()).admits(), "membership cannot be added later");
}

/// Class of the PodCliqueSet, classes of its two cliques, and the cliques refused on Kubernetes 1.37.
#[rstest::rstest]
#[case::none("", ["", ""], &[])]
#[case::only_of_the_set("high", ["", ""], &[])]
#[case::same_everywhere("high", ["high", "high"], &[])]
#[case::one_clique("", ["high", ""], &[0])]
#[case::both_cliques_without_the_set("", ["high", "high"], &[0, 1])]
#[case::another_than_the_set("high", ["high", "low"], &[1])]
fn a_gang_has_one_priority_class_from_kubernetes_1_37_on(
    #[case] of_set: &str,
    #[case] of_cliques: [&str; 2],
    #[case] refused: &[usize],
) {
    let mut template = two_cliques();
    template["priorityClassName"] = json!(of_set);
    for (i, class) in of_cliques.into_iter().enumerate() {
        template["cliques"][i]["spec"]["podSpec"]["priorityClassName"] = json!(class);
    }
    let pcs = pcs(template);
    let found = paths(&gangs_on(GangScope::Tree), &pcs, &with_trees());
    let wanted: Vec<_> = refused
        .iter()
        .map(|i| format!("spec.template.cliques[{i}].spec.podSpec.priorityClassName"))
        .collect();
    assert_eq!(found, wanted);
    assert_eq!(paths(&gangs_on(GangScope::PodGang), &pcs, &supported()), [""; 0], "1.36 binds such gangs");
}

#[rstest::rstest]
#[case::one(["Never", ""], false)]
#[case::same(["Never", "Never"], false)]
#[case::different(["Never", "PreemptLowerPriority"], true)]
fn a_gang_has_one_preemption_policy_from_kubernetes_1_37_on(
    #[case] policies: [&str; 2],
    #[case] refused: bool,
) {
    let mut template = two_cliques();
    for (i, policy) in policies.into_iter().enumerate() {
        template["cliques"][i]["spec"]["podSpec"]["preemptionPolicy"] = json!(policy);
    }
    let pcs = pcs(template);
    let found = paths(&gangs_on(GangScope::Tree), &pcs, &with_trees());
    let wanted: &[&str] =
        if refused { &["spec.template.cliques[1].spec.podSpec.preemptionPolicy"] } else { &[] };
    assert_eq!(found, wanted);
    assert_eq!(paths(&gangs_on(GangScope::PodGang), &pcs, &supported()), [""; 0]);
}

/// Classes of the PodCliqueSet and of its two cliques, before and after an update on Kubernetes 1.37.
#[rstest::rstest]
#[case::kept(["", "high", "low"], ["", "high", "low"], &[])]
#[case::one_repaired(["", "high", "low"], ["", "", "low"], &[])]
#[case::another_class_of_the_set(["high", "high", "low"], ["", "", "low"], &[])]
#[case::changed(["", "high", ""], ["", "low", ""], &[0])]
#[case::same_until_the_update(["high", "high", ""], ["low", "high", ""], &[0])]
fn a_clique_may_keep_a_class_that_differs(
    #[case] before: [&str; 3],
    #[case] after: [&str; 3],
    #[case] refused: &[usize],
) {
    let with = |[of_set, first, second]: [&str; 3], image: &str| {
        let mut template = two_cliques();
        template["priorityClassName"] = json!(of_set);
        for (i, class) in [first, second].into_iter().enumerate() {
            template["cliques"][i]["spec"]["podSpec"] = json!({"priorityClassName": class, "image": image});
        }
        let mut pcs = pcs(template);
        // Without gangs, the class can change.
        pcs.spec.replicas = 0;
        pcs
    };
    let (old, new) = (with(before, "a"), with(after, "b"));
    let found = validate(&gangs_on(GangScope::Tree), &new, Some(&old), &with_trees()).errors;
    let wanted: Vec<_> = refused
        .iter()
        .map(|i| format!("spec.template.cliques[{i}].spec.podSpec.priorityClassName"))
        .collect();
    assert_eq!(found.into_iter().map(|error| error.path).collect::<Vec<_>>(), wanted);
}

#[rstest::rstest]
#[case::kept(["Never", "PreemptLowerPriority", "Never"], ["Never", "PreemptLowerPriority", "Never"], &[])]
#[case::one_repaired(["Never", "PreemptLowerPriority", "Never"], ["PreemptLowerPriority", "PreemptLowerPriority", "Never"], &[])]
#[case::changed(["Never", "Never", "Never"], ["Never", "PreemptLowerPriority", "Never"], &[1])]
fn a_clique_may_keep_a_preemption_policy_that_differs(
    #[case] before: [&str; 3],
    #[case] after: [&str; 3],
    #[case] refused: &[usize],
) {
    let with = |policies: [&str; 3], image: &str| {
        let cliques = policies.into_iter().enumerate().map(|(i, policy)| {
            let mut clique = clique(&format!("c{i}"));
            clique["spec"]["podSpec"] = json!({"preemptionPolicy": policy, "image": image});
            clique
        });
        pcs(json!({"cliques": cliques.collect::<Vec<_>>()}))
    };
    let (old, new) = (with(before, "a"), with(after, "b"));
    let found = validate(&gangs_on(GangScope::Tree), &new, Some(&old), &with_trees()).errors;
    let wanted: Vec<_> =
        refused.iter().map(|i| format!("spec.template.cliques[{i}].spec.podSpec.preemptionPolicy")).collect();
    assert_eq!(found.into_iter().map(|error| error.path).collect::<Vec<_>>(), wanted);
}

#[test]
fn the_message_about_a_priority_names_the_remedy() {
    let mut template = two_cliques();
    template["cliques"][1]["spec"]["podSpec"]["priorityClassName"] = json!("high");
    let found = validate(&gangs_on(GangScope::Tree), &pcs(template), None, &with_trees());
    insta::assert_snapshot!(found.errors[0], @r#"spec.template.cliques[1].spec.podSpec.priorityClassName: Invalid value: "high": kube-scheduler binds a gang only if all its pods have one priority, and spec.template.priorityClassName is not set: set the class there, or remove it here"#);
}

/// Each case: the classes of the PodCliqueSet before and after an update; no old class stands for a creation.
#[rstest::rstest]
#[case::created_for_the_cluster(None, "system-cluster-critical", true)]
#[case::created_for_nodes(None, "system-node-critical", true)]
#[case::created_with_a_user_defined_class(None, "high", false)]
#[case::changed(Some("high"), "system-node-critical", true)]
#[case::kept(Some("system-node-critical"), "system-node-critical", false)]
fn a_system_class_is_refused_from_kubernetes_1_37_on(
    #[case] before: Option<&str>,
    #[case] class: &str,
    #[case] refused: bool,
) {
    let with = |class: &str, image: &str| {
        let mut template = two_cliques();
        template["priorityClassName"] = json!(class);
        template["cliques"][0]["spec"]["podSpec"]["image"] = json!(image);
        let mut pcs = pcs(template);
        // Without gangs, the class can change.
        pcs.spec.replicas = 0;
        pcs
    };
    let (old, new) = (before.map(|class| with(class, "a")), with(class, "b"));
    let found = |scope: GangScope, support: &Support| {
        let errors = validate(&gangs_on(scope), &new, old.as_ref(), support).errors;
        errors.into_iter().map(|error| error.path).collect::<Vec<_>>()
    };
    let wanted: &[&str] = if refused { &["spec.template.priorityClassName"] } else { &[] };
    assert_eq!(found(GangScope::Tree, &with_trees()), wanted);
    assert_eq!(found(GangScope::PodGang, &supported()), [""; 0], "1.36 binds such gangs");
}

#[test]
fn the_message_about_a_system_class_names_it_and_the_remedy() {
    let mut template = two_cliques();
    template["priorityClassName"] = json!("system-node-critical");
    let found = validate(&gangs_on(GangScope::Tree), &pcs(template), None, &with_trees());
    insta::assert_snapshot!(found.errors[0], @r#"spec.template.priorityClassName: Invalid value: "system-node-critical": its value is above 1000000000, the highest priority of a PodGroup, and kube-scheduler binds a gang only if its pods have the priority of their PodGroup: name a PriorityClass with a value of at most 1000000000"#);
}

#[test]
fn metadata_edits_are_admitted_for_an_invalid_spec() {
    let nine = pcs(json!({"cliques": (0..9).map(|i| clique(&format!("c{i}"))).collect::<Vec<_>>()}));
    let mut edited = nine.clone();
    edited.labels_mut().insert("team".into(), "x".into());
    assert!(validate(&gangs_on(GangScope::PodGroup), &edited, Some(&nine), &supported()).admits());
}

#[rstest::rstest]
#[case::about_trees(Ok(Version::V1Alpha2))]
#[case::about_gangs(Err("timed out".into()))]
fn an_update_is_admitted_while_the_api_server_does_not_answer(#[case] gangs: Result<Version, String>) {
    let nine = pcs(json!({"cliques": (0..9).map(|i| clique(&format!("c{i}"))).collect::<Vec<_>>()}));
    let mut scaled = nine.clone();
    scaled.spec.replicas = 2;
    let config = gangs_on(GangScope::PodGang);
    let composite = Err(Unavailable::Unknown("timed out".into()));
    let unknown = Support { gangs, composite, ..supported() };
    assert!(validate(&config, &nine, None, &supported()).admits());
    assert!(!validate(&config, &nine, None, &unknown).admits());
    assert_eq!(validate(&config, &scaled, Some(&nine), &unknown), Validation::default());
}

#[test]
fn a_tree_admits_nested_constraints() {
    let template = json!({
        "cliques": [clique("a"), clique("b")],
        "topologyConstraint": pack(Some("block"), None),
        "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["b"], "topologyConstraint": pack(Some("rack"), None)}],
    });
    let mut constrained = template.clone();
    constrained["cliques"][1]["topologyConstraint"] = pack(Some("host"), None);
    let config = gangs_on(GangScope::PodGroup);
    assert_eq!(paths(&config, &pcs(constrained.clone()), &with_trees()), [""; 0]);
    assert!(!paths(&config, &pcs(constrained), &supported()).is_empty());
    let nine = json!({"cliques": (0..9).map(|i| clique(&format!("c{i}"))).collect::<Vec<_>>()});
    assert_eq!(paths(&gangs_on(GangScope::PodGang), &pcs(nine), &with_trees()), ["spec.template.cliques"]);
}

/// If it is unknown whether the API server supports trees, the PodCliqueSet is refused.
#[test]
fn a_requested_tree_is_never_replaced_by_another_scope() {
    let tree = gangs_on(GangScope::Tree);
    let plain = pcs(two_cliques());
    let refused = validate(&tree, &plain, None, &supported());
    assert!(refused.errors[0].message.contains("CompositePodGroup is not served"), "{:?}", refused.errors);
    assert!(validate(&tree, &plain, None, &with_trees()).admits());
    let unknown = Support { composite: Err(Unavailable::Unknown("timed out".into())), ..supported() };
    let flat = gangs_on(GangScope::PodGroup);
    assert!(validate(&flat, &plain, None, &unknown).errors[0].message.contains("timed out"));
    let mut scoped = plain;
    scoped.annotations_mut().insert(ANNOTATION_GANG_SCOPE.into(), "PodGang".into());
    let warnings = validate(&flat, &scoped, None, &with_trees()).warnings;
    assert!(warnings[0].contains("gang-scope: PodGang has no effect"), "{warnings:?}");
}

#[rstest::rstest]
#[case::changed(Some("high"), 1, &["spec.template.priorityClassName"])]
#[case::removed(None, 1, &["spec.template.priorityClassName"])]
#[case::unchanged(Some("low"), 1, &[])]
#[case::no_gang_yet(Some("high"), 0, &[])]
fn a_priority_cannot_change_while_gangs_exist(
    #[case] priority: Option<&str>,
    #[case] replicas: i32,
    #[case] refused: &[&str],
) {
    let with = |priority: Option<&str>, image: &str| {
        let mut template = two_cliques();
        template["priorityClassName"] = json!(priority);
        template["cliques"][0]["spec"]["podSpec"]["image"] = json!(image);
        let mut pcs = pcs(template);
        pcs.spec.replicas = replicas;
        pcs
    };
    let (old, new) = (with(Some("low"), "a"), with(priority, "b"));
    let found = validate(&gangs_on(GangScope::PodGroup), &new, Some(&old), &supported());
    assert_eq!(found.errors.into_iter().map(|error| error.path).collect::<Vec<_>>(), refused);
}
