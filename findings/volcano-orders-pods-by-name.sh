#!/usr/bin/env bash
# Volcano 1.15.1: a gang in which one pod requires the node of another pod (pod affinity).
# Expected: a gang that fits is bound, regardless of the names of its pods.
# Observed: Volcano tries the pods of a gang in the order of the numbers at the end of their names, and stops at the first one without
# a node. So a gang is bound if the pod with the higher number requires the other one. With exchanged names it waits indefinitely.
# In both gangs, the pod that requires the other one is created first.
# According to the source, pods without such a number are tried by their age in seconds. If they have the same age, their UIDs, which
# are random, determine the order.
# Source: CompareTask in pkg/controllers/job/helpers/helpers.go, NeedContinueAllocating in pkg/scheduler/api/job_info.go.
. "$(dirname "$0")/common.sh"
volcano
opened default
node n1 64 '{kubernetes.io/hostname: n1}'

# NAME PODGROUP [POD]: creates a pod that requires the node of POD.
placed() {
    created "$pods" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {pod: $1}, annotations: {scheduling.k8s.io/group-name: $2}}
spec:
  schedulerName: volcano
  containers: [{name: c, image: example.com/none, resources: {limits: {nvidia.com/gpu: "8"}}}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        [${3:+{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {pod: $3\}\}\}}]
YAML
}

volcano_podgroup rising 2
placed of-rising-1 rising of-rising-0
placed of-rising-0 rising
within 60 "pod 1 requires the node of pod 0: both are bound" are_bound of-rising-0 of-rising-1

volcano_podgroup falling 2
placed of-falling-0 falling of-falling-1
placed of-falling-1 falling
for_all_of 20 "pod 0 requires the node of pod 1: none of them is bound" are_bound of-rising-0 of-rising-1
get "$pods/of-falling-0" | jq -r '.status.conditions[] | select(.type == "PodScheduled") | .message'
