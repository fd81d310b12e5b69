#!/usr/bin/env bash
# kube-scheduler 1.37.2: preemption of a gang.
# Expected: a gang is preempted whole or not at all, because a part below the minimum is useless.
# Observed: without a disruptionMode, a pod of a higher priority preempts one pod of a gang of two with minCount 2, and the other
# pod stays bound. With `disruptionMode: {all: {}}` both pods are preempted.
. "$(dirname "$0")/common.sh"
kube_scheduler_1_37
for i in 1 2; do node "n$i" 8; done
created /apis/scheduling.k8s.io/v1/priorityclasses <<'YAML'
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
YAML

going() { get "$pods" | jq -r '[.items[] | select(.metadata.deletionTimestamp) | .metadata.name] | length'; }
is_going() { [[ $(going) == "$1" ]]; }

for mode in default all; do
    [[ $mode == default ]] && podgroup "$mode" 2 || podgroup "$mode" 2 'disruptionMode: {all: {}}'
    for i in 1 2; do pod "$mode-$i" "$mode" 8 'terminationGracePeriodSeconds: 600'; done
    within 20 "$mode: a gang of two is bound on two nodes" are_bound "$mode-1 $mode-2"
    created "$pods" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: urgent-$mode}
spec:
  priorityClassName: high
  containers: [{name: c, image: example.com/none, resources: {limits: {nvidia.com/gpu: "8"}}}]
YAML
    [[ $mode == default ]] && going=1 || going=2
    within 20 "$mode: one pod of a higher priority comes, and $going of the two are deleted" is_going "$going"
    for_all_of 10 "$mode: $going of two" is_going "$going"
    for pod in "$mode-1" "$mode-2" "urgent-$mode"; do delete "$pods/$pod?gracePeriodSeconds=0"; done
    within 10 "all pods are gone" is_going 0
done
