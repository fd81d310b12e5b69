//! The operator's profile sets each field to a value other than its default. It also maps the key of a block
//! level that only this case uses. PodCliqueSet `tuned`, 2 pods, requires a block of this level.

use conformance_check::configuration::prevents_start;
use conformance_check::gang_groups::annotation;
use conformance_driver::admission_attempts::template;
use conformance_driver::limits::RECOVERY;
use conformance_driver::test_cluster::binding;
use conformance_expect::schedulers::koordinator::POD_GROUP;
use conformance_facts::configuration::Flaw;
use conformance_facts::gang_resources::is_gang_resource;

use crate::prelude::*;

const GANG_RESOURCE_MISSING: Code = Code::new("gang-resource-missing");
pub(super) const NOT_AS_ANNOTATED: Code = Code::new("not-as-annotated");
const LABEL_MISSING: Code = Code::new("label-missing");

pub(crate) const CASE: Case =
    case!("Profile values reach PodGroups and pods; invalid values stop the controller's start", restored)
        .clauses(&[KOORD_06, KOORD_13])
        .needs(&[Need::ReferenceController])
        .isolation(Isolation::Dedicated);

const SET: &str = "tuned";
const KEY: &str = "example.com/row";
const QOS: &str = "koordinator.sh/qosClass";

marks! { SEEN = "all values seen"; }

const KNOWN: &[Attempt] = &[admitted("a level of the case's own topology", |_| {})];

const FLAWS: &[Flaw] = &[
    Flaw { title: "gangMode", words: &["config.gangMode"], edit: |c| set(c, "gangMode", "strict".into()) },
    Flaw {
        title: "matchPolicy",
        words: &["config.matchPolicy"],
        edit: |c| set(c, "matchPolicy", "always".into()),
    },
    Flaw {
        title: "scheduleTimeoutSeconds",
        words: &["config.scheduleTimeoutSeconds"],
        edit: |c| set(c, "scheduleTimeoutSeconds", 0.into()),
    },
    Flaw {
        title: "defaultQoSClass",
        words: &["config.defaultQoSClass"],
        edit: |c| set(c, "defaultQoSClass", "SYSTEM".into()),
    },
    Flaw {
        title: "topologyKeyMappings",
        words: &["config.topologyKeyMappings"],
        edit: |c| set(c, "topologyKeyMappings", json!({KEY: "rowLayer"})),
    },
];

fn set(configuration: &mut Value, field: &str, value: Value) {
    let profiles = configuration["scheduler"]["profiles"].as_array_mut();
    let of_koordinator = |profile: &&mut Value| profile["name"] == Target::KOORDINATOR.backend();
    if let Some(profile) = profiles.into_iter().flatten().find(of_koordinator) {
        profile["config"][field] = value;
    }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let config = json!({
        "gangMode": "NonStrict", "matchPolicy": "waiting-and-running", "scheduleTimeoutSeconds": 90,
        "defaultQoSClass": "LSR", "topologyKeyMappings": {KEY: "blockLayer"},
    });
    let controller = test.local()?.spec().controller;
    test.restart_controller(controller.with_profile_config(test.target.backend(), config)).await?;
    let topology = test.namespace.clone();
    test.create("ClusterTopologyBinding", &binding(&topology, &[("block", KEY)])).await?;
    let mut tuned = test.manifest(SET)?;
    template(&mut tuned)["topologyConstraint"] =
        json!({"topologyName": topology, "pack": {"required": "block"}});
    test.retry_creates_until(&tuned, KNOWN, RECOVERY).await?;
    let gangs = test.submit_value(tuned).await?;
    test.until("the PodGroup of PodCliqueSet tuned", REACTION, |live| pod_group(live).is_some()).await?;
    test.until_released(&gangs[0]).await?;
    test.mark(SEEN, Value::Null);
    test.start_with_flaws(FLAWS).await
}

fn pod_group(live: &Live) -> Option<&Value> {
    live.of(POD_GROUP).find(|found| is_gang_resource(found))
}

fn reached_the_pod_group(live: &Live) -> Ruling {
    let Some(found) = pod_group(live) else {
        return Err(violation(GANG_RESOURCE_MISSING, "no PodGroup exists").into());
    };
    let topology = annotation(found, "network-topology-spec").as_str().unwrap_or_default();
    let topology: Value = serde_json::from_str(topology).unwrap_or_default();
    let values = [
        ("gangMode", annotation(found, "mode"), json!("NonStrict")),
        ("matchPolicy", annotation(found, "match-policy"), json!("waiting-and-running")),
        ("scheduleTimeoutSeconds", &found["spec"]["scheduleTimeoutSeconds"], json!(90)),
        ("topologyKeyMappings", &topology["gatherStrategy"][0]["layer"], json!("blockLayer")),
    ];
    let wrong = values.into_iter().filter(|(_, found, wanted)| *found != wanted);
    none(wrong.map(|(field, value, wanted)| {
        violation(NOT_AS_ANNOTATED, format!("PodGroup: {field} is {value}, want {wanted}"))
            .shown_by_object("the PodGroup", found)
    }))
}

fn reached_the_pods(history: &History) -> Ruling {
    let mut pods = history.pods().peekable();
    if pods.peek().is_none() {
        return Err(Broken::NotReached("no pod was created".into()));
    }
    none(pods.filter(|version| version.label(QOS) != Some("LSR")).map(|version| {
        violation(LABEL_MISSING, format!("Pod {}: label {QOS}=LSR is missing", version.name()))
            .shown_by("the pod", version)
    }))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KOORD_06, || {
            let (seen, _) = history.reached(SEEN)?;
            let until = history.upto(seen);
            reached_the_pod_group(&until.end())?;
            reached_the_pods(&until)
        }),
        finding(KOORD_13, || prevents_start(history, FLAWS)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod_group() -> Value {
        let mut found = object(POD_GROUP, "tuned-0-tuned-0-worker");
        let spec = json!({"gatherStrategy": [{"layer": "blockLayer", "strategy": "MustGather"}]});
        found["metadata"]["annotations"] = json!({
            "gang.scheduling.koordinator.sh/mode": "NonStrict",
            "gang.scheduling.koordinator.sh/match-policy": "waiting-and-running",
            "gang.scheduling.koordinator.sh/network-topology-spec": spec.to_string(),
        });
        found["spec"] = json!({"scheduleTimeoutSeconds": 90});
        found
    }

    fn ruling(found: Value) -> Ruling {
        reached_the_pod_group(&Story::on(Target::KOORDINATOR).added(found).end().end())
    }

    #[rstest]
    #[case::mode("mode", "Strict")]
    #[case::policy("match-policy", "once-satisfied")]
    #[case::mapping("network-topology-spec", "{}")]
    fn a_default_value_is_a_violation(#[case] name: &str, #[case] value: &str) {
        assert_eq!(ruling(pod_group()), Ok(()));
        let mut found = pod_group();
        found["metadata"]["annotations"][format!("gang.scheduling.koordinator.sh/{name}")] = value.into();
        assert!(ruling(found).is_err());
        assert!(ruling(object("Pod", "p")).is_err());
    }

    #[test]
    fn pods_without_the_qos_label_are_a_violation() {
        let mut pod = object("Pod", "p");
        let outcome =
            |pod: &Value| reached_the_pods(&Story::on(Target::KOORDINATOR).added(pod.clone()).end());
        assert!(outcome(&pod).is_err());
        pod["metadata"]["labels"] = json!({QOS: "LSR"});
        assert_eq!(outcome(&pod), Ok(()));
    }

    #[test]
    fn flaws_are_written_to_koordinators_profile() {
        let mut configuration =
            json!({"scheduler": {"profiles": [{"name": "a"}, {"name": "koord-scheduler"}]}});
        (FLAWS[0].edit)(&mut configuration);
        assert_eq!(configuration["scheduler"]["profiles"][1]["config"], json!({"gangMode": "strict"}));
    }
}
