//! The API server of Kubernetes 1.37 starts with the gate CompositePodGroup off. PodCliqueSet `before`
//! becomes flat PodGroups in `v1beta1`. Once the gate is on, `after` and the second replica of `before`
//! become trees. The first replica of `before` stays flat. The operator is not restarted for the gate.

use conformance_history::is_owned_by;
use conformance_install::cluster_spec::ClusterSpec;

use super::mapping::set_scope;
use crate::prelude::*;

const COMPOSITE_CREATED: Code = Code::new("composite-created");
const WRONG_NUMBER_OF_GROUPS: Code = Code::new("wrong-number-of-groups");
const NOT_FLAT: Code = Code::new("not-flat");
const MAPPING_NOT_LOGGED: Code = Code::new("mapping-not-logged");

pub(crate) const CASE: Case =
    case!("New PodGangs become trees once CompositePodGroup is served; existing ones stay flat")
        .clauses(&[KUBE_09, KUBE_17, KUBE_19])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated)
        .in_scope("Tree");

const GATE: &str = "CompositePodGroup";

marks! { FLAT = "before is flat"; }

const WITHOUT: &[Attempt] = &[refused("a tree that is not served", &[GATE], |_| {})];
const WITH: &[Attempt] = &[admitted("a tree that is served now", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let after = test.manifest("after")?;
    restored(test, |test| Box::pin(without_trees(test))).await?;
    test.retry_creates_until(&after, WITH, limits::RECOVERY).await?;
    test.record_controller_state().await?;
    test.until_cluster_watched().await?;
    submit_without_scope(test, "after").await?;
    test.scale("PodCliqueSet", "before", 2).await?;
    test.until_bound(9).await
}

async fn submit_without_scope(test: &mut TestContext, name: &str) -> Result<(), Stop> {
    let mut pcs = test.manifest(name)?;
    set_scope(&mut pcs, None);
    test.submit_value(pcs).await.map(drop)
}

async fn without_trees(test: &mut TestContext) -> Result<(), Stop> {
    let original = test.local()?.spec();
    let gates_off = |spec: &mut ClusterSpec| {
        spec.api_gates = spec.api_gates.clone().with(GATE, false);
        spec.scheduler_gates = spec.scheduler_gates.clone().with(GATE, false);
    };
    test.kill_part(Part::KUBE_SCHEDULER).await?;
    test.restart_api_server(gates_off).await?;
    test.start_scheduler().await?;
    test.restart_controller(original.controller).await?;
    test.attempt_creates(&test.manifest("after")?, WITHOUT).await?;
    submit_without_scope(test, "before").await?;
    test.until_bound(3).await?;
    // After the restart, the watches reconnect one after the other, which can take as long as a recovery.
    test.until("the flat PodGroups", limits::RECOVERY, |live| {
        live.of("PodGang").next().is_some() && live.of("PodGroup").count() >= 2
    })
    .await?;
    test.mark(FLAT, Value::Null);
    Ok(())
}

fn is_flat(live: &Live, pod_gang: &str) -> Ruling {
    let owner = live.get("PodGang", pod_gang);
    let owner = owner.ok_or_else(|| Broken::NotReached(format!("PodGang {pod_gang} does not exist")))?;
    let owned_objects = |kind: &'static str| live.of(kind).filter(move |object| is_owned_by(object, owner));
    ensure(owned_objects("CompositePodGroup").next().is_none(), || {
        violation(COMPOSITE_CREATED, format!("PodGang {pod_gang} has a CompositePodGroup, want none"))
    })?;
    let groups: Vec<_> = owned_objects("PodGroup").map(|group| &group["spec"]).collect();
    ensure(groups.len() == 2, || {
        violation(
            WRONG_NUMBER_OF_GROUPS,
            format!("PodGang {pod_gang} has {} PodGroups, want 2", groups.len()),
        )
    })?;
    let is_flat_group = |spec: &&&Value| {
        spec["parentCompositePodGroupName"].is_null() && spec["workloadRef"]["workloadName"] == pod_gang
    };
    match groups.iter().find(|spec| !is_flat_group(spec)) {
        None => Ok(()),
        Some(spec) => Err(violation(
            NOT_FLAT,
            format!("PodGang {pod_gang}: a PodGroup has the spec {spec}, want a flat PodGroup"),
        )
        .into()),
    }
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KUBE_09, || {
            history.reached(SharedMark::ApiServerRestarted)?;
            let (flat, _) = history.reached(FLAT)?;
            let before = history.base("before")?;
            is_flat(&history.before(flat), &before.name)?;
            answers(history, WITH)?;
            let end = history.end();
            is_flat(&end, &before.name)?;
            let mut trees = history.gangs("after")?;
            let scaled = scaling::gangs(history, history.submitted("before")?, history.entries.len());
            trees.extend(scaled.into_iter().filter(|gang| gang.replica == 1));
            gang_resources::match_pod_gangs(history, &end, &trees)
        }),
        finding(KUBE_17, || {
            history.reached(SharedMark::ApiServerRestarted)?;
            answers(history, WITHOUT)
        }),
        finding(KUBE_19, || mapping_is_logged(history)),
    ]
}

fn mapping_is_logged(history: &History) -> Ruling {
    let (_, controller) = history.reached(SharedMark::Controller)?;
    let lines = controller.detail["said"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names_both = |line: &Value| {
        line.as_str().is_some_and(|line| line.contains("v1beta1") && line.contains("PodGroup"))
    };
    ensure(lines.iter().any(names_both), || {
        violation(MAPPING_NOT_LOGGED, "the controller's log does not report the API and mapping of gangs")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest]
    #[case::said(&["starting", "scheduling.k8s.io/v1beta1: a PodGroup per podgroup"], true)]
    #[case::without_the_version(&["a PodGroup per podgroup"], false)]
    #[case::in_two_lines(&["scheduling.k8s.io/v1beta1", "a PodGroup per podgroup"], false)]
    #[case::silent(&[], false)]
    fn the_log_names_version_and_mapping(#[case] said: &[&str], #[case] passes: bool) {
        let story = Story::on(Target::KUBE_TREE).mark(SharedMark::Controller, json!({"said": said}));
        assert_eq!(mapping_is_logged(&story.end()).is_ok(), passes);
        assert!(matches!(mapping_is_logged(&Story::flat().end()), Err(Broken::NotReached(_))));
    }

    #[rstest]
    #[case::flat(|_: &mut Vec<Value>| {}, &[])]
    #[case::below_a_parent(
        |objects: &mut Vec<Value>| objects[1]["spec"]["parentCompositePodGroupName"] = json!("g"),
        &["not-flat"]
    )]
    #[case::of_another_workload(
        |objects: &mut Vec<Value>| objects[2]["spec"]["workloadRef"]["workloadName"] = json!("h"),
        &["not-flat"]
    )]
    #[case::with_a_composite(
        |objects: &mut Vec<Value>| objects.push(owned(object("CompositePodGroup", "g"), "PodGang", "g")),
        &["composite-created"]
    )]
    #[case::one_missing(|objects: &mut Vec<Value>| drop(objects.pop()), &["wrong-number-of-groups"])]
    fn an_existing_pod_gang_stays_flat(#[case] edit: fn(&mut Vec<Value>), #[case] wanted: &[&str]) {
        let group = |name: &str| {
            let mut group = owned(object("PodGroup", name), "PodGang", "g");
            group["spec"] = json!({"workloadRef": {"workloadName": "g"}});
            group
        };
        let mut objects = vec![object("PodGang", "g"), group("g-a"), group("g-b")];
        edit(&mut objects);
        let live = Story::on(Target::KUBE_TREE).all_added(objects).end().end();
        assert_eq!(codes(is_flat(&live, "g")), wanted);
    }
}
