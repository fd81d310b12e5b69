#!/usr/bin/env bash
# kube-scheduler 1.37.2: the priority of a gang.
# Expected: a PodGroup takes the priority of its pods, or the pods take the priority of the PodGroup. 1.36 schedules such a gang.
# Observed: if only the pods have a priority class, or only the PodGroup has one, the pods get the reason SchedulerError and are
# never bound. Neither side takes the priority of the other.
# Source: validatePodGroup in pkg/scheduler/schedule_one_podgroup.go.
. "$(dirname "$0")/common.sh"
kube_scheduler_1_37
for i in 1 2 3 4; do node "n$i" 8; done
created /apis/scheduling.k8s.io/v1/priorityclasses <<'YAML'
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
YAML

podgroup pods-only 2
for i in 1 2; do pod "pods-only-$i" pods-only 8 'priorityClassName: high'; done
podgroup group-only 2 'priorityClassName: high'
for i in 1 2; do pod "group-only-$i" group-only 8; done
for pod in pods-only-1 group-only-1; do
    within 20 "$pod: False, SchedulerError" is_condition "$pods/$pod" PodScheduled "False SchedulerError"
    get "$pods/$pod" | jq -r '.status.conditions[] | select(.type == "PodScheduled") | .message'
done
for_all_of 10 "four free nodes, and none of the four is bound" are_bound ""
podgroup both 2 'priorityClassName: high'
for i in 1 2; do pod "both-$i" both 8 'priorityClassName: high'; done
within 20 "with the class on both it is bound" are_bound both-1 both-2
