//! PodCliqueSet `running` has 2 + 2 pods, all required. It loses a pod while the API server does not serve
//! the Workload API. Then the API is served without topology keys, and finally with them. The operator is not
//! restarted. While the API is missing, it releases `other`, 2 pods of a scheduler that does not need it.

use conformance_check::admission;
use conformance_check::backends;
use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
use conformance_driver::admission_attempts::{required, template};
use conformance_expect as expect;
use conformance_facts::attempts::Wanted;
use conformance_install::cluster_spec::Gates;

use crate::prelude::*;

const NOT_SAID_AT_START: Code = Code::new("not-logged-at-start");
const READINESS_SILENT: Code = Code::new("readiness-not-reported");

pub(crate) const CASE: Case =
    case!("Gangs are refused without the Workload API and admitted once it is served")
        .clauses(&[ADM_18, ADM_19, ADM_20, KUBE_06, KUBE_16, KUBE_17])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated)
        .on(Scheduler::KUBE);

const API: &str = "scheduling.k8s.io/v1";
const TOPOLOGY_GATE: &str = "TopologyAwareWorkloadScheduling";
/// The API server cannot enable this gate without [`TOPOLOGY_GATE`].
const COMPOSITE_GATE: &str = "CompositePodGroup";

const WITHOUT_API: &[Attempt] =
    &[refused("a gang without the API", &["scheduling.k8s.io|Workload API"], |_| {})];
const OTHER: &str = "other";
const OTHER_BACKEND: &[Attempt] = &[admitted("a PodCliqueSet of another backend without the API", |pcs| {
    pcs["metadata"]["name"] = OTHER.into()
})];
/// With the gate off, the API server drops the topology key without an error, so the operator must refuse it.
const WITHOUT_TOPOLOGY: &[Attempt] = &[
    admitted("a gang once the API is served", |_| {}),
    refused("a topology constraint without its gate", &[TOPOLOGY_GATE], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
    }),
];
/// A gang in tree scope also needs [`COMPOSITE_GATE`].
const WITHOUT_TREES: &[Attempt] = &[
    refused("a tree without its gate", &[COMPOSITE_GATE], |_| {}),
    admitted("a gang that requests no tree", unscoped),
    refused("a topology constraint without its gate", &[TOPOLOGY_GATE], |pcs| {
        unscoped(pcs);
        template(pcs)["topologyConstraint"] = required("rack");
    }),
];
const WITH_ALL: &[Attempt] = &[
    admitted("a gang with all APIs served", |_| {}),
    admitted("a topology constraint with all APIs served", |pcs| {
        template(pcs)["topologyConstraint"] = required("rack")
    }),
];

fn unscoped(pcs: &mut Value) {
    pcs["metadata"]["annotations"][names::GANG_SCOPE] = "PodGroup".into();
}

fn without_topology(target: Target) -> &'static [Attempt] {
    declared(target, if target == Target::KUBE_TREE { WITHOUT_TREES } else { WITHOUT_TOPOLOGY })
}

/// Leaves out the last attempt, a topology constraint, on targets without required topology levels.
fn declared(target: Target, attempts: &'static [Attempt]) -> &'static [Attempt] {
    match attempts.split_last() {
        Some((_, others)) if !target.declares(Feature::TopologyRequired) => others,
        _ => attempts,
    }
}

fn wanted(attempts: &[Attempt], answer: Wanted) -> Vec<Attempt> {
    attempts.iter().copied().filter(|attempt| attempt.wanted == answer).collect()
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("running").await?;
    test.until_bound(4).await?;
    restored(test, |test| Box::pin(without_the_api(test))).await?;
    test.retry_creates_until(&test.manifest("new")?, declared(test.target, WITH_ALL), limits::RECOVERY)
        .await?;
    test.record_controller_state().await?;
    test.until_cluster_watched().await?;
    test.submit("new").await?;
    test.until_bound(6).await
}

async fn without_the_api(test: &mut TestContext) -> Result<(), Stop> {
    // kube-scheduler and the controller manager need 30 s to notice that the API is served again. The case
    // stops both, so that only the operator has to notice it.
    test.kill_part(Part::KUBE_SCHEDULER).await?;
    test.kill_part(Part::ControllerManager).await?;
    let original = test.local()?.spec();
    test.restart_api_server(|spec| {
        spec.api_gates = Gates::default();
        spec.runtime_config.clear();
    })
    .await?;
    test.restart_controller(original.controller).await?;
    for pod in test.look(|live| live.pods().take(1).map(|pod| pod.name().to_owned()).collect::<Vec<_>>()) {
        test.force_delete_pod(&pod).await?;
    }
    let new = test.manifest("new")?;
    test.attempt_creates(&new, WITHOUT_API).await?;
    let other = test.manifest(OTHER)?;
    test.attempt_creates(&other, OTHER_BACKEND).await?;
    test.until_released(&expect::gangs(&other)[0]).await.map_err(|stop| stop.owed_by(ADM_20))?;
    test.restart_api_server(|spec| {
        spec.api_gates = original.api_gates.with(TOPOLOGY_GATE, false);
        if spec.api_gates.is_on(COMPOSITE_GATE) {
            spec.api_gates = spec.api_gates.clone().with(COMPOSITE_GATE, false);
        }
        spec.runtime_config = original.runtime_config;
    })
    .await?;
    test.retry_creates_until(&new, without_topology(test.target), limits::RECOVERY).await?;
    test.record_controller_state().await
}

pub(super) fn logged_at_start(history: &History, missing: &str) -> Ruling {
    let (_, controller) = history.reached(SharedMark::Controller)?;
    let lines = controller.detail["said"]
        .as_array()
        .ok_or_else(|| Broken::NotReached("the controller's log was not read".into()))?;
    ensure(lines.iter().any(|line| names_missing(line, missing)), || {
        violation(
            NOT_SAID_AT_START,
            format!("the controller's log does not report that {missing} was missing at start"),
        )
    })
}

pub(super) fn named_by_readiness(history: &History, missing: &str) -> Ruling {
    let (_, controller) = history.reached(SharedMark::Controller)?;
    let readiness = &controller.detail["readiness"];
    ensure(names_missing(readiness, missing), || {
        violation(
            READINESS_SILENT,
            format!("the controller reports the readiness {readiness}, want a message that names {missing}"),
        )
    })
}

/// `missing` is a CRD, or an API with its version. An operator may also name a CRD by its kind and group.
fn names_missing(text: &Value, missing: &str) -> bool {
    let of_crd = missing.split_once('.').filter(|_| !missing.contains('/'));
    let (plural, group) = of_crd.unwrap_or(("", missing));
    let text = text.as_str().unwrap_or_default().to_lowercase();
    text.contains(plural.trim_end_matches('s')) && text.contains(group)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(ADM_18, || {
            answers(history, &WITHOUT_API.iter().map(|attempt| attempt.answer_only()).collect::<Vec<_>>())
        }),
        finding(ADM_19, || named_by_readiness(history, API)),
        finding(ADM_20, || {
            answers(history, OTHER_BACKEND)?;
            backends::serves(history, OTHER, EXTERNAL_SCHEDULER)
        }),
        finding(KUBE_06, || {
            history.reached(SharedMark::ApiServerRestarted)?;
            let target = history.header.target;
            answers(history, WITHOUT_API)?;
            answers(history, &wanted(without_topology(target), Wanted::Admitted))?;
            let (gang, constraint) = declared(target, WITH_ALL).split_at(1);
            answers(history, gang)?;
            precondition(ADM_09, answers(history, constraint))?;
            admission::one_process(history)
        }),
        finding(KUBE_16, || {
            history.reached(SharedMark::ApiServerRestarted)?;
            admission::no_loose_pods(history)
        }),
        finding(KUBE_17, || {
            history.reached(SharedMark::ApiServerRestarted)?;
            answers(history, &wanted(without_topology(history.header.target), Wanted::Refused))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_and_readiness_are_checked_separately() {
        let found = |said: Value, readiness: &str| {
            let detail = json!({"said": said, "readiness": readiness});
            let history = Story::flat().mark(SharedMark::Controller, detail).end();
            (logged_at_start(&history, API), named_by_readiness(&history, API))
        };
        let names = "no scheduling.k8s.io/v1";
        assert_eq!(found(json!([names]), names), (Ok(()), Ok(())));
        assert!(matches!(found(json!([names]), "ok"), (Ok(()), Err(Broken::Violated(_)))));
        assert!(matches!(found(json!(["started"]), names), (Err(Broken::Violated(_)), Ok(()))));
        assert!(matches!(found(Value::Null, names), (Err(Broken::NotReached(_)), Ok(()))));
    }

    #[rstest]
    #[case::by_name("CRD podgroups.scheduling.volcano.sh not found", true)]
    #[case::by_kind("no matches for kind \"PodGroup\" in version \"scheduling.volcano.sh/v1beta1\"", true)]
    #[case::of_another_group(
        "no matches for kind \"PodGroup\" in version \"scheduling.run.ai/v2alpha2\"",
        false
    )]
    #[case::without_a_kind("scheduling.volcano.sh is not served", false)]
    fn a_missing_crd_is_named_by_its_kind_and_group(#[case] text: &str, #[case] wanted: bool) {
        assert_eq!(names_missing(&text.into(), "podgroups.scheduling.volcano.sh"), wanted);
    }

    #[rstest]
    #[case::by_name("scheduling.k8s.io/v1beta1 is not served", true)]
    #[case::another_group("no scheduling: apps.k8s.io/v1 is not served", false)]
    fn a_missing_api_is_named_by_its_group_and_version(#[case] text: &str, #[case] wanted: bool) {
        assert_eq!(names_missing(&text.into(), API), wanted);
    }
}
