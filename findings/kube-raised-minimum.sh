#!/usr/bin/env bash
# kube-scheduler 1.37.2: the minimum of a waiting gang is raised above its number of pods.
# Expected: the PodGroup and its pods report Unschedulable, or that pods are missing. None of the pods has a ResourceClaim.
# Observed: they report SchedulerError, "error in "DynamicResources" PodGroupPostFilter plugins: not found".
# Source: PlacementFeasible in pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go rejects a gang with too few pods before
# any pod is filtered. PodGroupPostFilter in plugins/dynamicresources/dynamicresources.go reads a state that only PreFilter writes.
. "$(dirname "$0")/common.sh"
kube_scheduler_1_37
for i in 1 2; do node "n$i" 8; done

podgroup gang 3
for i in 1 2 3; do pod "gang-$i" gang 8; done
reports() { is_condition "$podgroups/gang" PodGroupInitiallyScheduled "$1"; }
within 20 "three pods, two nodes: the PodGroup is False, Unschedulable" reports "False Unschedulable"
patched "$podgroups/gang" <<<'{"spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}}'
for i in 3 4; do node "n$i" 8; done
within 30 "minCount 4, three pods, four nodes: the PodGroup is False, SchedulerError" reports "False SchedulerError"
within 10 "gang-1: False, SchedulerError" is_condition "$pods/gang-1" PodScheduled "False SchedulerError"
get "$podgroups/gang" | jq -r '.status.conditions[] | select(.type == "PodGroupInitiallyScheduled") | .message'
