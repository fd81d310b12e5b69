//! Checks that Grove's schemas and types accept manifests that users of upstream write.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;

/// No scaling groups, integer quantities, a port without protocol, no role and no value that has a default.
const FLAT: &str = r#"
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: trainer}
spec:
  replicas: 2
  template:
    terminationDelay: 1m
    cliques:
    - name: worker
      labels: {tier: gpu}
      spec:
        replicas: 4
        podSpec:
          terminationGracePeriodSeconds: 5
          containers:
          - name: main
            image: busybox:1.36
            ports: [{containerPort: 8080}]
            env: [{name: TOKEN, valueFrom: {secretKeyRef: {key: token}}}]
            resources:
              limits: {nvidia.com/gpu: 8, memory: 1.5Gi}
              requests: {cpu: 2, memory: 512Mi}
          tolerations: [{operator: Exists}]
          volumes: [{name: scratch, emptyDir: {sizeLimit: 1073741824}}]
"#;

/// Uses every Grove part of the schema: scaling groups, topology, startup order, updates and shared claims.
const FULL: &str = r#"
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: inference}
spec:
  replicas: 1
  updateStrategy: {type: OnDelete}
  template:
    cliqueStartupType: CliqueStartupTypeExplicit
    priorityClassName: high
    headlessServiceConfig: {publishNotReadyAddresses: false}
    terminationDelay: 4h0m0s
    topologyConstraint: {topologyName: dc, pack: {required: block, preferred: rack}}
    resourceClaimTemplates:
    - name: fabric
      templateSpec:
        spec:
          devices:
            requests: [{name: nic, exactly: {deviceClassName: rdma, count: 2}}]
    resourceSharing: [{name: fabric, scope: PerReplica, filter: {childScalingGroupNames: [decode]}}]
    cliques:
    - name: leader
      spec:
        roleName: leader
        replicas: 1
        minAvailable: 1
        podSpec: {containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: "1"}}}]}
    - name: worker
      topologyConstraint: {packDomain: host}
      resourceSharing: [{name: fabric, namespace: shared, scope: AllReplicas}]
      spec:
        roleName: worker
        replicas: 2
        startsAfter: [leader]
        podSpec: {containers: [{name: main, image: busybox}]}
        autoScalingConfig:
          minReplicas: 2
          maxReplicas: 6
          metrics:
          - type: Pods
            pods: {metric: {name: depth}, target: {type: AverageValue, averageValue: 10}}
    podCliqueScalingGroups:
    - name: decode
      cliqueNames: [leader, worker]
      annotations: {team: a}
      replicas: 3
      minAvailable: 2
      scaleConfig: {maxReplicas: 5}
      topologyConstraint: {pack: {required: rack}}
      resourceSharing: [{name: fabric, scope: AllReplicas, filter: {childCliqueNames: [worker]}}]
"#;

const POD_GANG: &str = r#"
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: inference-0}
spec:
  podgroups:
  - name: inference-0-leader
    minReplicas: 1
    podReferences: [{namespace: default, name: inference-0-leader-x}]
    topologyConstraint: {packConstraint: {required: kubernetes.io/hostname}}
  - {name: inference-0-worker, minReplicas: 0, podReferences: []}
  topologyConstraintGroupConfigs:
  - name: inference-0-decode-0
    podGroupNames: [inference-0-leader]
    topologyConstraint: {packConstraint: {preferred: rack}}
  priorityClassName: high
status:
  phase: Pending
  placementScore: 0.5
  conditions:
  - type: Initialized
    status: "True"
    reason: PodGangPodsCreated
    message: PodGang is fully initialized
    lastTransitionTime: "2026-01-01T00:00:00Z"
"#;

const BINDING: &str = r#"
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: dc}
spec:
  levels: [{domain: rack, key: topology.kubernetes.io/rack}, {domain: host, key: kubernetes.io/hostname}]
  schedulerTopologyBindings: [{schedulerName: kai-scheduler, topologyReference: dc}]
status:
  observedGeneration: 3
  schedulerTopologyStatuses: [{schedulerName: kai-scheduler, topologyReference: dc, inSync: false, message: differs}]
"#;

const SCALING_GROUP: &str = r#"
apiVersion: grove.io/v1alpha1
kind: PodCliqueScalingGroup
metadata: {name: inference-0-decode}
spec: {replicas: 3, minAvailable: 2, cliqueNames: [leader, worker]}
status:
  replicas: 3
  scheduledReplicas: 1
  availableReplicas: 0
  updatedReplicas: 3
  updateProgress:
    updateStartedAt: "2026-01-01T00:00:00Z"
    podCliqueSetGenerationHash: h1
    updatedPodCliquesCount: 2
    totalPodCliquesCount: 6
    readyReplicaIndicesSelectedToUpdate: {current: 1, completed: [0]}
"#;

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

/// Returns the wrong types and values, the missing fields, and the fields that the API server would prune.
fn objections(path: &str, value: &Value, schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let has_type = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64(),
        Some("number") => value.is_number(),
        _ => value.is_i64() || value.is_string(),
    };
    if !has_type {
        found.insert(format!(
            "{path}: {value} is no {}",
            schema["type"].as_str().unwrap_or("integer or string")
        ));
    }
    if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        found.insert(format!("{path}: {value} is not one of {}", schema["enum"]));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(objections(&format!("{path}[{index}]"), item, &schema["items"]));
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| value.get(name).is_none()) {
        if schema["properties"][name].get("default").is_none() {
            found.insert(format!("{path}.{name} is required"));
        }
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match schema["properties"].get(name).or(schema.get("additionalProperties")) {
            Some(schema) => found.extend(objections(&path, field, schema)),
            None if schema["x-kubernetes-preserve-unknown-fields"] == true => {}
            None => drop(found.insert(format!("{path} is unknown"))),
        }
    }
    found
}

fn objections_to(object: &Value) -> Vec<String> {
    let crds = crds();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == object["kind"]).unwrap();
    let schema = crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    let schema = serde_json::to_value(schema).unwrap();
    let mut part = object.clone();
    part.as_object_mut().unwrap().retain(|name, _| name == "spec" || name == "status");
    objections("", &part, &schema).into_iter().collect()
}

#[rstest::rstest]
#[case(FLAT)]
#[case(FULL)]
#[case(POD_GANG)]
#[case(BINDING)]
#[case(SCALING_GROUP)]
fn the_schema_accepts_the_samples(#[case] text: &str) {
    assert_eq!(objections_to(&yaml(text)), Vec::<String>::new());
}

#[test]
fn the_schema_rejects_invalid_fields() {
    let mut wrong = yaml(FLAT);
    let clique = &mut wrong["spec"]["template"]["cliques"][0];
    clique.as_object_mut().unwrap().remove("name");
    clique["spec"]["replicas"] = "4".into();
    clique["spec"]["podSpec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 0.5.into();
    clique["spec"]["podSpec"]["imagePullPolicy"] = "Always".into();
    wrong["spec"]["updateStrategy"]["type"] = "Recreate".into();
    insta::assert_snapshot!(objections_to(&wrong).join("\n"), @r#"
    .spec.template.cliques[0].name is required
    .spec.template.cliques[0].spec.podSpec.containers[0].resources.limits.nvidia.com/gpu: 0.5 is no integer or string
    .spec.template.cliques[0].spec.podSpec.imagePullPolicy is unknown
    .spec.template.cliques[0].spec.replicas: "4" is no integer
    .spec.updateStrategy.type: "Recreate" is not one of ["RollingRecreate","OnDelete"]
    "#);
}

fn round_trip<K: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let typed: K = serde_json::from_value(object.clone()).unwrap();
    serde_json::to_value(typed).unwrap()
}

#[test]
fn the_types_keep_every_field() {
    for text in [FLAT, FULL] {
        assert_eq!(round_trip::<PodCliqueSet>(&yaml(text)), yaml(text));
    }
    assert_eq!(round_trip::<PodGang>(&yaml(POD_GANG)), yaml(POD_GANG));
    assert_eq!(round_trip::<ClusterTopologyBinding>(&yaml(BINDING)), yaml(BINDING));
    assert_eq!(round_trip::<PodCliqueScalingGroup>(&yaml(SCALING_GROUP)), yaml(SCALING_GROUP));
}
