#!/usr/bin/env bash
# kube-scheduler 1.36.5: a gang in which one pod requires the node of another pod (pod affinity).
# Expected: a gang that fits is bound, regardless of the order in which its pods were created. Outside a gang, a pod can require the
# node of an older pod.
# Observed: the scheduler tries the pod that completes the gang before the older pods, and no other order in later attempts. So a gang
# is never bound if its last pod requires the node of its first pod, and is bound at once if the first one requires the last one.
# Source: podGroupInfoForPod in pkg/scheduler/schedule_one_podgroup.go sorts pods by InitialAttemptTimestamp. moveToActiveQ in
# pkg/scheduler/backend/queue/scheduling_queue.go sets it when a pod first enters the active queue. PreEnqueue of the plugin
# GangScheduling keeps the older pods out until the last pod exists, which then enters the queue first.
. "$(dirname "$0")/common.sh"
gates=GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true
api_server v1.36.5 "$gates" scheduling.k8s.io/v1alpha2
kube_scheduler "$gates"
podgroups=/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups
node n1 64 '{kubernetes.io/hostname: n1}'

# NAME PODGROUP [POD]: creates a pod that requires the node of POD. Without a PODGROUP it is in no gang.
placed() {
    created "$pods" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {pod: $1}}
spec:
  ${2:+schedulingGroup: {podGroupName: $2\}}
  containers: [{name: c, image: example.com/none, resources: {limits: {nvidia.com/gpu: "8"}}}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        [${3:+{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {pod: $3\}\}\}}]
YAML
    sleep 1.1
}
gang() {
    created "$podgroups" <<YAML
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: $1}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
YAML
}

gang to-first
placed to-first-1 to-first
placed to-first-2 to-first to-first-1
for_all_of 20 "the last pod requires the node of the first pod: nothing is bound" are_bound ""
get "$pods/to-first-2" | jq -r '.status.conditions[] | select(.type == "PodScheduled") | .message'

gang to-last
placed to-last-1 to-last to-last-2
placed to-last-2 to-last
within 30 "the first pod requires the node of the last pod: both are bound" are_bound to-last-1 to-last-2

# A control: the same as in to-first, without a gang.
placed alone-1 ""
placed alone-2 "" alone-1
within 30 "outside a gang, a pod that requires the node of an older pod is bound" are_bound alone-1 alone-2 to-last-1 to-last-2
